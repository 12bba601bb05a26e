package pool

import "github.com/lockstep-dev/lockstep/internal/plan"

// IntentStatus implements plan.Workload. An identity that a pool gives up has ended once its pod is gone and its claims
// say so. The version of a view decides what it can show: an older view may lack a pod that exists.
func (s *Snapshot) IntentStatus(i plan.Intent) plan.IntentStatus {
	pod, present := s.Pod(i.Pod)
	switch {
	case present && pod.UID == i.UID:
		return statusOfSame(pod, i)
	case present && i.Succeeded(pod.UID, pod.Version):
		return plan.Done
	case present, s.PodsAt < i.Version:
		return plan.Open
	}
	if id, ours := IDOf(s.Key.Name, i.Pod); ours && s.ended(id, i.Version) {
		return plan.Done
	}
	return plan.Open
}

// statusOfSame is the status of an intent whose pod still exists.
func statusOfSame(pod plan.Pod, i plan.Intent) plan.IntentStatus {
	switch {
	case pod.Phase == plan.Terminating, pod.Version < i.Version:
		return plan.Open
	case pod.Version == i.Version:
		return plan.Pending
	}
	return plan.Obsolete
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
