package hold

import (
	"slices"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
)

const (
	// LookAgain is after how long a group is looked at without an event, when the
	// caches did not show what was expected. An event usually comes first.
	LookAgain = time.Second
	// WaitsAgain is how often people are told what a group waits for, where no
	// event comes: that it lasts may be news.
	WaitsAgain = time.Minute
)

// NextLook returns after how long to look at a group again without an event: when a wait
// ends by time, when the hold has to be renewed or lapses, when pods are told something
// again, when a contest over replicas is over, or to tell that a wait lasts. The second result is false where there is nothing
// to wait for but events.
//
// It is counted from when the plan was made: a clock that jumps in between changes
// nothing. A time that was over then, so that the plan did not end it, does not make a
// loop that never rests.
func NextLook(s plan.Snapshot, steps []plan.Action, d Decision) (time.Duration, bool) {
	record := s.Hold
	if d.Need == Write {
		record = d.Record
	}
	var looks []time.Duration
	for _, at := range []time.Time{plan.Wake(steps), RenewAt(record), plan.NextMessage(s), plan.ContestEnds(s), LapsesAt(record, s.Now)} {
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

// LookNeedsLease reports whether whoever looks at a group live reads the Lease as well:
// where none is known, and where it notes a downscale, whose pods are told things without
// a write before. Else its compare-and-swap says whether what is known of it is still so
// (ADR 13).
func LookNeedsLease(h plan.Hold) bool { return !h.Exists || !h.Downscale.None() }
