// Package operator assembles lockstep from its parts, runs them and stops them
// in order. It is the only package that knows all of them. Floor 6.
package operator

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"

	"github.com/lockstep-dev/lockstep/internal/access"
	"github.com/lockstep-dev/lockstep/internal/act"
	"github.com/lockstep-dev/lockstep/internal/budgets"
	"github.com/lockstep-dev/lockstep/internal/config"
	"github.com/lockstep-dev/lockstep/internal/controller/group"
	"github.com/lockstep-dev/lockstep/internal/freshness"
	"github.com/lockstep-dev/lockstep/internal/hook"
	"github.com/lockstep-dev/lockstep/internal/lease"
	"github.com/lockstep-dev/lockstep/internal/loop"
	"github.com/lockstep-dev/lockstep/internal/observe"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/reference"
	"github.com/lockstep-dev/lockstep/internal/report"
	"github.com/lockstep-dev/lockstep/internal/server"
	"github.com/lockstep-dev/lockstep/internal/spans"
	"github.com/lockstep-dev/lockstep/internal/telemetry"
)

// Operator is one process of lockstep.
type Operator struct {
	config     config.Config
	log        *logrus.Logger
	metrics    *telemetry.Metrics
	tracer     trace.Tracer
	spans      *spans.Rollouts
	flush      func(context.Context) error
	identity   string
	clients    clients
	events     events.EventBroadcaster
	access     *access.Review
	holds      *lease.Store
	pods       hook.Zones
	messages   *hook.Messages
	asking     *hook.Preparations
	references *reference.Book
	budgets    *budgets.Book
	observer   *observe.Observer
	reporter   *report.Reporter
	executor   *act.Executor
	controller *group.Controller
	fresh      *freshness.Log
	webhooks   *webhooks  // nil: none are served
	decisions  *decisions // nil: budgets are not told
	underway   *underway
	loop       atomic.Pointer[loop.Loop[plan.Key]] // nil while this process does not lead
	telling    atomic.Pointer[loop.Loop[string]]   // of the status of budgets; nil while this process does not lead
	showing    atomic.Pointer[showcase]            // of groups in RolloutGroups; nil while this process does not lead
}

// groupLoop names the loop over groups in logs, spans and metrics.
const groupLoop = "group"

// flushTimeout bounds how long the last spans may take at the end.
const flushTimeout = 3 * time.Second

// New builds every part. It makes no request yet.
func New(ctx context.Context, c config.Config, log *logrus.Logger, version string) (*Operator, error) {
	o := &Operator{config: c, log: log, metrics: telemetry.NewMetrics(version), underway: &underway{}}
	o.metrics.Loops(groupLoop, budgetLoop, decisionLoop, rolloutGroupLoop, injectLoop)
	telemetry.RouteLibraryLogs(log)
	o.metrics.ObserveClients()
	tracing, flush, err := telemetry.StartTracing(ctx, version, log, o.metrics)
	if err != nil {
		return nil, fmt.Errorf("start tracing: %w", err)
	}
	o.tracer, o.flush = tracing.Provider.Tracer("lockstep"), flush
	if c.DryRun {
		tracing = telemetry.Tracing{} // whoever rolls makes the traces of it
	}
	o.spans = spans.NewRollouts(tracing)
	refused := access.NewAlarm()
	if o.clients, err = connect(c, version, refused); err != nil {
		return nil, err
	}
	if o.identity, err = identity(); err != nil {
		return nil, err
	}
	o.access = access.New(access.Options{
		Client: o.clients.work, Needs: needed(c), Managed: c.Kubernetes.Namespace, Home: c.Operator.Namespace,
		Asks: o.asks, Alarm: refused, Log: log, Changed: o.metrics.PermissionsMissing,
	})
	if err := o.assemble(); err != nil {
		return nil, err
	}
	return o, nil
}

func (o *Operator) assemble() error {
	selector, err := labels.Parse(o.config.Namespaces.Selector)
	if err != nil {
		return fmt.Errorf("read -namespaces.selector: %w", err)
	}
	only := o.config.Kubernetes.Namespace
	o.holds, o.pods = lease.NewStore(o.clients.work, only, o.identity), o.callPods()
	o.messages, o.asking = o.tellPods(), o.askPods()
	o.references = reference.New(reference.Options{
		Client: o.clients.foreign.client, Metadata: o.clients.foreign.metadata, Namespace: only, Log: o.log,
	})
	o.budgets = budgets.New(budgets.Options{
		Client: o.clients.dynamic, Metadata: o.clients.foreign.metadata, Namespace: only, Log: o.log,
	})
	watched := observe.Options{
		Namespace: only, Selector: selector, Scales: o.references, Told: o.messages, Asked: o.asking, Now: o.clients.clock.Now, Budgets: o.budgets,
	}
	if o.config.ServerTLS.Enabled {
		watched.Metadata = o.clients.metadata
	}
	if o.observer, err = observe.New(o.clients.work, o.holds, watched); err != nil {
		return err
	}
	o.fresh = freshness.NewLog()
	o.metrics.ObserveCaches(o.cacheVersions)
	o.events = events.NewBroadcaster(managedSink{&events.EventSinkImpl{Interface: o.clients.events.EventsV1()}, o.observer.Managed, o.metrics.EventWritten})
	o.reporter = report.New(o.events.NewRecorder(scheme.Scheme, "lockstep"), o.metrics)
	o.executor = &act.Executor{
		Client: o.clients.work, Metadata: o.clients.foreign.metadata, References: o.references, Holds: o.holds, Asking: o.asking, Told: o.messages,
		Fresh: o.fresh, Tracer: o.tracer, Rollouts: o.spans, Managed: o.observer.Managed, Clock: o.clients.clock, DryRun: o.config.DryRun,
	}
	o.controller = &group.Controller{
		Observer: o.observer,
		Executor: o.executor,
		Reporter: voices{o.reporter, o.showing.Load},
		Holds:    o.holds,
		Told:     o.messages,
		Asked:    o.asking,
		Traces:   o.spans,
		Fresh:    o.fresh,
		Log:      o.log,
	}
	if o.config.ServerTLS.Enabled {
		if o.webhooks, err = newWebhooks(o); err != nil {
			return fmt.Errorf("set up webhooks: %w", err)
		}
		if !o.config.DryRun {
			o.decisions = o.tellOfDecisions()
		}
	}
	o.budgets.ListenToAll(o.budgetsTold)
	return o.observer.Listen(observe.Listener{Group: o.enqueue, Namespace: o.namespaceChanged})
}

// Run works until ctx ends and everything has been stopped in order: work,
// leadership, ports, watches, telemetry. It returns nil after such an end.
func (o *Operator) Run(ctx context.Context) error {
	background, stopBackground := context.WithCancel(context.WithoutCancel(ctx))
	defer stopBackground()
	listeners, err := o.listen(ctx)
	if err != nil {
		return err
	}
	if err := o.startEvents(background); err != nil {
		return err
	}
	working, stopWork := context.WithCancelCause(ctx)
	defer stopWork(nil)
	var helpers sync.WaitGroup
	watching := make(chan struct{})
	go func() {
		defer close(watching)
		o.watch(background)
	}()
	helpers.Go(func() { o.access.Run(background) })
	if o.webhooks != nil {
		helpers.Go(func() { o.webhooks.certificates.Run(background) })
	}
	if o.decisions != nil {
		helpers.Go(func() { o.decisions.loop.Run(background) })
	}
	serving, stopServing := context.WithCancel(background)
	defer stopServing()
	var ports sync.WaitGroup
	for _, listener := range listeners {
		ports.Go(func() {
			if err := listener.Serve(serving); err != nil {
				stopWork(err)
			}
		})
	}
	err = o.lead(working)
	if cause := context.Cause(working); ctx.Err() == nil && cause != nil {
		err = errors.Join(err, cause)
	}
	o.log.Info("work has ended")
	stopServing()
	ports.Wait() // webhooks answer from caches that are filled until the last of them
	o.events.Shutdown()
	stopBackground()
	helpers.Wait()
	awaitBriefly(watching)
	o.flushTelemetry(ctx)
	return err
}

// listen opens every port, so that one in use is known before anything begins.
func (o *Operator) listen(ctx context.Context) ([]*server.Server, error) {
	operations, err := server.Listen(ctx, o.operations())
	if err != nil || o.webhooks == nil {
		return []*server.Server{operations}, err
	}
	admission, err := o.listenTLS(ctx)
	return []*server.Server{operations, admission}, err
}

// watch fills all caches until ctx ends.
func (o *Operator) watch(ctx context.Context) {
	var watches sync.WaitGroup
	watches.Go(func() { o.observer.Run(ctx) })
	watches.Go(func() { o.references.Run(ctx) })
	watches.Go(func() { o.budgets.Run(ctx) })
	if o.webhooks != nil {
		watches.Go(func() { o.webhooks.watch(ctx) })
	}
	watches.Wait()
}

// awaitBriefly waits for the watches to end, but not for long: client-go sleeps
// through the end of its context after the API server was away, and a watch
// writes nothing.
func awaitBriefly(watching <-chan struct{}) {
	const briefly = time.Second
	select {
	case <-watching:
	case <-time.After(briefly):
	}
}

// startEvents lets Events be written. A dry run writes none.
func (o *Operator) startEvents(ctx context.Context) error {
	if o.config.DryRun {
		return nil
	}
	if err := o.events.StartRecordingToSinkWithContext(ctx); err != nil {
		return fmt.Errorf("start recording Events: %w", err)
	}
	return nil
}

func (o *Operator) flushTelemetry(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTimeout)
	defer cancel()
	if err := o.flush(ctx); err != nil {
		o.log.WithError(err).Warn("the last spans were lost") // no reason to call the end unclean
	}
}

// lead works whenever this process leads, or always without leader election. A
// dry run takes no Lease, so it can stand beside the operator that does work.
func (o *Operator) lead(ctx context.Context) error {
	elect := o.config.LeaderElection
	if !elect.Enabled || o.config.DryRun {
		o.leading(true)
		o.work(ctx)
		return nil
	}
	o.metrics.LeaderSeen()
	return lease.Election{
		Client:        o.clients.election,
		Namespace:     o.config.Operator.Namespace,
		Identity:      o.identity,
		LeaseDuration: elect.LeaseDuration,
		RenewDeadline: elect.RenewDeadline,
		RetryPeriod:   elect.RetryPeriod,
		Log:           o.log,
		OnLeading:     o.leading,
		Renewed:       o.metrics.LeaderSeen,
	}.Lead(ctx, o.work)
}

func (o *Operator) leading(leads bool) {
	o.metrics.Leader(leads && !o.config.DryRun)
	o.log.WithFields(logrus.Fields{"identity": o.identity, "leads": leads}).Info("leadership")
}

// work reconciles until ctx ends and every worker has returned.
func (o *Operator) work(ctx context.Context) {
	var loops sync.WaitGroup
	defer loops.Wait()
	if o.webhooks != nil {
		loops.Go(func() { o.webhooks.inject(ctx) })
	}
	if !o.config.DryRun {
		loops.Go(func() { o.tellOfBudgets(ctx) })
		showing := o.newShowcase()
		o.showing.Store(showing)
		defer o.showing.Store(nil)
		loops.Go(func() { o.show(ctx, showing) })
	}
	o.workOnGroups(ctx)
}

func (o *Operator) workOnGroups(ctx context.Context) {
	if !o.waitForCaches(ctx) {
		return
	}
	l := loop.New(loop.Options[plan.Key]{
		Name:      groupLoop,
		Workers:   o.workers(),
		Reconcile: o.reconcile,
		Namespace: func(key plan.Key) string { return key.Namespace },
		Log:       o.log,
		Tracer:    o.tracer,
		Queues:    o.metrics.Queues(),
		Waited:    o.metrics.NamespaceWaited,
		Observe:   o.reconciled,
	})
	o.loop.Store(l)
	defer o.loop.Store(nil)
	for _, key := range o.observer.Groups("") {
		l.Add(key)
	}
	var telling sync.WaitGroup
	telling.Go(func() { o.messages.Run(ctx) })
	telling.Go(func() { o.asking.Run(ctx) })
	l.Run(ctx)
	telling.Wait() // before anybody else leads and tells the same pods
	o.forgetAll()
}

// workers is one more where there is one namespace: the loop keeps the last free
// one for another.
func (o *Operator) workers() int {
	if o.config.Kubernetes.Single() {
		return o.config.Workers + 1
	}
	return o.config.Workers
}

// forgetAll drops what was remembered of groups while this process led: another
// one speaks for them now.
func (o *Operator) forgetAll() {
	for _, key := range o.reporter.Keys() {
		o.controller.Forget(key)
	}
	o.metrics.ForgetNamespaces()
}

func (o *Operator) reconcile(ctx context.Context, key plan.Key) (loop.Outcome, error) {
	defer o.underway.begin(key)()
	return o.controller.Reconcile(ctx, key)
}

// panics returns what a loop is observed by of which nothing but its panics is counted.
func panics[K comparable](m *telemetry.Metrics, name string) func(context.Context, K, loop.Result, time.Duration) {
	return func(_ context.Context, _ K, result loop.Result, _ time.Duration) {
		if result == loop.ResultPanic {
			m.Panicked(name)
		}
	}
}

func (o *Operator) reconciled(ctx context.Context, key plan.Key, result loop.Result, took time.Duration) {
	if result == loop.ResultPanic {
		o.metrics.Panicked(groupLoop)
	}
	if result == loop.ResultGone || !key.Rolled() {
		return // the controller has forgotten it, metrics included; or it has none
	}
	o.metrics.Group(key.Namespace, key.Group).Reconciled(ctx, string(result), result.Success(), took)
}

// waitForCaches returns false when ctx ends first.
func (o *Operator) waitForCaches(ctx context.Context) bool {
	const pollEvery = 10 * time.Millisecond
	poll := time.NewTicker(pollEvery)
	defer poll.Stop()
	for !o.observer.Synced() {
		select {
		case <-ctx.Done():
			return false
		case <-poll.C:
		}
	}
	return true
}

func (o *Operator) enqueue(key plan.Key) {
	if l := o.loop.Load(); l != nil {
		l.Add(key)
	} else if !o.observer.Has(key) {
		o.forgetUnled(key)
	}
	o.budgetsChanged(key.Namespace)
}

// forgetUnled drops what a replica that does not lead has counted and seen of a group.
func (o *Operator) forgetUnled(key plan.Key) {
	o.fresh.Forget(key)
	if key.Rolled() {
		o.metrics.Forget(key.Namespace, key.Group)
	}
}

// namespaceChanged looks at every group of a namespace that opted in or out.
func (o *Operator) namespaceChanged(namespace string, managed bool) {
	o.metrics.NamespacesManaged(o.observer.Namespaces())
	entry := o.log.WithField("namespace", namespace)
	if managed {
		entry.Info("namespace is managed")
	} else {
		o.metrics.OptedOut()
		o.metrics.ForgetNamespace(namespace)
		o.messages.ForgetNamespace(namespace)
		o.asking.ForgetNamespace(namespace)
		entry.Warn("namespace is no longer managed; what is there stays as it is")
	}
	for _, key := range o.observer.Groups(namespace) {
		o.enqueue(key)
	}
	o.budgetsTold(namespace)
	if o.webhooks != nil {
		o.webhooks.namespaceChanged()
	}
}
