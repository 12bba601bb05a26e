package hold

import (
	"slices"

	"github.com/lockstep-dev/lockstep/internal/plan"
)

// DecideGrant says what the Lease must say before an eviction is granted. A hold is taken
// only after a live look, and so is one that another process has written since this one
// looked last; else the caches suffice. The record may be written only in place of the
// very one that the snapshot shows.
func DecideGrant(s plan.Snapshot, note plan.Intent) Decision {
	holder := holderOfGrant(s.Hold, note)
	if !s.Live && (s.Hold.Holder != holder || !s.Hold.Own) {
		return Decision{Need: Look}
	}
	others := slices.DeleteFunc(intents(&s, nil), func(i plan.Intent) bool { return i.Pod == note.Pod })
	record := nextRecord(&s, holder, append(others, note), s.Hold.Downscale)
	record.Waiting = slices.DeleteFunc(record.Waiting, func(w plan.Waiting) bool { return w.Operation.For(w.Zone) == note.Evicts() })
	return Decision{Need: Write, Record: record}
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
