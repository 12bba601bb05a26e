package hold

import (
	"slices"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
)

const (
	// ReconcileAgainAfter is the interval until the next reconcile if the caches did not show what was expected. An
	// event usually comes earlier.
	ReconcileAgainAfter = time.Second
	// StaleCachesAfter is how long caches must be behind before it is reported.
	StaleCachesAfter = 5 * time.Second
	// ReportAfter is the interval at which a wait is reported again if no event occurs.
	ReportAfter = time.Minute
)

// NextReconcile returns after how long to reconcile a workload again without an event: when a wait ends, the hold must be
// renewed or lapses, the kind requires it, or a wait must be reported again. The second result is false if the
// workload waits only for events.
//
// The duration is relative to the time of the plan, so that a clock change in between has no effect. A time
// that had already passed counts as RetryAfter, so that reconciles do not repeat without a pause.
func NextReconcile(w plan.Workload, steps []plan.Action, d Decision) (time.Duration, bool) {
	s, record := w.View(), w.Record()
	if d.Need == Write {
		record = d.Record
	}
	var intervals []time.Duration
	for _, at := range append(w.Due(), plan.Wake(steps), RenewAt(record.Hold), LapsesAt(record, s.Now)) {
		switch {
		case at.IsZero():
		case !at.After(s.Now):
			intervals = append(intervals, ReconcileAgainAfter)
		default:
			intervals = append(intervals, at.Sub(s.Now))
		}
	}
	if plan.Has[plan.Wait](steps) {
		intervals = append(intervals, ReportAfter)
	}
	if len(intervals) == 0 {
		return 0, false
	}
	return slices.Min(intervals), true
}

// LiveReadNeedsLease reports whether a live read of a workload must include the Lease. It must if no Lease is known, and
// if the kind records something as in progress, because it may call pods without a prior write. Otherwise the
// compare-and-swap detects a change of the Lease (ADR 13).
func LiveReadNeedsLease(r plan.Record) bool { return !r.Exists || !r.InProgress().Free() }
