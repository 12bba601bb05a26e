package hold

import (
	"slices"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
)

const (
	// LookAgain is the interval until the next reconcile if the caches did not show what was expected. An
	// event usually comes earlier.
	LookAgain = time.Second
	// WaitsAgain is the interval at which a wait is reported again if no event occurs.
	WaitsAgain = time.Minute
)

// NextLook returns after how long to reconcile a group again without an event: when a wait ends, the hold
// must be renewed or lapses, pods must be notified again, a contest over replicas ends, or a wait must be
// reported again. The second result is false if the group waits only for events.
//
// The duration is relative to the time of the plan, so that a clock change in between has no effect. A time
// that had already passed counts as LookAgain, so that reconciles do not repeat without a pause.
func NextLook(s group.Snapshot, steps []plan.Action, d Decision) (time.Duration, bool) {
	record := s.Hold
	if d.Need == Write {
		record = d.Record
	}
	var looks []time.Duration
	for _, at := range []time.Time{plan.Wake(steps), RenewAt(record), group.NextMessage(s), group.ContestEnds(s), LapsesAt(record, s.Now)} {
		switch {
		case at.IsZero():
		case !at.After(s.Now):
			looks = append(looks, LookAgain)
		default:
			looks = append(looks, at.Sub(s.Now))
		}
	}
	if plan.Has[plan.Wait](steps) {
		looks = append(looks, WaitsAgain)
	}
	if len(looks) == 0 {
		return 0, false
	}
	return slices.Min(looks), true
}

// LookNeedsLease reports whether a live read of a group must include the Lease. It must if no Lease is known,
// and if the hold records a downscale, because its pods are notified without a prior write. Otherwise the
// compare-and-swap detects a change of the Lease (ADR 13).
func LookNeedsLease(h group.Hold) bool { return !h.Exists || !h.Downscale.None() }
