package plan

import (
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// Enqueue records the place in the queue of an operation of lockstep's own that waits for evictions.
type Enqueue struct {
	Waiting Waiting
}

// Reason implements Action.
func (Enqueue) Reason() reason.Code { return reason.GroupHeld }

// Effect implements Action. The place is written with other changes of the Lease, or alone.
func (a Enqueue) Effect() Effect { return Effect{Zone: a.Waiting.Zone, Order: WithLease} }

// Event implements Action.
func (Enqueue) Event() Event { return Event{} }

// String implements Action: queue rollout/zone-a.
func (a Enqueue) String() string {
	return "queue " + string(a.Waiting.Operation.For(a.Waiting.Zone))
}
