package plan

import (
	"fmt"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// StampDownscale writes the time of a downscale to an annotation of the StatefulSet, for users and
// other tools.
type StampDownscale struct {
	Zone    string
	UID     string
	Version Version
	Time    time.Time
}

// Reason implements Action.
func (StampDownscale) Reason() reason.Code { return reason.DownscaleCompleted }

// Effect implements Action.
func (a StampDownscale) Effect() Effect {
	return Effect{Zone: a.Zone, Order: UnderHold, Visible: true}
}

// Event implements Action.
func (StampDownscale) Event() Event { return Event{} }

// String implements Action: stamp zone-a with 2026-01-05T12:00:00Z.
func (a StampDownscale) String() string {
	return fmt.Sprintf("stamp %s with %s", a.Zone, a.Time.UTC().Format(time.RFC3339))
}
