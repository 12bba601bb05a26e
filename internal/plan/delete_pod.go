package plan

import (
	"fmt"

	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// DeletePod deletes exactly the pod that was judged: the delete requires this UID and this
// resourceVersion.
type DeletePod Disruption

// Disruption implements Disruptive.
func (a DeletePod) Disruption() Disruption { return Disruption(a) }

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
