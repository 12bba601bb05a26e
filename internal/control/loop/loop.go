package loop

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
	"k8s.io/client-go/util/workqueue"

	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

const movedFirst, movedMost = 2 * time.Millisecond, time.Second

// Options say what a loop does. Name, Reconcile and Log are required.
type Options[K comparable] struct {
	// Name appears in logs, spans and metrics; it should be one word.
	Name string
	// Workers is how many keys are reconciled at the same time; 1 if not set. The
	// last free one is kept for a namespace that has none.
	Workers int
	// Reconcile brings what the key names closer to its goal. It may be called
	// for any key at any time, must not keep a worker waiting, and must return
	// soon after ctx ends. The class of its error (see package reason) decides
	// what happens next; a wait beside an error still holds, Now does not.
	Reconcile func(ctx context.Context, key K) (Outcome, error)
	// Namespace says who a key belongs to, so that everybody gets a turn. It must
	// be quick. Not set: all keys belong together.
	Namespace func(key K) string
	// Log gets one line per error that is dropped here, and no others.
	Log logrus.FieldLogger
	// Tracer makes a span of every reconcile. Not set: no spans.
	Tracer trace.Tracer
	// Queues measures the queue. Not set: nothing is measured.
	Queues workqueue.MetricsProvider
	// Waited is told for how long a key waited for a worker. Not set: nobody wants to know.
	Waited func(namespace string, took time.Duration)
	// Observe is told about every reconcile, with the context of its span, before
	// the key can be reconciled again.
	Observe func(ctx context.Context, key K, result Result, took time.Duration)
}

// Loop reconciles keys. All methods may be called from any goroutine.
type Loop[K comparable] struct {
	options Options[K]
	queue   *workqueue.Typed[K]
	turns   *fair[K] // the order of queue
	timers  *timers[K]
	again   *retries[K]
	moved   workqueue.TypedRateLimiter[K]
	retried workqueue.CounterMetric
	started atomic.Bool
}

// New returns a loop that takes keys at once and works when it is run.
func New[K comparable](o Options[K]) *Loop[K] {
	o.Workers = max(o.Workers, 1)
	workers := o.Workers
	if o.Namespace == nil {
		o.Namespace = func(K) string { return "" }
		workers++ // the one that nobody else could use
	}
	if o.Tracer == nil {
		o.Tracer = noop.Tracer{}
	}
	if o.Observe == nil {
		o.Observe = func(context.Context, K, Result, time.Duration) {}
	}
	turns := newFair(o.Namespace, workers, o.Waited)
	l := &Loop[K]{
		options: o,
		queue: workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[K]{
			Name: o.Name, MetricsProvider: o.Queues, Queue: turns,
		}),
		turns: turns,
		again: newRetries[K](),
		moved: workqueue.NewTypedItemExponentialFailureRateLimiter[K](movedFirst, movedMost),
	}
	l.timers = newTimers(l.Add)
	if o.Queues != nil {
		l.retried = o.Queues.NewRetriesMetric(o.Name)
	}
	return l
}

// Add asks for a look at the key as soon as its namespace's turn comes. A key
// that waits already is not added twice; one that is being reconciled is
// reconciled again afterwards. After the end of Run it does nothing.
func (l *Loop[K]) Add(key K) { l.queue.Add(key) }

// AddAfter asks for a look at the key after a while. The earliest of several
// wishes counts, and the next reconcile of the key, whatever causes it, settles
// all of them.
func (l *Loop[K]) AddAfter(key K, d time.Duration) {
	if d <= 0 {
		l.Add(key)
		return
	}
	l.timers.set(key, d)
}

// Len returns how many keys wait for a worker.
func (l *Loop[K]) Len() int { return l.turns.count() }

// Run works until ctx ends, and returns when every worker has finished what it
// was doing; keys that still wait are left. A loop runs once.
func (l *Loop[K]) Run(ctx context.Context) {
	if l.started.Swap(true) {
		panic("loop " + l.options.Name + ": Run was called twice")
	}
	var workers sync.WaitGroup
	for range l.options.Workers {
		workers.Go(func() { l.work(ctx) })
	}
	<-ctx.Done()
	l.timers.stop()
	l.queue.ShutDown()
	workers.Wait()
	l.settleGauges()
}

// settleGauges says that nobody works any more: client-go ends to say it with the queue,
// before the last workers have ended.
func (l *Loop[K]) settleGauges() {
	if q := l.options.Queues; q != nil {
		q.NewUnfinishedWorkSecondsMetric(l.options.Name).Set(0)
		q.NewLongestRunningProcessorSecondsMetric(l.options.Name).Set(0)
	}
}

func (l *Loop[K]) work(ctx context.Context) {
	for {
		key, shutdown := l.queue.Get()
		if shutdown {
			return
		}
		l.handle(ctx, key)
	}
}

// handle looks at one key and says when to look again.
func (l *Loop[K]) handle(ctx context.Context, key K) {
	defer l.finished(key)
	if ctx.Err() != nil {
		return // the queue hands out what is left before it ends
	}
	l.timers.clear(key)
	ctx, span := l.options.Tracer.Start(ctx, "reconcile "+l.options.Name)
	defer span.End()

	began := time.Now()
	outcome, err := l.reconcile(ctx, key)
	result := resultOf(outcome, err)
	l.options.Observe(ctx, key, result, time.Since(began))
	l.describe(span, key, result, err)
	l.schedule(ctx, key, result, outcome, err)
}

// finished lets the key be handed out again, and the worker take another one.
func (l *Loop[K]) finished(key K) {
	l.turns.finished(key)
	l.queue.Done(key)
}

// reconcile turns a panic into an error.
func (l *Loop[K]) reconcile(ctx context.Context, key K) (outcome Outcome, err error) {
	defer func() {
		if v := recover(); v != nil {
			outcome, err = Done(), &panicked{value: v, stack: debug.Stack()}
		}
	}()
	return l.options.Reconcile(ctx, key)
}

type panicked struct {
	value any
	stack []byte
}

func (p *panicked) Error() string { return fmt.Sprintf("panic: %v", p.value) }

func stackOf(err error) string {
	if p, ok := errors.AsType[*panicked](err); ok {
		return string(p.stack)
	}
	return ""
}

func resultOf(o Outcome, err error) Result {
	if err == nil {
		return o.result()
	}
	if _, ok := errors.AsType[*panicked](err); ok {
		return ResultPanic
	}
	switch reason.ClassOf(err) {
	case reason.Moved:
		return ResultMoved
	case reason.Human:
		return ResultHuman
	case reason.Again:
		return ResultAgain
	}
	return ResultAgain
}

// schedule is the only place that decides when a key comes again.
func (l *Loop[K]) schedule(ctx context.Context, key K, result Result, o Outcome, err error) {
	if o.kind == later {
		l.timers.set(key, o.after)
	}
	if err != nil {
		l.failed(ctx, key, result, err)
		return
	}
	l.forget(key)
	if o.kind == now {
		l.queue.Add(key)
	}
}

func (l *Loop[K]) failed(ctx context.Context, key K, result Result, err error) {
	log := l.options.Log.WithError(err).WithContext(ctx).
		WithField("loop", l.options.Name).WithField("key", fmt.Sprint(key))
	switch {
	case result == ResultMoved:
		in := l.moved.When(key)
		l.timers.set(key, in)
		log.WithField("retry_in", in.String()).Debug("object changed meanwhile; trying again")
	case result == ResultHuman:
		l.forget(key)
		log.Error("reconcile needs a person, not tried again until something changes")
	case result == ResultPanic:
		log.WithField("retry_in", l.retry(key).String()).WithField("stack", stackOf(err)).
			Error("reconcile panicked, which is a bug in lockstep")
	case ctx.Err() != nil:
		log.Debug("reconcile was cut short, since the loop ends")
	default:
		log.WithField("retry_in", l.retry(key).String()).Warn("reconcile failed")
	}
}

// retry sets the timer for a key that failed, and returns its duration.
func (l *Loop[K]) retry(key K) time.Duration {
	in := l.again.when(key)
	l.timers.set(key, in)
	if l.retried != nil {
		l.retried.Inc()
	}
	return in
}

func (l *Loop[K]) forget(key K) {
	l.again.forget(key)
	l.moved.Forget(key)
}

func (l *Loop[K]) describe(span trace.Span, key K, result Result, err error) {
	if !span.IsRecording() {
		return
	}
	span.SetAttributes(
		attribute.String("k8s.namespace.name", l.options.Namespace(key)),
		attribute.String("lockstep.key", fmt.Sprint(key)),
		attribute.String("lockstep.result", string(result)),
	)
	if err != nil {
		span.RecordError(err)
	}
	if !result.Success() && result != ResultMoved {
		span.SetStatus(codes.Error, err.Error())
	}
}
