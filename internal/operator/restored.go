package operator

import (
	"context"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/show/telemetry"
)

// restoreShown is how long a process that has detected a restore stays available before it ends.
// It is longer than Prometheus usually waits between two scrapes, and than the API server works
// on a request. Therefore no request of this process is still in progress when the next process
// starts.
const restoreShown = plan.RequestLimit + time.Second

// endOnRestore ends the process once a live read has shown that etcd was restored from a backup:
// its caches and its other state are of another history (ADR 23).
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

// clusterContinues returns an error once a restore was detected.
func (o *Operator) clusterContinues() error {
	if err := o.restored.Load(); err != nil {
		return *err
	}
	return nil
}

// showRestore does nothing unless a restore was detected. Then it waits until people and
// Prometheus can have seen the restore, or until ctx ends. If the process has been the leader, it
// also reports the restore on the StatefulSets.
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
