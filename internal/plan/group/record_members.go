package group

import (
	"strings"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// RecordMembers updates which zones of the group the hold records.
type RecordMembers struct {
	Joined []string // zones that the hold does not record yet
	Gone   []string // zones that left the group and are settled
}

// Reason implements Action.
func (a RecordMembers) Reason() reason.Code {
	if len(a.Joined) > 0 {
		return reason.ZoneJoined
	}
	return reason.HoldReleased
}

// Effect implements Action. Only a live read shows that a zone that left has no pods any more. A new Lease
// also requires a live read: there may be a Lease that the caches do not show, and the predecessor has
// recorded times of downscales.
func (a RecordMembers) Effect() plan.Effect {
	e := plan.Effect{Order: plan.WithLease, Read: plan.IfNew, Records: true}
	if len(a.Gone) > 0 {
		e.Read = plan.Always
	}
	return e
}

// Event implements Action.
func (RecordMembers) Event() plan.Event { return plan.Event{} }

// String implements Action: remember zone-a zone-b, forget zone-c.
func (a RecordMembers) String() string {
	var parts []string
	if len(a.Joined) > 0 {
		parts = append(parts, "remember "+strings.Join(a.Joined, " "))
	}
	if len(a.Gone) > 0 {
		parts = append(parts, "forget "+strings.Join(a.Gone, " "))
	}
	return strings.Join(parts, ", ")
}
