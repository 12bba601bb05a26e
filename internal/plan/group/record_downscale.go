package group

import (
	"fmt"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// RecordDownscale records a downscale, or its next stage, in the hold.
type RecordDownscale struct {
	Downscale Downscale
	Former    Downscale // if another downscale begins: the rest of the one that the hold recorded until then
	Because   reason.Code
	Failed    Downscale // the downscale that is given up because preparation failed; usually none
	Why       string    // the answer of a pod, if preparation failed
}

// Reason implements Action.
func (a RecordDownscale) Reason() reason.Code { return a.Because }

// Effect implements Action.
func (a RecordDownscale) Effect() plan.Effect {
	return plan.Effect{Zone: a.Downscale.Zone, Order: plan.WithLease, Visible: true, Read: plan.Always, Records: true}
}

// Event implements Action.
func (a RecordDownscale) Event() plan.Event {
	if a.Because == reason.PreparationFailed {
		return preparationFailed(a.Failed, a.Why)
	}
	return plan.Event{
		Zone: a.Downscale.Zone, Action: "NoteDownscale",
		Note: fmt.Sprintf("records the downscale from %d to %d: %s", a.Downscale.From, a.Downscale.To, a.Because.Sentence()),
	}
}

// preparationFailed returns the Event for pods that did not agree to leave.
func preparationFailed(d Downscale, why string) plan.Event {
	return plan.Event{
		Zone: d.Zone, Warning: true, Action: "PreparePods",
		Note: fmt.Sprintf("gives up the downscale from %d to %d: %s (%s)", d.From, d.To, reason.PreparationFailed.Sentence(), why),
	}
}

// Record implements plan.PartRecorder.
func (a RecordDownscale) Record(part plan.Part) plan.Part {
	next := PartOf(part)
	next.Downscale = a.Downscale
	return next
}

// String implements Action: record zone-a from 5 to 3 admitted because DownscaleDetected.
func (a RecordDownscale) String() string {
	return fmt.Sprintf("record %s because %s", a.Downscale, a.Because)
}
