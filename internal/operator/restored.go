package operator

import (
	"context"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/show/telemetry"
)

// restoreShown is for how long a process that has noticed a restore can still be asked
// about it before it ends. It is longer than Prometheus usually waits between two scrapes
// and than the API server works on a request, so the next process meets none of this one.
const restoreShown = plan.RequestLimit + time.Second

// endOnRestore ends the process once a live read has shown that etcd was restored from a
// backup: its caches and all that it remembers are of another history (ADR 23).
func (o *Operator) endOnRestore(ctx context.Context, end context.CancelCauseFunc) {
	err := o.holds.AwaitRestore(ctx)
	if err == nil {
		return
	}
	o.restored.Store(&err)
	o.metrics.RestoreSeen(telemetry.OfCluster)
	o.log.WithError(err).Error("this process works no more and ends soon, to be started anew")
	end(err)
}

// clusterContinues fails once a restore was noticed.
func (o *Operator) clusterContinues() error {
	if err := o.restored.Load(); err != nil {
		return *err
	}
	return nil
}

// showRestore lets people and Prometheus see that a restore was noticed, if one was, until
// that is long enough or ctx ends. Who has led says it on the StatefulSets as well.
func (o *Operator) showRestore(ctx context.Context) {
	if o.clusterContinues() == nil {
		return
	}
	if o.led.Load() {
		for _, key := range o.observer.Groups("") {
			o.controller.ReportRestored(key)
		}
	}
	select {
	case <-ctx.Done():
	case <-time.After(restoreShown):
	}
}
