package plan

import (
	"fmt"

	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// CancelPreparation tells pods that they stay after all. Their answers are not waited for: they are in a
// later snapshot, and the note stands until all have answered.
type CancelPreparation struct {
	Downscale Downscale
	Pods      []Pod
}

// Reason implements Action.
func (CancelPreparation) Reason() reason.Code { return reason.DownscaleCancelled }

// Effect implements Action. The hold is read as for PreparePods.
func (a CancelPreparation) Effect() Effect {
	return Effect{Zone: a.Downscale.Zone, Order: Calling, Read: Always}
}

// Event implements Action.
func (CancelPreparation) Event() Event { return Event{} }

// String implements Action: undo zone-a from 5 to 3 undoing at zone-a-3 zone-a-4.
func (a CancelPreparation) String() string {
	return fmt.Sprintf("undo %s at %s", a.Downscale, namesOf(a.Pods))
}
