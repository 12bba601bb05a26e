package plan

import (
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// TakePlace keeps a place in the queue for the group: an operation of lockstep's own waits for evictions.
type TakePlace struct {
	Waiting Waiting
}

// Reason implements Action.
func (TakePlace) Reason() reason.Code { return reason.GroupHeld }

// Effect implements Action. The place is written with what else is due, or alone.
func (a TakePlace) Effect() Effect { return Effect{Zone: a.Waiting.Zone, Order: WithLease} }

// Event implements Action.
func (TakePlace) Event() Event { return Event{} }

// String implements Action: queue rollout/zone-a.
func (a TakePlace) String() string {
	return "queue " + string(a.Waiting.Operation.For(a.Waiting.Zone))
}
