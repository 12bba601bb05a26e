package operator

import (
	"context"
	"time"

	cluster "github.com/lockstep-dev/lockstep/internal/cluster/pools"
	"github.com/lockstep-dev/lockstep/internal/control/loop"
	"github.com/lockstep-dev/lockstep/internal/control/pools"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/serve/admission"
)

// poolParts are the parts that work on StatefulClusters.
type poolParts struct {
	observer   *cluster.Observer
	controller *pools.Controller
}

// furtherKinds returns the enabled kinds that have Leases of their own.
func (o *Operator) furtherKinds() []plan.Kind {
	if o.config.StatefulCluster {
		return []plan.Kind{plan.KindStatefulCluster}
	}
	return nil
}

func (o *Operator) assemblePools() error {
	observer, err := cluster.New(cluster.Options{
		Client: o.clients.work, Dynamic: o.clients.dynamic, Metadata: o.clients.metadata, Namespace: o.config.Kubernetes.Namespace,
		Holds: o.holds, Now: o.clients.clock.Now, Log: o.log, Changed: o.enqueue,
	})
	if err != nil {
		return err
	}
	o.executor.Checks = observer
	o.pools = &poolParts{observer, &pools.Controller{
		Observer: observer, Managed: o.observer.Managed, Executor: o.executor, Reporter: o.reporter, Traces: o.spans, Fresh: o.fresh,
		Client: o.clients.dynamic, Log: o.log, DryRun: o.config.DryRun,
	}}
	return nil
}

// podLookup returns how the webhooks about evictions look up pods by name.
func (o *Operator) podLookup() admission.PodObserver {
	if o.pools == nil {
		return o.observer
	}
	return cluster.Pods{Observer: o.observer, Pools: o.pools.observer}
}

// poolLookup returns how the webhook about evictions looks up StatefulClusters; nil if the kind is not enabled.
func (o *Operator) poolLookup() admission.PoolObserver {
	if o.pools == nil {
		return nil
	}
	return o.pools.observer
}

// poolKeys returns the StatefulClusters of a namespace, or of all namespaces if it is empty.
func (o *Operator) poolKeys(namespace string) []plan.Key {
	if o.pools == nil {
		return nil
	}
	return o.pools.observer.Keys(namespace)
}

// reconcilePool works on one StatefulCluster. While the kind is not enabled, its Lease is left alone.
func (o *Operator) reconcilePool(ctx context.Context, key plan.Key) (loop.Outcome, error) {
	if o.pools == nil {
		return loop.Gone(), nil
	}
	if !o.pools.observer.Synced() {
		return loop.After(time.Second), nil
	}
	return o.pools.controller.Reconcile(ctx, key)
}
