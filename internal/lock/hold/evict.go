package hold

import (
	"slices"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
)

// DecideGrant returns what the Lease needs before an eviction is granted. A live read is required before a
// hold is taken, if another process has written the Lease since the last live read, and if the group waits for
// a zone that left it: other groups may disrupt the pods of that zone. Otherwise the caches suffice. The record may only replace the Lease that the snapshot shows.
func DecideGrant(s group.Snapshot, note plan.Intent) Decision {
	holder := holderOfGrant(s.Hold, note)
	if !s.Live && (s.Hold.Holder != holder || !s.Hold.Own || slices.ContainsFunc(s.Left, isCovered)) {
		return Decision{Need: Look}
	}
	others := slices.DeleteFunc(intents(&s, nil), func(i plan.Intent) bool { return i.Pod == note.Pod })
	record := nextRecord(&s, holder, append(others, note), s.Hold.Downscale)
	record.Waiting = slices.DeleteFunc(record.Waiting, func(w plan.Waiting) bool { return w.Operation.For(w.Zone) == note.Evicts() })
	return Decision{Need: Write, Record: record}
}

func isCovered(z group.LeftZone) bool { return !z.Uncovered }

// holderOfGrant returns the holder under which a pod is evicted: the operation that already has the hold for
// its zone, or else the eviction.
func holderOfGrant(h group.Hold, note plan.Intent) plan.Holder {
	wanted := note.Evicts()
	if note.Partition == "" && !h.Holder.Foreign() && h.Holder.Zone() == note.Zone {
		return h.Holder
	}
	return wanted
}
