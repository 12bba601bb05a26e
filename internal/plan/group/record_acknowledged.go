package group

import (
	"fmt"
	"maps"
	"strings"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// RecordAcknowledged records in the hold which pods of a zone acknowledged a delayed downscale. So the next leader
// does not have to wait for them again.
type RecordAcknowledged struct {
	Zone         string
	Acknowledged DelayRecord
}

// Reason implements Action.
func (RecordAcknowledged) Reason() reason.Code { return reason.DownscaleDelayed }

// Effect implements Action. It is written whichever operation has the hold, and without a live read: the
// compare-and-swap fails if the Lease has changed.
func (a RecordAcknowledged) Effect() plan.Effect {
	return plan.Effect{Zone: a.Zone, Order: plan.WithLease}
}

// Event implements Action.
func (RecordAcknowledged) Event() plan.Event { return plan.Event{} }

// Record implements plan.PartRecorder.
func (a RecordAcknowledged) Record(part plan.Part) plan.Part {
	next := PartOf(part)
	next.Acknowledged = maps.Clone(next.Acknowledged)
	if a.Acknowledged.None() {
		delete(next.Acknowledged, a.Zone)
		return next
	}
	if next.Acknowledged == nil {
		next.Acknowledged = map[string]DelayRecord{}
	}
	next.Acknowledged[a.Zone] = a.Acknowledged
	return next
}

// String implements Action: record acknowledged zone-a 3 to 5 since 2026-01-05T12:00:00Z.
func (a RecordAcknowledged) String() string {
	var parts []string
	for _, ordinalRange := range a.Acknowledged.OrdinalRanges {
		parts = append(parts, ordinalRange.String())
	}
	if a.Acknowledged.Over {
		parts = append(parts, "who are to stay")
	}
	return strings.TrimSpace(fmt.Sprintf("record acknowledged %s %s", a.Zone, strings.Join(parts, ", ")))
}
