package plan

import (
	"fmt"

	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// CancelDeletion updates a pod whose deletion is recorded, so that a pending delete request fails its
// resourceVersion precondition. The update requires the recorded UID and resourceVersion. The intent is obsolete
// once the new version of the pod is observed.
type CancelDeletion struct {
	Intent  Intent
	Because Refusal // the objection to the deletion
}

// Reason implements Action.
func (CancelDeletion) Reason() reason.Code { return reason.DeletionCancelled }

// Effect implements Action.
func (a CancelDeletion) Effect() Effect {
	return Effect{Zone: a.Intent.Zone, Pod: a.Intent.Pod, Order: BeforeLease, Visible: true}
}

// Event implements Action.
func (a CancelDeletion) Event() Event {
	return Event{
		Zone: a.Intent.Zone, Pod: a.Intent.Pod, PodUID: a.Intent.UID, Action: "CancelDeletion",
		Note: fmt.Sprintf("no longer deletes pod %s (%s): %s", a.Intent.Pod, a.Because, a.Reason().Sentence()),
	}
}

// String implements Action: cancel deletion of zone-a-0 of zone-a because Paused.
func (a CancelDeletion) String() string {
	return fmt.Sprintf("cancel deletion of %s of %s because %s", a.Intent.Pod, a.Intent.Zone, a.Because)
}
