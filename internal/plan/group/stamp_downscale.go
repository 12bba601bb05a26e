package group

import (
	"fmt"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// StampDownscale writes the time of a downscale to an annotation of the StatefulSet, for users and
// other tools.
type StampDownscale struct {
	Zone    string
	UID     string
	Version plan.Version
	Time    time.Time
}

// Reason implements Action.
func (StampDownscale) Reason() reason.Code { return reason.DownscaleCompleted }

// Effect implements Action.
func (a StampDownscale) Effect() plan.Effect {
	return plan.Effect{Zone: a.Zone, Order: plan.UnderHold, Visible: true}
}

// Event implements Action.
func (StampDownscale) Event() plan.Event { return plan.Event{} }

// String implements Action: stamp zone-a with 2026-01-05T12:00:00Z.
func (a StampDownscale) String() string {
	return fmt.Sprintf("stamp %s with %s", a.Zone, a.Time.UTC().Format(time.RFC3339))
}
