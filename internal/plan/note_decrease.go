package plan

import (
	"fmt"

	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// NoteDecrease writes a decrease, or its next stage, into the hold.
type NoteDecrease struct {
	Decrease Decrease
	Former   Decrease // what is left of the one that the hold notes until then, where another one begins
	Because  reason.Code
	Failed   Decrease // the one that is given up because preparation failed, if one is
	Why      string   // what a pod said, where preparation failed
}

// Reason implements Action.
func (a NoteDecrease) Reason() reason.Code { return a.Because }

// Effect implements Action.
func (a NoteDecrease) Effect() Effect {
	return Effect{Zone: a.Decrease.Zone, Order: WithLease, Visible: true, Read: Always, Records: true}
}

// Event implements Action.
func (a NoteDecrease) Event() Event {
	if a.Because == reason.PreparationFailed {
		return preparationFailed(a.Failed, a.Why)
	}
	return Event{
		Zone: a.Decrease.Zone, Action: "NoteDownscale",
		Note: fmt.Sprintf("notes the downscale from %d to %d: %s", a.Decrease.From, a.Decrease.To, a.Because.Sentence()),
	}
}

// preparationFailed tells that pods did not agree to leave.
func preparationFailed(d Decrease, why string) Event {
	return Event{
		Zone: d.Zone, Warning: true, Action: "PreparePods",
		Note: fmt.Sprintf("gives up the downscale from %d to %d: %s (%s)", d.From, d.To, reason.PreparationFailed.Sentence(), why),
	}
}

// Record implements Recorder.
func (a NoteDecrease) Record(h *Hold) { h.Decrease = a.Decrease }

// String implements Action: note zone-a from 5 to 3 admitted because DownscaleDetected.
func (a NoteDecrease) String() string {
	return fmt.Sprintf("note %s because %s", a.Decrease, a.Because)
}
