package plan

import (
	"fmt"

	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// CancelDownscale touches a StatefulSet whose downscale was admitted and does not come, so that an update in
// flight cannot succeed. It requires the noted UID and resourceVersion; the downscale is overtaken once
// the new version is seen.
type CancelDownscale struct {
	Downscale Downscale
}

// Reason implements Action.
func (CancelDownscale) Reason() reason.Code { return reason.DownscaleCancelled }

// Effect implements Action.
func (a CancelDownscale) Effect() Effect {
	return Effect{Zone: a.Downscale.Zone, Order: UnderHold, Visible: true}
}

// Event implements Action.
func (CancelDownscale) Event() Event { return Event{} }

// String implements Action: void zone-a from 5 to 3 admitted.
func (a CancelDownscale) String() string { return fmt.Sprintf("void %s", a.Downscale) }
