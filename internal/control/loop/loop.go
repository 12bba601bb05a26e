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

// Options configure a loop. Name, Reconcile and Log are required.
type Options[K comparable] struct {
	// Name appears in logs, spans and metrics. It should be one word.
	Name string
	// Workers is the number of keys that are reconciled at the same time; the default is 1.
	// The last free worker is reserved for a namespace without one.
	Workers int
	// Reconcile brings the object of the key closer to its goal. It may be called for any
	// key at any time. It must not block a worker, and must return soon after ctx ends. The
	// class of its error (see package reason) decides what happens next. A wait that is
	// returned with an error still counts; Now does not.
	Reconcile func(ctx context.Context, key K) (Outcome, error)
	// Namespace returns the namespace of a key, so that namespaces take turns. It must be
	// fast. If it is nil, all keys belong to one namespace.
	Namespace func(key K) string
	// Log receives one line for each error that is dropped here, and no others.
	Log logrus.FieldLogger
	// Tracer creates a span for each reconcile. If it is nil, there are no spans.
	Tracer trace.Tracer
	// Queues measures the queue. It can be nil.
	Queues workqueue.MetricsProvider
	// Waited is called with the time that a key waited for a worker. It can be nil.
	Waited func(namespace string, took time.Duration)
	// Observe is called for every reconcile, with the context of its span, before the key
	// can be reconciled again.
	Observe func(ctx context.Context, key K, result Result, took time.Duration)
}

// Loop reconciles keys. All methods are safe for concurrent use.
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

// New returns a loop. It accepts keys at once; Run starts the workers.
func New[K comparable](o Options[K]) *Loop[K] {
	o.Workers = max(o.Workers, 1)
	workers := o.Workers
	if o.Namespace == nil {
		o.Namespace = func(K) string { return "" }
		workers++ // no other namespace can use the reserved worker
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

// Add queues the key for a reconcile. A key that waits already is not added twice. A key that
// is being reconciled is reconciled again afterwards. After the end of Run, Add does nothing.
func (l *Loop[K]) Add(key K) { l.queue.Add(key) }

// AddAfter queues the key after a duration. The earliest of several calls counts. The next
// reconcile of the key, whatever its cause, cancels all of them.
func (l *Loop[K]) AddAfter(key K, d time.Duration) {
	if d <= 0 {
		l.Add(key)
		return
	}
	l.timers.set(key, d)
}

// Len returns how many keys wait for a worker.
func (l *Loop[K]) Len() int { return l.turns.count() }

// Run starts the workers and returns after ctx has ended and every worker has finished its
// reconcile. Keys that still wait are dropped. A loop can run only once.
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

// settleGauges sets the gauges of work in progress to 0. client-go stops updating them when the
// queue shuts down, before the last workers have ended.
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

// handle reconciles one key and schedules the next reconcile.
func (l *Loop[K]) handle(ctx context.Context, key K) {
	defer l.finished(key)
	if ctx.Err() != nil {
		return // the queue returns its remaining keys before it ends
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

// finished releases the key and the worker.
func (l *Loop[K]) finished(key K) {
	l.turns.finished(key)
	l.queue.Done(key)
}

// reconcile calls Reconcile and turns a panic into an error.
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

// schedule decides when a key is reconciled again. Nothing else does.
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
		log.WithField("retry_in", in.String()).Debug("object has changed meanwhile; retrying")
	case result == ResultHuman:
		l.forget(key)
		log.Error("reconcile needs a person; it is not retried until something changes")
	case result == ResultPanic:
		log.WithField("retry_in", l.retry(key).String()).WithField("stack", stackOf(err)).
			Error("reconcile panicked, which is a bug in lockstep")
	case ctx.Err() != nil:
		log.Debug("reconcile was aborted because the loop ends")
	default:
		log.WithField("retry_in", l.retry(key).String()).Warn("reconcile failed")
	}
}

// retry sets the timer of a failed key and returns its duration.
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
