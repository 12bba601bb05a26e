package plan

import (
	"fmt"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// Wait says what a zone waits for. An empty plan means the goal is reached.
type Wait struct {
	Zone    string
	Because Refusal
	Again   time.Time // when something else in the zone changes by time alone; zero: nothing does
}

// Reason implements Action.
func (a Wait) Reason() reason.Code { return a.Because.Code }

// Effect implements Action: nothing is changed.
func (Wait) Effect() Effect { return Effect{} }

// Event implements Action. Reports tell of waits once they have lasted.
func (Wait) Event() Event { return Event{} }

// String implements Action: wait zone-b because OtherZoneUnavailable zone-a-1 of zone-a.
func (a Wait) String() string { return fmt.Sprintf("wait %s because %s", a.Zone, a.Because) }
