package group

import (
	"maps"
	"slices"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
)

// partitionIndex counts all partitions that a budget finds in a group, zone by zone. Each
// name is matched once.
type partitionIndex map[string][]partitionInZone

// partitionInZone is one partition in one zone.
type partitionInZone struct {
	there   int
	down    int       // existing pods that are down, surplus pods included
	fresh   int       // existing pods that only have to be Ready for longer
	until   time.Time // when the last of these has been Ready for long enough
	missing int       // pods that the spec requires and that do not exist
	gone    int       // surplus pods with an intent that do not exist
	owned   int       // existing pods that the spec requires
	lost    int       // owned pods that are down
	covered []plan.Pod
}

// partitionTally counts the pods of a partition that are down in other zones.
type partitionTally struct {
	plan.Tally
	fresh int       // of NotReady, the pods that only have to be Ready for longer
	until time.Time // when the last of these has been Ready for long enough
}

// partitionsOf returns all partitions that a budget finds. It counts them at the first
// call, so that each name is matched once, not once for each evaluated pod. Callers must
// not change the result.
func (b *groupState) partitionsOf(budget DisruptionBudget) partitionIndex {
	index, counted := b.partitions[budget.Name]
	if !counted {
		if b.partitions == nil {
			b.partitions = map[string]partitionIndex{}
		}
		index = b.countPartitions(budget)
		b.partitions[budget.Name] = index
	}
	return index
}

// expectEvictions counts all partitions that evictions may depend on, so that goroutines
// may evaluate evictions concurrently.
func (b *groupState) expectEvictions() {
	if !slices.ContainsFunc(b.Budgets, DisruptionBudget.ByPartition) {
		return
	}
	for _, z := range b.zoneStates {
		b.countPartitionsOf(z.Pods)
		b.countPartitionsOf(z.Orphans)
	}
}

func (b *groupState) countPartitionsOf(pods []plan.Pod) {
	for _, pod := range pods {
		for _, i := range b.covers.of(pod) {
			if b.Budgets[i].ByPartition() {
				b.partitionsOf(b.Budgets[i])
			}
		}
	}
}

func (b *groupState) countPartitions(budget DisruptionBudget) partitionIndex {
	index := partitionIndex{}
	for zone, z := range b.zoneStates {
		for _, pod := range z.Pods {
			if partition, known := budget.PartitionOf(pod.Name); known {
				b.countPartition(&index.of(partition, len(b.zoneStates))[zone], z, pod, budget.Delay)
			}
		}
	}
	for zone, z := range b.zoneStates {
		index.countMissing(z, zone, budget, len(b.zoneStates))
		for _, name := range b.absentSurplus(z.Zone) {
			if partition, known := budget.PartitionOf(name); known {
				index.of(partition, len(b.zoneStates))[zone].gone++
			}
		}
	}
	return index
}

// indexCovered counts all partitions and adds the pods that the budget covers.
func (b *groupState) indexCovered(r *reach) partitionIndex {
	index := b.countPartitions(r.budget)
	for zone := range b.zoneStates {
		for _, pod := range r.pods[zone] {
			if partition, known := r.budget.PartitionOf(pod.Name); known {
				in := &index[partition][zone]
				in.covered = append(in.covered, pod)
			}
		}
	}
	return index
}

func (index partitionIndex) of(partition string, zones int) []partitionInZone {
	if index[partition] == nil {
		index[partition] = make([]partitionInZone, zones)
	}
	return index[partition]
}

func (b *groupState) countPartition(in *partitionInZone, z *zoneState, pod plan.Pod, delay time.Duration) {
	in.there++
	fresh, down := b.inPartition(z, pod, delay)
	switch {
	case down:
		in.down++
	case !fresh.IsZero():
		in.fresh++
		if fresh.After(in.until) {
			in.until = fresh
		}
	}
	if z.Owns(pod.Ordinal) {
		in.owned++
		if down {
			in.lost++
		}
	}
}

// countMissing counts missing pods by partition. If too many are missing to match each
// name, one more counts in every partition.
func (index partitionIndex) countMissing(z *zoneState, zone int, budget DisruptionBudget, zones int) {
	for i, ordinal := range z.absent() {
		if i == mostMissing {
			for _, parts := range index {
				parts[zone].missing++
			}
			return
		}
		if partition, known := budget.PartitionOf(plan.PodName(z.Name, ordinal)); known {
			index.of(partition, zones)[zone].missing++
		}
	}
}

// absent returns the ordinals that the spec requires and that do not exist. It stops
// after mostMissing+1 of them.
func (z *zoneState) absent() []int {
	if z.missing == 0 {
		return nil
	}
	exists := make(map[int]bool, len(z.Pods))
	for _, pod := range z.Pods {
		exists[pod.Ordinal] = true
	}
	var absent []int
	for ordinal := z.Start; ordinal-z.Start < z.Replicas && len(absent) <= mostMissing; ordinal++ {
		if !exists[ordinal] {
			absent = append(absent, ordinal)
		}
	}
	return absent
}

// elsewhere sums up the pods of a partition that are down in all zones but one.
func elsewhere(partition string, parts []partitionInZone, own int) *partitionTally {
	t := &partitionTally{Tally: plan.Tally{In: "partition " + partition}}
	for zone, in := range parts {
		if zone == own {
			continue
		}
		t.NotReady += in.down + in.fresh
		t.Unknown += in.missing + in.gone
		if in.there+in.missing+in.gone == 0 {
			t.Unknown++ // a zone without the partition misses it
		}
		t.fresh += in.fresh
		if in.until.After(t.until) {
			t.until = in.until
		}
	}
	return t
}

// partitionParts returns the partitions of the pods that the budget covers.
func (b *groupState) partitionParts(index partitionIndex) []BudgetPart {
	var parts []BudgetPart
	for _, partition := range slices.SortedFunc(maps.Keys(index), plan.CompareNatural) {
		part := BudgetPart{Name: partition}
		covered := 0
		for _, in := range index[partition] {
			part.Pods += in.owned + in.missing
			part.Unavailable += in.lost + in.missing
			covered += len(in.covered)
		}
		if covered == 0 {
			continue
		}
		part.Allowed = b.grantsInPartition(index, partition)
		parts = append(parts, part)
	}
	return parts
}

// grantsInPartition counts how many pods of a partition could be evicted one after the
// other, across zones. It uses up the index.
func (b *groupState) grantsInPartition(index partitionIndex, partition string) (n int) {
	recorded := b.intentCount
	defer func() { b.intentCount = recorded }()
	for zone := range index[partition] {
		in, z := &index[partition][zone], *b.zoneStates[zone]
		for _, pod := range in.covered {
			e := b.eviction(&z, pod)
			e.elsewhere = elsewhere(partition, index[partition], zone)
			if granted, _ := b.grant(e); granted {
				n++
				b.countAsDown(in, e)
				z.countAsDown(e)
			}
		}
	}
	return n
}

// countAsDown counts a pod that is about to be evicted as down.
func (b *groupState) countAsDown(in *partitionInZone, e eviction) {
	fresh, down := b.inPartition(e.zone, e.pod, e.budget.Delay)
	if !fresh.IsZero() {
		in.fresh--
	}
	if !down {
		in.down++
	}
}
