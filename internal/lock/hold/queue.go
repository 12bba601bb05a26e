package hold

import (
	"slices"

	"github.com/lockstep-dev/lockstep/internal/plan"
)

// Enqueued returns the record with the operation that asks now in the queue, and whether the record must be
// written. An operation that asks again is written only every plan.AskAgain. A record that does not exist or
// is unreadable does not change.
func Enqueued(record plan.Record, asks plan.Waiting) (plan.Record, bool) {
	if !record.Exists || record.Unreadable != "" {
		return record, false
	}
	next := make([]plan.Waiting, 0, len(record.Waiting)+1)
	for _, w := range record.Waiting {
		same, waits := w.Operation == asks.Operation && w.Zone == asks.Zone, w.Counts(asks.LastSeen)
		switch {
		case same && waits && asks.LastSeen.Before(w.LastSeen.Add(plan.AskAgain)):
			return record, false
		case same && waits:
			asks.Since = w.Since
		case !same && waits:
			next = append(next, w)
		}
	}
	record.Waiting = append(next, asks)
	slices.SortStableFunc(record.Waiting, func(a, b plan.Waiting) int { return a.Since.Compare(b.Since) })
	return record, true
}

// withPlaces adds to a decision the places in the queue that the actions take.
func withPlaces(s *situation, steps []plan.Action, d Decision) Decision {
	for _, step := range steps {
		a, is := step.(plan.Enqueue)
		if !is {
			continue
		}
		switch d.Need {
		case Write:
			d.Record, _ = Enqueued(d.Record, a.Waiting)
		case Carry:
			if record, changes := Enqueued(s.Record, a.Waiting); changes {
				d = Decision{Need: Write, Record: record}
			}
		case ReadLive, Remove, Label:
		}
	}
	return d
}
