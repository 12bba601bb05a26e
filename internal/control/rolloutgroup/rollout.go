package rolloutgroup

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lockstep-dev/lockstep/internal/api/lockstep/v1alpha1"
	"github.com/lockstep-dev/lockstep/internal/lock/record"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// rolloutOf returns the status of the current rollout, or nil if there is none. before is the last
// written status.
func rolloutOf(s group.Snapshot, zones []group.ZoneStatus, before v1alpha1.RolloutGroupStatus) *v1alpha1.RolloutGroupRollout {
	current := s.Hold.Rollouts.Current
	since := v1alpha1.Moment(current.Since)
	if since == nil || current.Over() {
		return nil
	}
	rollout := &v1alpha1.RolloutGroupRollout{Since: *since, TraceID: record.TraceID(current.Trace)}
	if hasWork(s, zones) {
		rollout.EstimatedEnd = estimate(s, zones, expected(before, *since, zones, s.Now))
	}
	return rollout
}

// hasWork reports whether pods must still be replaced, and none of their zones is paused.
func hasWork(s group.Snapshot, zones []group.ZoneStatus) bool {
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

// expected returns the estimated end in the last status, if it is about the same rollout with the
// same progress and is not over. So the estimate does not change at every reconcile.
func expected(before v1alpha1.RolloutGroupStatus, since metav1.Time, zones []group.ZoneStatus, now time.Time) *metav1.Time {
	last := before.Rollout
	if last == nil || !last.Since.Equal(&since) || last.EstimatedEnd == nil || last.EstimatedEnd.Time.Before(now) || before.Progress != progress(zones) {
		return nil
	}
	return last.EstimatedEnd
}

// estimate returns the end of a rollout, rounded up to a minute. It assumes the pace so far or,
// before the first pod was replaced, that of the last rollout. An expected end is kept.
func estimate(s group.Snapshot, zones []group.ZoneStatus, expected *metav1.Time) *metav1.Time {
	if expected != nil {
		return expected
	}
	each := timePerPod(s.Hold.Rollouts.Current, replacedPods(s), s.Now)
	for _, former := range s.Hold.Rollouts.Finished {
		if each > 0 {
			break
		}
		each = timePerPod(former, 0, former.Until)
	}
	done, replicas := count(zones)
	end := s.Now.Add(time.Duration(replicas-done) * each)
	if each <= 0 || !end.After(s.Now) {
		return nil
	}
	return v1alpha1.Moment(end.Add(time.Minute - 1).Truncate(time.Minute))
}

// replacedPods returns the number of recorded pods whose successors are Ready. The next write of the
// hold counts them as replaced.
func replacedPods(s group.Snapshot) int {
	up := 0
	for _, i := range s.Hold.Intents {
		if pod, present := s.Pod(i.Pod); present && i.Cause == reason.OutdatedRevision && i.Succeeded(pod.UID, pod.Version) && pod.Up() {
			up++
		}
	}
	return up
}

// timePerPod returns the time for each pod of a rollout until a time. It adds replaced to the pods
// that the rollout counts. 0 means unknown.
func timePerPod(r plan.RolledGroup, replaced int, until time.Time) time.Duration {
	for _, z := range r.Zones {
		replaced += z.Replaced
	}
	if replaced == 0 || !until.After(r.Since) {
		return 0
	}
	return until.Sub(r.Since) / time.Duration(replaced)
}
