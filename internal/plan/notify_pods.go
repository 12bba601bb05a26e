package plan

import (
	"fmt"

	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// NotifyPods tells pods of a zone with a delay that they will leave, or that they stay. Their answers are
// not waited for: they are in a later snapshot.
type NotifyPods struct {
	Zone    string
	Message Message
	Call    Call // by which they are told
	Former  bool // the zone has another one now, or none
	Pods    []Pod
}

// Reason implements Action.
func (NotifyPods) Reason() reason.Code { return reason.DownscaleDelayed }

// Effect implements Action. Pods are told after the hold was written: who is told to stay must not count
// as about to leave any more.
func (a NotifyPods) Effect() Effect { return Effect{Zone: a.Zone, Order: Notifying} }

// Event implements Action.
func (NotifyPods) Event() Event { return Event{} }

// String implements Action: tell leave to zone-a-3 zone-a-4.
func (a NotifyPods) String() string {
	text := fmt.Sprintf("tell %s to %s", a.Message, namesOf(a.Pods))
	if a.Former {
		text += " by the former call"
	}
	return text
}
