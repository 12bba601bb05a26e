package hold

import (
	"slices"

	"github.com/lockstep-dev/lockstep/internal/plan"
)

// DecideGrant returns what the Lease needs before an eviction is granted. A live read is required before a
// hold is taken, if another process has written the Lease since the last live read, and if other workloads may
// disrupt pods that this one waits for. Otherwise the caches suffice. The record may only replace the Lease that the
// workload was observed with.
func DecideGrant(w plan.Workload, granted plan.Intent) Decision {
	s := situationOf(w)
	holder := holderOfGrant(s.Hold, granted)
	if !s.Live && (s.Hold.Holder != holder || !s.Hold.Own || s.Shared) {
		return Decision{Need: ReadLive}
	}
	others := slices.DeleteFunc(intents(s, nil), func(i plan.Intent) bool { return i.Pod == granted.Pod })
	record := nextRecord(s, holder, append(others, granted), s.Part)
	record.Waiting = slices.DeleteFunc(record.Waiting, func(w plan.Waiting) bool { return w.Operation.For(w.Zone) == granted.Evicts() })
	return Decision{Need: Write, Record: record}
}

// holderOfGrant returns the holder under which a pod is evicted: the operation that already has the hold for
// its zone, or else the eviction.
func holderOfGrant(h plan.Hold, granted plan.Intent) plan.Holder {
	wanted := granted.Evicts()
	if granted.Partition == "" && !h.Holder.Foreign() && h.Holder.Zone() == granted.Zone {
		return h.Holder
	}
	return wanted
}
