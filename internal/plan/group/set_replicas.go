package group

import (
	"fmt"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// SetReplicas changes spec.replicas of a zone. It reduces them only for the downscale that the hold
// records, at the evaluated version.
type SetReplicas struct {
	Zone    string
	UID     string
	Version plan.Version
	From    int
	To      int
	Because reason.Code
}

// Reason implements Action.
func (a SetReplicas) Reason() reason.Code { return a.Because }

// Effect implements Action. More replicas require no hold. If another process recorded the downscale, this
// process does not know what the other one observed, so a live read is required.
func (a SetReplicas) Effect() plan.Effect {
	if a.To > a.From {
		return plan.Effect{Zone: a.Zone, Order: plan.WithoutHold, Visible: true, Resizes: true}
	}
	e := plan.Effect{Zone: a.Zone, Order: plan.UnderHold, Visible: true, Resizes: true}
	if a.lowers() {
		e.Read, e.EndsBeforeExpiry, e.Disrupts, e.Records = plan.IfInherited, true, true, true
	}
	return e
}

// lowers reports whether pods leave because of it.
func (a SetReplicas) lowers() bool { return a.To < a.From }

// Event implements Action.
func (a SetReplicas) Event() plan.Event {
	return plan.Event{
		Zone: a.Zone, Action: "SetReplicas",
		Note: fmt.Sprintf("set spec.replicas from %d to %d: %s", a.From, a.To, a.Because.Sentence()),
	}
}

// String implements Action: set zone-b from 3 to 5 because LeaderFollowed.
func (a SetReplicas) String() string {
	return fmt.Sprintf("set %s from %d to %d because %s", a.Zone, a.From, a.To, a.Because)
}
