package hold

import (
	"github.com/lockstep-dev/lockstep/internal/plan"
)

// CoverGrant decides how a granted eviction is covered: a hold is taken only after
// a live look, and so is one that another process has written since this one
// looked last; else the caches suffice. The record may be written only in place of
// the very one that the snapshot shows.
func CoverGrant(s plan.Snapshot, note plan.Intent) Decision {
	holder := holderOfGrant(s.Hold, note)
	if !s.Live && (s.Hold.Holder != holder || !s.Hold.Own) {
		return Decision{Verdict: Look}
	}
	record := settle(s, holder, nil, s.Hold.Decrease)
	record.Intents = append(without(record.Intents, note.Pod), note)
	record.Waiting = served(record.Waiting, note)
	return Decision{Verdict: Write, Record: record}
}

// holderOfGrant names the holder under which a pod is evicted: whatever has its
// zone already, or else its eviction.
func holderOfGrant(h plan.Hold, note plan.Intent) plan.Holder {
	wanted := note.Evicts()
	if note.Partition == "" && !h.Holder.Foreign() && h.Holder.Zone() == note.Zone {
		return h.Holder
	}
	return wanted
}

func without(intents []plan.Intent, pod string) []plan.Intent {
	var others []plan.Intent
	for _, i := range intents {
		if i.Pod != pod {
			others = append(others, i)
		}
	}
	return others
}

// served takes the place of whoever got his turn off the queue.
func served(queue []plan.Waiting, note plan.Intent) []plan.Waiting {
	var next []plan.Waiting
	for _, w := range queue {
		if w.Operation.For(w.Zone) != note.Evicts() {
			next = append(next, w)
		}
	}
	return next
}
