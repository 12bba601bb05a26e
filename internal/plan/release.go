package plan

import (
	"fmt"

	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// Release releases the hold.
type Release struct {
	Holder Holder
}

// Reason implements Action.
func (Release) Reason() reason.Code { return reason.HoldReleased }

// Effect implements Action. Package hold writes the record of a free hold.
func (a Release) Effect() Effect { return Effect{Zone: a.Holder.Zone()} }

// Event implements Action.
func (Release) Event() Event { return Event{} }

// String implements Action: release rollout/zone-a.
func (a Release) String() string { return fmt.Sprintf("release %s", a.Holder) }
