package group

import (
	"fmt"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// CancelDownscale updates a StatefulSet whose admitted downscale has not arrived, so that a pending update
// cannot succeed: the API server applies an update only to the version that it was admitted for.
// CancelDownscale requires the recorded UID and resourceVersion. The downscale is overtaken once the new
// version is observed.
type CancelDownscale struct {
	Downscale Downscale
}

// Reason implements Action.
func (CancelDownscale) Reason() reason.Code { return reason.DownscaleCancelled }

// Effect implements Action.
func (a CancelDownscale) Effect() plan.Effect {
	return plan.Effect{Zone: a.Downscale.Zone, Order: plan.UnderHold, Visible: true, Resizes: true}
}

// Event implements Action.
func (CancelDownscale) Event() plan.Event { return plan.Event{} }

// String implements Action: cancel downscale zone-a from 5 to 3 admitted.
func (a CancelDownscale) String() string { return fmt.Sprintf("cancel downscale %s", a.Downscale) }
