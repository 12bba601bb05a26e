package group

import (
	"slices"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// mostMissing limits how many missing pods are matched one by one. A zone that misses more
// counts as if one of them belonged to every partition.
const mostMissing = 1000

// partitionHeldElsewhere lets an eviction pass if it joins evictions by partition, or if
// it could take over the hold from an operation whose zone is available.
func partitionHeldElsewhere(b *groupState, e eviction) plan.Refusal {
	h := b.Hold
	if h.Unreadable != "" {
		return plan.Refusal{Code: reason.HoldUnreadable}
	}
	if stands := b.downscaleElsewhere(""); !stands.None() {
		return stands
	}
	for _, intent := range h.Intents {
		if _, counts := b.activeIntents[intent.Pod]; counts && intent.Partition == "" {
			return b.refusedByHolder(intent.Zone, intent.Pod)
		}
	}
	switch {
	case h.Holder.Free(), h.Holder == plan.EvictionOperation.For(plan.Partitions):
		return plan.Refusal{}
	case h.Holder.Foreign():
		return b.foreignHold()
	case b.availableOrSettled(h.Holder.Zone()), e.inTheWay() && b.waitsForOrphan(h.Holder.Zone()):
		return plan.Refusal{}
	}
	return b.refusedByHolder(h.Holder.Zone(), "")
}

// partitionUnavailable objects if pods of the same partition in other zones have reached the
// limit of the budget.
func partitionUnavailable(b *groupState, e eviction) plan.Refusal {
	if objection := b.formerZonesSettled(e.inTheWay()); !objection.None() {
		return objection
	}
	t := b.partitionDown(e)
	down := t.Total()
	if e.inTheWay() {
		down -= b.standInsOfPartition(e)
	}
	switch {
	case down < e.limit:
		return plan.Refusal{}
	case down == t.fresh:
		return plan.Refusal{Code: reason.PartitionDelayPending, Detail: t.In, Until: t.until}
	}
	return plan.Refusal{Code: reason.PartitionUnavailable, Detail: t.In}
}

// onlyZoneSpent objects in a group of one zone like a budget that counts by zone, because
// no other zone has a partition that could be unavailable.
func onlyZoneSpent(b *groupState, e eviction) plan.Refusal {
	if len(b.zoneStates) > 1 {
		return plan.Refusal{}
	}
	return forEviction(budgetSpent)(b, e)
}

// partitionTooFresh objects to the replacement of a pod while pods of its partition in
// other zones have not been Ready for the delay of its budget. It does not wait for a
// partition that another zone lacks: the desired pods of other zones exist, otherwise no
// pod would be deleted.
func partitionTooFresh(b *groupState, d disruption) plan.Refusal {
	for _, i := range b.covers.of(d.pod.Pod) {
		budget := b.Budgets[i]
		partition, known := budget.PartitionOf(d.pod.Name)
		if !known || budget.Delay <= 0 {
			continue
		}
		t := b.partitionDown(eviction{zone: d.zone, budget: budget, partition: partition})
		if t.fresh >= max(1, budget.Limit) {
			return plan.Refusal{Code: reason.PartitionDelayPending, Detail: t.In, Until: t.until}
		}
	}
	return plan.Refusal{}
}

// partitionDown counts the pods of a partition that are down in other zones.
func (b *groupState) partitionDown(e eviction) *partitionTally {
	if e.elsewhere != nil {
		return e.elsewhere
	}
	own := slices.IndexFunc(b.zoneStates, func(z *zoneState) bool { return z.Name == e.zone.Name })
	parts := b.partitionsOf(e.budget)[e.partition]
	if parts == nil { // no zone has or misses the partition: it is that of an orphan
		parts = make([]partitionInZone, len(b.zoneStates))
	}
	return elsewhere(e.partition, parts, own)
}

// inPartition reports whether a pod of a partition is down. If the pod only has to be
// Ready for longer, it returns until when.
func (b *groupState) inPartition(z *zoneState, pod plan.Pod, delay time.Duration) (fresh time.Time, down bool) {
	if !z.Owns(pod.Ordinal) || b.isDown(z, pod) {
		return time.Time{}, true
	}
	if stable := pod.StableAt(delay); delay > 0 && b.Now.Before(stable) {
		return stable, false
	}
	return time.Time{}, false
}
