package plan

import (
	"fmt"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// Wait says what a zone waits for. An empty plan means that the group has reached its
// goal.
type Wait struct {
	Zone    string
	Because Refusal
	Again   time.Time // when something else in the zone changes by time alone; zero: never
}

// Reason implements Action.
func (a Wait) Reason() reason.Code { return a.Because.Code }

// Effect implements Action. A wait changes nothing.
func (Wait) Effect() Effect { return Effect{} }

// Event implements Action. Reports notify users of waits that have lasted for a while.
func (Wait) Event() Event { return Event{} }

// String implements Action: wait zone-b because OtherZoneUnavailable zone-a-1 of zone-a.
func (a Wait) String() string { return fmt.Sprintf("wait %s because %s", a.Zone, a.Because) }
