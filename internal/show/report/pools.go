package report

import (
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/pool"
	"github.com/lockstep-dev/lockstep/internal/show/telemetry"
)

// Pool is Report for a StatefulCluster. It updates the metrics of the StatefulCluster as well.
func (r *Reporter) Pool(s *pool.Snapshot, steps []plan.Action, done []plan.Receipt) (news bool, due time.Duration) {
	metrics := r.metrics.Pool(s.Key.Namespace, s.Key.Name)
	metrics.Show(stateOfPool(s, steps))
	for _, receipt := range done {
		if receipt.Err == nil {
			countStep(metrics, receipt.Step)
		}
	}
	return r.Report(s, steps, done)
}

// countStep counts what an action has done to pods and claims.
func countStep(metrics *telemetry.PoolMetrics, step plan.Action) {
	switch a := step.(type) {
	case pool.CreatePods:
		metrics.Born(len(a.IDs))
	case pool.HandOver:
		metrics.HandedOver()
	case pool.UpdateInPlace:
		metrics.UpdatedInPlace()
	case plan.DeletePod:
		metrics.PodDeleted(string(a.Because))
	case pool.RetireIdentity:
		metrics.Retired(string(a.Because))
	case pool.DeleteClaims:
		metrics.ClaimsDeleted(len(a.Claims))
	}
}

func stateOfPool(s *pool.Snapshot, steps []plan.Action) telemetry.PoolState {
	d := pool.Describe(*s, steps)
	shown := telemetry.PoolState{
		At: s.Now, Desired: s.Object.Replicas, Active: d.Replicas, Ready: d.Ready, Available: d.Available, Updated: d.Updated, Outdated: d.Outdated, Terminating: d.Terminating,
		Missing: d.Replicas < s.Object.Replicas, RetiredClaims: d.RetiredClaims,
	}
	for _, w := range plan.Only[plan.Wait](steps) {
		shown.Waiting = append(shown.Waiting, string(w.Because.Code))
	}
	return shown
}
