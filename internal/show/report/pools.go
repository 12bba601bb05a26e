package report

import (
	"errors"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

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
			continue
		}
		countPart(metrics, receipt)
		if creates(receipt.Step) && isRefused(receipt.Err) {
			metrics.BirthRefused()
		}
	}
	metrics.ClaimsLost(pool.LostClaims(s, done))
	r.updates.follow(s, metrics)
	return r.Report(s, steps, done)
}

// creates reports whether an action creates pods or claims.
func creates(step plan.Action) bool {
	switch step.(type) {
	case pool.CreatePods, pool.HandOver, pool.CompletePod:
		return true
	}
	return false
}

// isRefused reports whether the API server has refused a request because of what it asks for, as quotas and policies do.
func isRefused(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err)
}

// updatesInPlace has the updates of pods in place of each StatefulCluster that have not ended. The zero value is ready for use,
// concurrently for different StatefulClusters.
type updatesInPlace struct {
	mu sync.Mutex
	of map[plan.Key][]pool.FollowedUpdate
}

// follow reports the updates in place that have ended since the last call, and how long those took that are complete.
func (u *updatesInPlace) follow(s *pool.Snapshot, metrics *telemetry.PoolMetrics) {
	next, ended := pool.FollowUpdates(s, u.followed(s.Key))
	u.replace(s.Key, next)
	for _, e := range ended {
		metrics.UpdateEnded(string(e.Outcome))
		if e.Outcome == pool.UpdateCompleted {
			metrics.UpdatedInPlace(max(availableAgainAt(s, e).Sub(e.Since), 0))
		}
	}
}

// availableAgainAt returns when a pod that was updated in place became available: now, if it did not become Ready again.
func availableAgainAt(s *pool.Snapshot, e pool.EndedUpdate) time.Time {
	if e.Pod.ReadySince.Before(e.Since.Truncate(time.Second)) { // the condition has whole seconds
		return s.Now
	}
	return replacedAt(s.Now, e.Pod, s.Object.MinReady)
}

func (u *updatesInPlace) followed(key plan.Key) []pool.FollowedUpdate {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.of[key]
}

func (u *updatesInPlace) replace(key plan.Key, next []pool.FollowedUpdate) {
	u.mu.Lock()
	defer u.mu.Unlock()
	switch {
	case len(next) == 0:
		delete(u.of, key)
	case u.of == nil:
		u.of = map[plan.Key][]pool.FollowedUpdate{key: next}
	default:
		u.of[key] = next
	}
}

// countStep counts what an action has done to pods and claims.
func countStep(metrics *telemetry.PoolMetrics, step plan.Action) {
	switch a := step.(type) {
	case pool.CreatePods:
		metrics.Born(len(a.IDs))
	case pool.HandOver:
		metrics.HandedOver()
	case plan.DeletePod:
		metrics.PodDeleted(string(a.Because))
	case pool.RetireIdentity:
		metrics.Retired(string(a.Because))
	case pool.DeleteClaims:
		metrics.ClaimsDeleted(string(a.Policy), len(a.Claims))
	}
}

// countPart counts the pods that an action has created, and the claims that it has deleted, although it failed for others. The next plan
// has an action only for those that are left.
func countPart(metrics *telemetry.PoolMetrics, receipt plan.Receipt) {
	part, is := errors.AsType[*plan.PartialError](receipt.Err)
	if !is {
		return
	}
	switch a := receipt.Step.(type) {
	case pool.CreatePods:
		metrics.Born(part.Done)
	case pool.DeleteClaims:
		metrics.ClaimsDeleted(string(a.Policy), part.Done)
	}
}

func stateOfPool(s *pool.Snapshot, steps []plan.Action) telemetry.PoolState {
	d := pool.Describe(*s, steps)
	shown := telemetry.PoolState{
		At: s.Now, Desired: s.Object.Replicas, Active: d.Replicas, Ready: d.Ready, Available: d.Available, Updated: d.Updated, Outdated: d.Outdated, Terminating: d.Terminating,
		Missing: d.Replicas < s.Object.Replicas, RetiredClaims: d.RetiredClaims, CrashLoopEnds: s.CrashLoopEnds(),
	}
	for _, w := range plan.Only[plan.Wait](steps) {
		shown.Waiting = append(shown.Waiting, string(w.Because.Code))
	}
	return shown
}
