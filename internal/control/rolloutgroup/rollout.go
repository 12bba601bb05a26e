package rolloutgroup

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lockstep-dev/lockstep/internal/api/lockstep/v1alpha1"
	"github.com/lockstep-dev/lockstep/internal/lock/hold"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// rolloutOf returns the rollout that is under way, if one is, in zones that stand like
// this, where something else was said before.
func rolloutOf(s plan.Snapshot, zones []plan.ZoneStatus, before v1alpha1.RolloutGroupStatus) *v1alpha1.RolloutGroupRollout {
	current := s.Hold.Rollouts.Current
	since := moment(current.Since)
	if since == nil || current.Over() {
		return nil
	}
	rollout := &v1alpha1.RolloutGroupRollout{Since: *since, TraceID: hold.TraceID(current.Trace)}
	if goesOn(s, zones) {
		rollout.EstimatedEnd = estimate(s, zones, expected(before, *since, zones, s.Now))
	}
	return rollout
}

// goesOn reports whether pods are left to be replaced, and no zone that has some is paused.
func goesOn(s plan.Snapshot, zones []plan.ZoneStatus) bool {
	left := false
	for _, status := range zones {
		if status.Done < status.Replicas {
			z, _ := s.Zone(status.Name)
			if z.PausedAt(s.Now) {
				return false
			}
			left = true
		}
	}
	return left
}

// expected returns the end that was told of the same rollout with as many pods done, if
// it is still to come. So it is not another one at every look.
func expected(before v1alpha1.RolloutGroupStatus, since metav1.Time, zones []plan.ZoneStatus, now time.Time) *metav1.Time {
	told := before.Rollout
	if told == nil || !told.Since.Equal(&since) || told.EstimatedEnd == nil || told.EstimatedEnd.Time.Before(now) || before.Progress != progress(zones) {
		return nil
	}
	return told.EstimatedEnd
}

// estimate returns when a rollout ends that goes on as it did or, before its first
// pod was replaced, as the last one, to the minute; what was expected stays.
func estimate(s plan.Snapshot, zones []plan.ZoneStatus, expected *metav1.Time) *metav1.Time {
	if expected != nil {
		return expected
	}
	each := forEach(s.Hold.Rollouts.Current, backUp(s), s.Now)
	for _, former := range s.Hold.Rollouts.Finished {
		if each > 0 {
			break
		}
		each = forEach(former, 0, former.Until)
	}
	done, replicas := count(zones)
	end := s.Now.Add(time.Duration(replicas-done) * each)
	if each <= 0 || !end.After(s.Now) {
		return nil
	}
	return moment(end.Add(time.Minute - 1).Truncate(time.Minute))
}

// backUp returns of how many pods that are noted the successors are Ready: the next
// write counts them as replaced.
func backUp(s plan.Snapshot) int {
	up := 0
	for _, i := range s.Hold.Intents {
		if pod, present := s.Pod(i.Pod); present && i.Cause == reason.OutdatedRevision && i.Succeeded(pod.UID, pod.Version) && pod.Up() {
			up++
		}
	}
	return up
}

// forEach returns how long a rollout took for each pod until a time, with so many more than
// it counts; 0: it cannot be told.
func forEach(r plan.RolledGroup, replaced int, until time.Time) time.Duration {
	for _, z := range r.Zones {
		replaced += z.Replaced
	}
	if replaced == 0 || !until.After(r.Since) {
		return 0
	}
	return until.Sub(r.Since) / time.Duration(replaced)
}
