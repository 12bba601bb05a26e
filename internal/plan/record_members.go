package plan

import (
	"strings"

	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// RecordMembers brings up to date which zones of the group the hold remembers.
type RecordMembers struct {
	Joined []string // zones that it does not remember yet
	Gone   []string // zones that left the group and are settled
}

// Reason implements Action.
func (a RecordMembers) Reason() reason.Code {
	if len(a.Joined) > 0 {
		return reason.ZoneJoined
	}
	return reason.HoldReleased
}

// Effect implements Action. Only a live read shows that a zone which left has no pods any more, and what a
// new Lease has to say: there may be one that the caches do not show, and the predecessor has kept times of
// downscales.
func (a RecordMembers) Effect() Effect {
	e := Effect{Order: WithLease, Read: IfNew, Records: true}
	if len(a.Gone) > 0 {
		e.Read = Always
	}
	return e
}

// Event implements Action.
func (RecordMembers) Event() Event { return Event{} }

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
