package group

import (
	"fmt"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// Tally counts the pods that are down, in the words of the predecessor.
type Tally struct {
	NotReady int
	Unknown  int    // missing
	In       string // the zone, or "partition 7"
}

// total returns how many pods are down.
func (t Tally) total() int { return t.NotReady + t.Unknown }

// String returns the tally in the words of the predecessor: 1 pod not ready, 2 pods
// unknown in ingester-zone-b. If no pod is down, it is empty.
func (t Tally) String() string {
	text := podCount(t.NotReady, "not ready")
	if t.NotReady > 0 && t.Unknown > 0 {
		text += ", "
	}
	text += podCount(t.Unknown, "unknown")
	if text == "" {
		return ""
	}
	return text + " in " + t.In
}

func podCount(n int, how string) string {
	switch n {
	case 0:
		return ""
	case 1:
		return "1 pod " + how
	}
	return fmt.Sprintf("%d pods %s", n, how)
}

// tallies count the pods that are down and cause an objection, by its code.
var tallies = map[reason.Code]func(*groupState, eviction, plan.Refusal) Tally{
	reason.PartitionUnavailable:  tallyOfPartition,
	reason.PartitionDelayPending: tallyOfPartition,
	reason.GroupHeld:             tallyElsewhere,
	reason.StaleHold:             tallyElsewhere,
	reason.OtherZoneUnavailable:  tallyElsewhere,
	reason.PodMissing:            tallyHere,
	reason.PodStarting:           tallyHere,
	reason.PodFailing:            tallyHere,
	reason.PodTerminating:        tallyHere,
	reason.PodNotYetAvailable:    tallyHere,
	reason.PodDisruptionPending:  tallyHere,
	reason.SurplusPods:           tallyHere,
	reason.EvictionInProgress:    tallyHere,
}

// tally counts the pods that are down, if an eviction is refused because of them.
func (b *groupState) tally(e eviction, because plan.Refusal) Tally {
	if count, counts := tallies[because.Code]; counts {
		return count(b, e, because)
	}
	return Tally{}
}

func tallyOfPartition(b *groupState, e eviction, _ plan.Refusal) Tally {
	return b.partitionDown(e).Tally
}

// tallyElsewhere counts in the zone that is the cause. If no pod is down there, it
// counts in the first other zone that has pods down.
func tallyElsewhere(b *groupState, e eviction, because plan.Refusal) Tally {
	if z, exists := b.zoneState(because.Zone); exists && z.Name != e.zone.Name && z.down > 0 {
		return z.tally()
	}
	for _, z := range b.zoneStates {
		if z.Name != e.zone.Name && z.down > 0 {
			return z.tally()
		}
	}
	return Tally{}
}

func tallyHere(_ *groupState, e eviction, _ plan.Refusal) Tally { return e.zone.tally() }

func (z *zoneState) tally() Tally {
	return Tally{NotReady: z.down - z.missing + z.surplusDown, Unknown: z.missing, In: z.Name}
}
