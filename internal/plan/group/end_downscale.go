package group

import (
	"fmt"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// EndDownscale removes a downscale that has ended from the hold. If the downscale came into effect, the hold
// keeps its time.
type EndDownscale struct {
	Downscale Downscale
	Effective bool
	Failed    string // why pods could not be called, if the downscale ended because of that
	Restored  bool   // it was recorded before the Lease, or etcd, was restored
	Replaced  bool   // another StatefulSet has the name of its zone by now
}

// Reason implements Action.
func (a EndDownscale) Reason() reason.Code {
	switch {
	case a.Restored:
		return reason.HoldRestored
	case a.Effective:
		return reason.DownscaleCompleted
	case a.Failed != "":
		return reason.PreparationFailed
	}
	return reason.DownscaleCancelled
}

// Effect implements Action.
func (a EndDownscale) Effect() plan.Effect {
	return plan.Effect{Zone: a.Downscale.Zone, Order: plan.WithLease, Read: plan.Always, Records: true}
}

// Event implements Action. The end of a downscale of a deleted StatefulSet is not reported on the StatefulSet
// that has its name now.
func (a EndDownscale) Event() plan.Event {
	d := a.Downscale
	switch {
	case a.Restored:
		return plan.Event{
			Zone: d.Zone, Warning: true, Action: "EndDownscale",
			Note: fmt.Sprintf("drops the record of the downscale from %d to %d: %s", d.From, d.To, a.Reason().Sentence()),
		}
	case a.Replaced:
		return plan.Event{}
	case a.Reason() == reason.PreparationFailed:
		return preparationFailed(d, a.Failed)
	}
	return plan.Event{
		Zone: d.Zone, Action: "EndDownscale",
		Note: fmt.Sprintf("the downscale from %d to %d has ended: %s", d.From, d.To, a.Reason().Sentence()),
	}
}

// Record implements plan.PartRecorder.
func (EndDownscale) Record(part plan.Part) plan.Part {
	next := PartOf(part)
	next.Downscale = Downscale{}
	return next
}

// String implements Action: end zone-a from 5 to 3 admitted because DownscaleCompleted.
func (a EndDownscale) String() string {
	return fmt.Sprintf("end %s because %s", a.Downscale, a.Reason())
}
