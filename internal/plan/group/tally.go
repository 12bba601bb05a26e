package group

import (
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// tallies count the pods that are down and cause an objection, by its code.
var tallies = map[reason.Code]func(*groupState, eviction, plan.Refusal) plan.Tally{
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
func (b *groupState) tally(e eviction, because plan.Refusal) plan.Tally {
	if count, counts := tallies[because.Code]; counts {
		return count(b, e, because)
	}
	return plan.Tally{}
}

func tallyOfPartition(b *groupState, e eviction, _ plan.Refusal) plan.Tally {
	return b.partitionDown(e).Tally
}

// tallyElsewhere counts in the zone that is the cause. If no pod is down there, it
// counts in the first other zone that has pods down.
func tallyElsewhere(b *groupState, e eviction, because plan.Refusal) plan.Tally {
	if z, exists := b.zoneState(because.Zone); exists && z.Name != e.zone.Name && z.down > 0 {
		return z.tally()
	}
	for _, z := range b.zoneStates {
		if z.Name != e.zone.Name && z.down > 0 {
			return z.tally()
		}
	}
	return plan.Tally{}
}

func tallyHere(_ *groupState, e eviction, _ plan.Refusal) plan.Tally { return e.zone.tally() }

func (z *zoneState) tally() plan.Tally {
	return plan.Tally{NotReady: z.down - z.missing + z.surplusDown, Unknown: z.missing, In: z.Name}
}
