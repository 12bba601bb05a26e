package operator

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/lockstep-dev/lockstep/internal/control/loop"
	"github.com/lockstep-dev/lockstep/internal/lock/lease"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/show/telemetry"
)

// groupLoop is the name of the loop over groups in logs, spans and metrics.
const groupLoop = "group"

// lead works while this process is the leader; without leader election, always. A dry run
// acquires no Lease, so that it can run next to the active operator.
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
	o.led.Store(o.led.Load() || leads)
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
		loops.Go(func() { o.writeBudgetStatus(ctx) })
		showing := o.newRolloutGroupWriter()
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
		Waited:    o.waited,
		Observe:   o.reconciled,
	})
	o.loop.Store(l)
	defer o.loop.Store(nil)
	for _, key := range o.observer.Groups("") {
		l.Add(key)
	}
	for _, key := range o.poolKeys("") {
		l.Add(key)
	}
	var telling sync.WaitGroup
	telling.Go(func() { o.messages.Run(ctx) })
	telling.Go(func() { o.preparations.Run(ctx) })
	l.Run(ctx)
	telling.Wait() // before another leader notifies the same pods
	o.resign()
}

// workers returns the number of workers. The loop reserves the last free worker for another
// namespace, so a single namespace needs one more.
func (o *Operator) workers() int {
	if o.config.Kubernetes.Single() {
		return o.config.Workers + 1
	}
	return o.config.Workers
}

// resign drops the state of groups from this process's time as the leader, because another
// process is the leader now.
func (o *Operator) resign() {
	for _, key := range slices.Concat(o.reporter.Keys(), o.observer.Groups("")) { // not all failed groups were reported
		switch {
		case key.Kind == plan.KindStatefulCluster:
			o.pools.controller.Resign(key) // only an enabled kind is reported
		case o.observer.Has(key):
			o.controller.Resign(key)
		default:
			o.controller.Forget(key)
		}
	}
	o.metrics.ForgetNamespaces()
}

// waited records how long a group of a namespace waited for a worker. Groups of unmanaged
// namespaces are reconciled, too, to be forgotten.
func (o *Operator) waited(namespace string, took time.Duration) {
	if o.observer.Managed(namespace) {
		o.metrics.NamespaceWaited(namespace, took)
	}
}

func (o *Operator) reconcile(ctx context.Context, key plan.Key) (loop.Outcome, error) {
	defer o.underway.begin(key)()
	if key.Kind == plan.KindStatefulCluster {
		return o.reconcilePool(ctx, key)
	}
	return o.controller.Reconcile(ctx, key)
}

// panics returns an Observe function for loops of which only panics are counted.
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
	switch {
	case result == loop.ResultGone: // the controller has forgotten it, with its metrics
	case key.Kind == plan.KindStatefulCluster:
		o.metrics.Pool(key.Namespace, key.Name).Reconciled(string(result))
	case !key.Rolled(): // it has none
	default:
		o.metrics.Group(key.Namespace, key.Name).Reconciled(ctx, string(result), result.Success(), took)
	}
}

func (o *Operator) enqueue(key plan.Key) {
	if l := o.loop.Load(); l != nil {
		l.Add(key)
	} else if !o.has(key) {
		o.forgetUnled(key)
	}
	o.budgetsChanged(key.Namespace)
}

// has reports whether the caches show anything of a workload.
func (o *Operator) has(key plan.Key) bool {
	if key.Kind == plan.KindStatefulCluster {
		return o.pools != nil && o.pools.observer.Has(key)
	}
	return o.observer.Has(key)
}

// forgetUnled drops a replica's state of a group if the replica is not the leader.
func (o *Operator) forgetUnled(key plan.Key) {
	o.fresh.Forget(key)
	if key.Rolled() {
		o.metrics.Forget(key.Namespace, key.Name)
	}
}

// namespaceChanged enqueues every group of a namespace that opted in or out.
func (o *Operator) namespaceChanged(namespace string, managed bool) {
	o.metrics.NamespacesManaged(o.observer.Namespaces())
	groups := o.observer.Groups(namespace)
	entry := o.log.WithField("namespace", namespace)
	if managed {
		entry.Info("namespace is managed")
		o.metrics.NamespaceManaged(namespace)
		if showing := o.showing.Load(); showing != nil {
			showing.look(namespace)
		}
	} else {
		o.metrics.OptedOut()
		o.metrics.ForgetNamespace(namespace)
		o.messages.ForgetNamespace(namespace)
		o.preparations.ForgetNamespace(namespace)
		o.fresh.ForgetBut(namespace, groups)
		entry.Warn("namespace is no longer managed; what is there stays as it is")
	}
	for _, key := range groups {
		o.enqueue(key)
	}
	for _, key := range o.poolKeys(namespace) {
		o.enqueue(key)
	}
	o.budgetsTold(namespace)
	if o.webhooks != nil {
		o.webhooks.namespaceChanged()
	}
}
