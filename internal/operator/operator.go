// Package operator assembles lockstep from its parts, runs them and stops them in order. It is
// the only package that imports all of them.
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

	"github.com/lockstep-dev/lockstep/internal/act"
	"github.com/lockstep-dev/lockstep/internal/act/podcalls"
	"github.com/lockstep-dev/lockstep/internal/cluster/access"
	"github.com/lockstep-dev/lockstep/internal/cluster/budgets"
	"github.com/lockstep-dev/lockstep/internal/cluster/observe"
	"github.com/lockstep-dev/lockstep/internal/cluster/reference"
	"github.com/lockstep-dev/lockstep/internal/control/contest"
	"github.com/lockstep-dev/lockstep/internal/control/groups"
	"github.com/lockstep-dev/lockstep/internal/control/loop"
	"github.com/lockstep-dev/lockstep/internal/lock/freshness"
	"github.com/lockstep-dev/lockstep/internal/lock/lease"
	"github.com/lockstep-dev/lockstep/internal/operator/config"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/serve/admission"
	"github.com/lockstep-dev/lockstep/internal/serve/server"
	"github.com/lockstep-dev/lockstep/internal/show/report"
	"github.com/lockstep-dev/lockstep/internal/show/spans"
	"github.com/lockstep-dev/lockstep/internal/show/telemetry"
)

// Operator is a process of lockstep.
type Operator struct {
	config       config.Config
	log          *logrus.Logger
	metrics      *telemetry.Metrics
	tracer       trace.Tracer
	spans        *spans.Rollouts
	flush        func(context.Context) error
	identity     string
	clients      clients
	events       events.EventBroadcaster
	access       *access.Review
	holds        *lease.Store
	pods         podcalls.Zones
	messages     *podcalls.Messages
	preparations *podcalls.Preparations
	contests     *contest.Log
	references   *reference.Cache
	budgets      *budgets.Cache
	observer     *observe.Observer
	reporter     *report.Reporter
	executor     *act.Executor
	controller   *groups.Controller
	fresh        *freshness.Log
	webhooks     *webhooks                   // nil: no webhooks are served
	downscales   *admission.PrepareDownscale // nil: no webhooks are served
	pools        *poolParts                  // nil: the kind StatefulCluster is not enabled
	decisions    *decisions                  // nil: decisions are not written into budgets
	underway     *underway
	restored     atomic.Pointer[error]               // see endOnRestore; nil: no restore was detected
	led          atomic.Bool                         // this process has been the leader
	loop         atomic.Pointer[loop.Loop[plan.Key]] // nil while this process does not lead
	telling      atomic.Pointer[loop.Loop[string]]   // of the status of budgets; nil while this process does not lead
	showing      atomic.Pointer[rolloutGroupWriter]  // of groups in RolloutGroups; nil while this process does not lead
}

// flushTimeout limits the export of the last spans.
const flushTimeout = 3 * time.Second

// New creates all parts. It makes no request.
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
		tracing = telemetry.Tracing{} // only the process that rolls out creates the traces
	}
	o.spans = spans.NewRollouts(tracing)
	refused := access.NewAlarm()
	if o.clients, err = connect(c, version, refused, telemetry.NewWarnings(log), o.metrics.WatchRequests); err != nil {
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
	o.holds, o.pods = lease.NewStore(o.clients.work, only, o.identity, o.furtherKinds()...), o.callPods()
	o.messages, o.preparations, o.contests = o.newMessages(), o.newPreparations(), contest.NewLog()
	o.references = reference.New(reference.Options{
		Client: o.clients.foreign.client, Metadata: o.clients.foreign.metadata, Namespace: only, Log: o.log,
	})
	o.budgets = budgets.New(budgets.Options{
		Client: o.clients.dynamic, Metadata: o.clients.foreign.metadata, Namespace: only, Log: o.log,
	})
	watched := observe.Options{
		Namespace: only, Selector: selector, Scales: o.references, Messages: o.messages, Preparations: o.preparations, Contests: o.contests,
		Now: o.clients.clock.Now, Budgets: o.budgets,
	}
	if o.config.ServerTLS.Enabled {
		watched.Metadata = o.clients.metadata
	}
	if o.observer, err = observe.New(o.clients.work, o.holds, watched); err != nil {
		return err
	}
	o.fresh = freshness.NewLog(o.holds)
	o.metrics.ObserveCaches(o.cacheVersions)
	if only != "" {
		o.metrics.NamespaceManaged(only)
	}
	o.events = events.NewBroadcaster(managedSink{&events.EventSinkImpl{Interface: o.clients.events.EventsV1()}, o.observer.Managed, o.metrics.EventWritten})
	o.reporter = report.New(o.events.NewRecorder(scheme.Scheme, "lockstep"), o.metrics)
	o.executor = &act.Executor{
		Client: o.clients.work, Metadata: o.clients.foreign.metadata, References: o.references, Holds: o.holds, Preparations: o.preparations, Messages: o.messages,
		Fresh: o.fresh, Tracer: o.tracer, Rollouts: o.spans, Managed: o.observer.Managed, Clock: o.clients.clock, DryRun: o.config.DryRun,
	}
	if o.config.StatefulCluster {
		if err := o.assemblePools(); err != nil {
			return err
		}
	}
	o.controller = &groups.Controller{
		DryRun:       o.config.DryRun,
		Observer:     o.observer,
		Executor:     o.executor,
		Reporter:     reporters{o.reporter, o.showing.Load},
		Messages:     o.messages,
		Preparations: o.preparations,
		Traces:       o.spans,
		Fresh:        o.fresh,
		Contests:     o.contests,
		Log:          o.log,
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

// Run works until ctx ends and all parts have been stopped in order: work, leadership, ports,
// watches, telemetry. It returns nil if all parts stop cleanly.
func (o *Operator) Run(ctx context.Context) error {
	background, stopBackground := context.WithCancel(context.WithoutCancel(ctx))
	defer stopBackground()
	operations, admission, err := o.listen(ctx)
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
	helpers.Go(func() { o.endOnRestore(background, stopWork) })
	serving, stopServing := context.WithCancel(background)
	defer stopServing()
	answering, stopAnswering := context.WithCancel(serving)
	defer stopAnswering()
	var ports sync.WaitGroup
	serve := func(s *server.Server, during context.Context) {
		ports.Go(func() {
			if err := s.Serve(during); err != nil {
				stopWork(err)
			}
		})
	}
	serve(operations, serving)
	if admission != nil {
		serve(admission, answering)
	}
	err = o.lead(working)
	if cause := context.Cause(working); ctx.Err() == nil && cause != nil {
		err = errors.Join(err, cause)
	}
	o.log.Info("work has ended")
	stopAnswering()
	o.showRestore(ctx)
	stopServing()
	ports.Wait() // webhooks answer from the caches until the last review
	if o.downscales != nil {
		o.downscales.Wait()
	}
	o.events.Shutdown()
	stopBackground()
	helpers.Wait()
	awaitBriefly(watching)
	o.flushTelemetry(ctx)
	return err
}

// listen opens all ports, so that a port in use is detected before any work begins. Without
// webhooks, admission is nil.
func (o *Operator) listen(ctx context.Context) (operations, admission *server.Server, err error) {
	operations, err = server.Listen(ctx, o.operations())
	if err == nil && o.webhooks != nil {
		admission, err = o.listenTLS(ctx)
	}
	return operations, admission, err
}

// watch fills all caches until ctx ends.
func (o *Operator) watch(ctx context.Context) {
	var watches sync.WaitGroup
	watches.Go(func() { o.observer.Run(ctx) })
	watches.Go(func() { o.references.Run(ctx) })
	watches.Go(func() { o.budgets.Run(ctx) })
	if o.pools != nil {
		watches.Go(func() { o.pools.observer.Run(ctx) })
	}
	if o.webhooks != nil {
		watches.Go(func() { o.webhooks.watch(ctx) })
	}
	watches.Wait()
}

// awaitBriefly waits for the watches to end, but at most a second: after the API server was
// unreachable, client-go sleeps beyond the end of its context. A watch writes nothing.
func awaitBriefly(watching <-chan struct{}) {
	const briefly = time.Second
	select {
	case <-watching:
	case <-time.After(briefly):
	}
}

// startEvents starts to write Events. A dry run writes none.
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
		o.log.WithError(err).Warn("the last spans were lost") // the process still ends cleanly
	}
}
