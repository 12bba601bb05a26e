package plan

import (
	"fmt"

	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// Release gives the hold back.
type Release struct {
	Holder Holder
}

// Reason implements Action.
func (Release) Reason() reason.Code { return reason.HoldReleased }

// Effect implements Action. Package hold writes the record of a hold that is free.
func (a Release) Effect() Effect { return Effect{Zone: a.Holder.Zone()} }

// Event implements Action.
func (Release) Event() Event { return Event{} }

// String implements Action: release rollout/zone-a.
func (a Release) String() string { return fmt.Sprintf("release %s", a.Holder) }
