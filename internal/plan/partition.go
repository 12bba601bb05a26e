package plan

import (
	"fmt"
	"time"

	"github.com/lockstep-dev/lockstep/internal/reason"
)

// mostMissing bounds how many pods that do not exist are looked for one by one. A
// zone that misses more counts as if one of them belonged to every partition.
const mostMissing = 1000

// partitionsHeld lets pass what joins evictions by partitions, and what could take
// over from an operation whose zone is whole.
func partitionsHeld(b *board, _ eviction) Refusal {
	h := b.Hold
	if h.Unreadable != "" {
		return Refusal{Code: reason.HoldUnreadable}
	}
	if d := h.Decrease; !d.None() && !b.ended {
		return b.held(d.Zone, "")
	}
	for _, intent := range h.Intents {
		if _, counts := b.counting[intent.Pod]; counts && intent.Partition == "" {
			return b.held(intent.Zone, intent.Pod)
		}
	}
	switch {
	case h.Holder.Free(), h.Holder == Eviction.For(Partitions):
		return Refusal{}
	case h.Holder.Foreign():
		return b.foreignHold()
	case b.settled(h.Holder.Zone()):
		return Refusal{}
	}
	return b.held(h.Holder.Zone(), "")
}

// partitionNotWhole objects where the limit of the budget is reached by the pods of
// the same partition in other zones.
func partitionNotWhole(b *board, e eviction) Refusal {
	t, until := b.partitionDown(e)
	switch {
	case t.total() < e.limit:
		return Refusal{}
	case !until.IsZero():
		return Refusal{Code: reason.PartitionTooFresh, Detail: t.In, Until: until}
	}
	return Refusal{Code: reason.PartitionNotWhole, Detail: t.In}
}

// partitionTooFresh objects to the replacement of a pod while those of its partition
// in other zones have not been Ready for as long as its budget asks for.
func partitionTooFresh(b *board, d disruption) Refusal {
	budget, covered, because := b.disruptionBudget(d.pod.Pod)
	if !covered || !because.None() || budget.Delay <= 0 {
		return Refusal{}
	}
	e := eviction{zone: d.zone, pod: d.pod.Pod, budget: budget, limit: max(1, budget.Limit)}
	partition, known := budget.PartitionOf(d.pod.Name)
	if e.partition = partition; !known {
		return Refusal{}
	}
	return partitionNotWhole(b, e)
}

// partitionDown counts the pods of a partition that are down in other zones. The time
// is when the last of those is there that only have to be Ready for longer, where no
// other is down.
func (b *board) partitionDown(e eviction) (Tally, time.Time) {
	if e.elsewhere != nil {
		return e.elsewhere.Tally, e.elsewhere.until
	}
	t := Tally{In: "partition " + e.partition}
	var until time.Time
	othersDown := false
	for _, z := range b.standings {
		if z.Name == e.zone.Name {
			continue
		}
		there := 0
		for _, pod := range z.Pods {
			if in, _ := e.budget.PartitionOf(pod.Name); in != e.partition {
				continue
			}
			there++
			fresh, down := b.inPartition(z, pod, e.budget.Delay)
			if !fresh.IsZero() || down {
				t.NotReady++
			}
			othersDown = othersDown || down
			if fresh.After(until) {
				until = fresh
			}
		}
		missing := z.missingOf(e)
		if there+missing == 0 {
			missing = 1 // a partition that a zone does not have is missed there
		}
		t.Unknown += missing
	}
	if othersDown || t.Unknown > 0 {
		return t, time.Time{}
	}
	return t, until
}

// inPartition tells whether a pod of a partition is down or, if it only has to be
// Ready for longer, until when.
func (b *board) inPartition(z standing, pod Pod, delay time.Duration) (fresh time.Time, down bool) {
	intent, noted := b.counting[pod.Name]
	if !z.Owns(pod.Ordinal) || !b.unavailable(z.Zone, pod, intent, noted).None() {
		return time.Time{}, true
	}
	if stable := pod.StableAt(delay); delay > 0 && b.Now.Before(stable) {
		return stable, false
	}
	return time.Time{}, false
}

// missingOf counts the pods of a partition that the spec asks for and that do not
// exist.
func (z standing) missingOf(e eviction) int {
	if z.missing == 0 {
		return 0
	}
	exists := make(map[int]bool, len(z.Pods))
	for _, pod := range z.Pods {
		exists[pod.Ordinal] = true
	}
	count, looked := 0, 0
	for ordinal := z.Start; ordinal-z.Start < z.Replicas; ordinal++ {
		if exists[ordinal] {
			continue
		}
		if looked++; looked > mostMissing {
			return count + 1
		}
		if in, _ := e.budget.PartitionOf(PodName(z.Name, ordinal)); in == e.partition {
			count++
		}
	}
	return count
}

// String returns a budget as its limit reads: 2 per zone, 30% per zone, 1 per partition.
func (b DisruptionBudget) String() string {
	switch {
	case b.ByPartition():
		return fmt.Sprintf("%d per partition", b.Limit)
	case b.Percentage > 0:
		return fmt.Sprintf("%d%% per zone", b.Percentage)
	}
	return fmt.Sprintf("%d per zone", b.Limit)
}
