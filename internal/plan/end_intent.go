package plan

import (
	"fmt"

	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// EndIntent removes an intent from the hold that no other action ends. The intent is of a granted eviction
// that was not carried out and no longer can be, or of a deleted pod that its StatefulSet no longer asks for,
// or was recorded before the Lease, or etcd, was restored. Only a live read shows any of these.
type EndIntent struct {
	Intent  Intent
	Because reason.Code
}

// Reason implements Action.
func (a EndIntent) Reason() reason.Code { return a.Because }

// Effect implements Action.
func (a EndIntent) Effect() Effect {
	return Effect{Zone: a.Intent.Zone, Pod: a.Intent.Pod, Order: WithLease, Read: Always, Records: true}
}

// Event implements Action. The deletion of a pod has been reported before.
func (a EndIntent) Event() Event {
	e := Event{Zone: a.Intent.Zone, Pod: a.Intent.Pod, PodUID: a.Intent.UID}
	switch a.Because {
	case reason.PodNotFound, reason.DeletionCancelled:
		return Event{}
	case reason.HoldRestored:
		e.Action, e.Warning = "EndIntent", true
		e.Note = fmt.Sprintf("drops the record of pod %s: %s", a.Intent.Pod, a.Because.Sentence())
	default:
		e.Action = "EndEviction"
		e.Note = fmt.Sprintf("the eviction of pod %s counts no more: %s", a.Intent.Pod, a.Because.Sentence())
	}
	return e
}

// String implements Action: end intent of zone-a-1 because EvictionLapsed.
func (a EndIntent) String() string {
	return fmt.Sprintf("end intent of %s because %s", a.Intent.Pod, a.Because)
}
