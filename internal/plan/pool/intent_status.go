package pool

import (
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// IntentStatus implements plan.Workload. An identity that is given up has ended once its pod is gone and its claims say
// so; a hand-over, once the next pod is available; an update in place, once it is complete and the pod is available. The
// version of a view decides what it can show: an older view may lack a pod that exists.
func (s *Snapshot) IntentStatus(i plan.Intent) plan.IntentStatus {
	pod, present := s.podNamed(i.Pod)
	switch {
	case i.Unbound && !(s.Live && i.Lapsed()):
		return plan.Open
	case present && pod.UID == i.UID && i.Granted():
		return s.statusOfGrant(pod, i)
	case present && pod.UID == i.UID:
		return s.statusOfSame(pod, i)
	case present && i.Succeeded(pod.UID, pod.Version):
		return s.statusOfSuccessor(pod, i)
	case present, s.PodsAt < i.Version:
		return plan.Open
	case i.Cause == reason.UpdatedInPlace:
		return plan.Done
	}
	if id, ours := IDOf(s.Key.Name, i.Pod); ours && s.ended(id, i.Version) {
		return plan.Done
	}
	return plan.Open
}

// statusOfSame is the status of an intent whose pod still exists.
func (s *Snapshot) statusOfSame(pod Pod, i plan.Intent) plan.IntentStatus {
	switch {
	case pod.Withdrawn != 0 && pod.Withdrawn >= i.Version && i.Cause != reason.UpdatedInPlace:
		return plan.Obsolete // another client has ended the pod, or will
	case pod.Phase == plan.Terminating, pod.Version < i.Version:
		return plan.Open
	case pod.Version == i.Version:
		return plan.Pending
	case i.From != "" && i.From == pod.From && pod.Gated && s.owns(&pod):
		return plan.Open // as that of the pod before it
	case i.Cause != reason.UpdatedInPlace, pod.Update.At != i.Version, !s.owns(&pod):
		return plan.Obsolete
	case s.available(&pod):
		return plan.Done
	}
	return plan.Open
}

// statusOfGrant is the status of a granted eviction whose pod still exists. The client may carry it out for as long as the
// API server works on the request, so only a live read after that time ends it (ADR 15).
func (s *Snapshot) statusOfGrant(pod Pod, i plan.Intent) plan.IntentStatus {
	if s.Live && i.Lapsed() && pod.Phase != plan.Terminating {
		return plan.Obsolete
	}
	return plan.Open
}

// statusOfSuccessor is the status of an intent whose pod has been followed by another one of its name.
func (s *Snapshot) statusOfSuccessor(next Pod, i plan.Intent) plan.IntentStatus {
	if (i.Cause == reason.IdentityHandover || next.From == i.UID) && s.owns(&next) && !s.available(&next) {
		return plan.Open
	}
	return plan.Done
}

// ended reports whether the claims of an identity say that it has ended. A view that is older than the intent may lack
// claims.
func (s *Snapshot) ended(id ID, since plan.Version) bool {
	if s.ClaimsAt < since {
		return false
	}
	for _, c := range s.claimsOf(id) {
		if !c.Retired && !c.Deleting {
			return false
		}
	}
	return true
}
