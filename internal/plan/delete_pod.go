package plan

import (
	"fmt"

	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// DeletePod deletes exactly the pod that was judged: the delete requires this UID and this
// resourceVersion.
type DeletePod struct {
	Zone            string
	Pod             string
	UID             string
	Version         Version
	Up              bool // the pod is up, so the hold must record the delete first
	AlreadyRecorded bool // the hold has an intent for exactly this delete
	UnknownRevision bool // the status of the zone does not name the pod's revision, so the view may be stale
	Overtakes       bool // an operation of another zone has waited longer, but could not continue anyway
	Because         reason.Code
}

// Reason implements Action.
func (a DeletePod) Reason() reason.Code { return a.Because }

// Effect implements Action.
func (a DeletePod) Effect() Effect {
	return Effect{Zone: a.Zone, Pod: a.Pod, Order: Disrupting, Visible: true, Disrupts: true}
}

// Event implements Action.
func (a DeletePod) Event() Event {
	return Event{
		Zone: a.Zone, Pod: a.Pod, PodUID: a.UID, Action: "DeletePod",
		Note: fmt.Sprintf("deleted pod %s: %s", a.Pod, a.Because.Sentence()),
	}
}

// String implements Action: delete zone-a-0 of zone-a because OutdatedRevision.
func (a DeletePod) String() string {
	return fmt.Sprintf("delete %s of %s because %s", a.Pod, a.Zone, a.Because)
}
