package group

import (
	"slices"

	"github.com/lockstep-dev/lockstep/internal/plan"
)

// IntentStatus compares an intent with the observed pods. It compares versions: the recorded
// version with the version of the pod, or with the version of the list of pods. The absence of
// a UID proves nothing (ADR 0004).
func (s *Snapshot) IntentStatus(i plan.Intent) plan.IntentStatus {
	pod, present := s.Pod(i.Pod)
	switch {
	case i.Unbound && !(s.Live && i.Lapsed()):
		return plan.Open
	case s.Live && s.behindIntent(i):
		return s.statusOfRestored(i)
	case !present:
		return s.statusOfAbsent(i)
	case pod.UID == i.UID && i.Granted():
		return s.statusOfGrant(pod, i)
	case pod.UID == i.UID:
		return statusOfSame(pod, i)
	case pod.Version <= i.Version:
		return plan.Open // an older incarnation: this view is behind
	}
	zone, _ := s.Zone(i.Zone)
	if pod.Available(zone.MinReady, s.Now) {
		return plan.Done
	}
	return plan.Open
}

func statusOfSame(pod plan.Pod, i plan.Intent) plan.IntentStatus {
	switch {
	case pod.Phase == plan.Terminating || pod.Version < i.Version:
		return plan.Open
	case pod.Version == i.Version:
		return plan.Pending
	}
	return plan.Obsolete
}

// statusOfGrant returns the status of a granted eviction whose pod exists. The client may
// carry out the eviction at any version of the pod, as long as the API server waits for it. So
// only a live read after that time ends the intent (ADR 15).
func (s *Snapshot) statusOfGrant(pod plan.Pod, i plan.Intent) plan.IntentStatus {
	if s.Live && i.Lapsed() && pod.Phase != plan.Terminating {
		return plan.Obsolete
	}
	return plan.Open
}

// statusOfAbsent returns the status of an intent whose pod does not exist. A cached
// StatefulSet may be older than the absence of its pod, and may not show yet that its zone was
// scaled up. So only a live read ends such an intent (ADR 24).
func (s *Snapshot) statusOfAbsent(i plan.Intent) plan.IntentStatus {
	if s.Live && s.deletedAndUnwanted(i) {
		return plan.Done
	}
	return plan.Open
}

// WantAgain reports whether StatefulSets that were listed after a snapshot require the pod of
// one of these intents. Then the group must be read again.
func WantAgain(deleted []plan.Intent, listed []Zone) bool {
	return slices.ContainsFunc(listed, func(z Zone) bool {
		return slices.ContainsFunc(deleted, func(i plan.Intent) bool { return z.Wants(i.Pod) })
	})
}

// DeletedAndUnwanted returns the intents whose pods the snapshot does not show and whose
// StatefulSets, as the snapshot shows them, do not require those pods. A StatefulSet that was
// deleted without its pods may require them once it is created again. Before a live read
// relies on the result, it lists StatefulSets once more.
func (s *Snapshot) DeletedAndUnwanted() []plan.Intent {
	var found []plan.Intent
	for _, intent := range s.Hold.Intents {
		if s.deletedAndUnwanted(intent) {
			found = append(found, intent)
		}
	}
	return found
}

func (s *Snapshot) deletedAndUnwanted(i plan.Intent) bool {
	if _, present := s.Pod(i.Pod); present || s.PodsAt < i.Version {
		return false
	}
	if zone, exists := s.Zone(i.Zone); exists {
		return !zone.Wants(i.Pod)
	}
	left := s.formerZone(i.Zone)
	return left == nil || !left.wants(i.Pod)
}
