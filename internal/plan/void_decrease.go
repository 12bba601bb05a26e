package plan

import (
	"fmt"

	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// VoidDecrease touches a StatefulSet whose decrease was admitted and does not come, so that an update in
// flight cannot succeed. It requires the noted UID and resourceVersion; the decrease is overtaken once
// the new version is seen.
type VoidDecrease struct {
	Decrease Decrease
}

// Reason implements Action.
func (VoidDecrease) Reason() reason.Code { return reason.DownscaleCancelled }

// Effect implements Action.
func (a VoidDecrease) Effect() Effect {
	return Effect{Zone: a.Decrease.Zone, Order: UnderHold, Visible: true}
}

// Event implements Action.
func (VoidDecrease) Event() Event { return Event{} }

// String implements Action: void zone-a from 5 to 3 admitted.
func (a VoidDecrease) String() string { return fmt.Sprintf("void %s", a.Decrease) }
