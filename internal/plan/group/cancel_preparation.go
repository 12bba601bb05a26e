package group

import (
	"fmt"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// CancelPreparation notifies pods that they stay after all. The executor does not wait for their answers: a
// later snapshot has them. The downscale stays recorded until all pods have answered.
type CancelPreparation struct {
	Downscale Downscale
	Pods      []plan.Pod
}

// Reason implements Action.
func (CancelPreparation) Reason() reason.Code { return reason.DownscaleCancelled }

// Effect implements Action. A live read is required, as for PreparePods.
func (a CancelPreparation) Effect() plan.Effect {
	return plan.Effect{Zone: a.Downscale.Zone, Order: plan.Calling, Read: plan.Always}
}

// Event implements Action.
func (CancelPreparation) Event() plan.Event { return plan.Event{} }

// String implements Action: undo zone-a from 5 to 3 undoing at zone-a-3 zone-a-4.
func (a CancelPreparation) String() string {
	return fmt.Sprintf("undo %s at %s", a.Downscale, namesOf(a.Pods))
}
