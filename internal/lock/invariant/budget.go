package invariant

import (
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/lockstep-dev/lockstep/internal/plan"
)

// unavailableLimit returns rollout-max-unavailable of a zone as a number of pods: at least
// one.
func unavailableLimit(z *zone) int {
	if percent := z.MaxUnavailable.Percent; percent > 0 {
		return partOf(z, percent)
	}
	return max(1, z.MaxUnavailable.Pods)
}

// limitOf returns how many pods of a zone a budget of evictions allows to be down.
func limitOf(b plan.DisruptionBudget, z *zone) int {
	if b.Percentage > 0 {
		return partOf(z, b.Percentage)
	}
	return b.Limit
}

// partOf returns a percentage of a zone's replicas, rounded down, and at least one.
func partOf(z *zone, percent int) int {
	return max(1, int(int64(z.Replicas)*int64(percent)/100))
}

// leastLimit returns how many pods of a zone may be down where the named one is rolled by
// the budgets of evictions that cover it and allow any eviction. Where budgets cannot be
// read one may cover it that allows one pod.
func (v *view) leastLimit(z *zone, pod string) int {
	if v.Unread {
		return 1
	}
	least := math.MaxInt
	if len(v.Budgets) == 0 {
		return least
	}
	for _, p := range z.Pods {
		if p.Name != pod {
			continue
		}
		for _, b := range v.budgetsOf(p) {
			if limit := limitOf(b, z); b.Invalid == "" && b.Partition == nil && limit > 0 {
				least = min(least, limit)
			}
		}
	}
	return least
}

// budgetsOf returns the budgets of evictions that cover a pod.
func (v *view) budgetsOf(p plan.Pod) []plan.DisruptionBudget {
	if len(v.Budgets) == 0 {
		return nil
	}
	labels := p.Labels.Map()
	maps.Copy(labels, map[string]string{
		"statefulset.kubernetes.io/pod-name": p.Name, "apps.kubernetes.io/pod-index": strconv.Itoa(p.Ordinal), "controller-revision-hash": p.Revision,
	})
	var all []plan.DisruptionBudget
	for _, b := range v.Budgets {
		if selects(b.Selector, labels) {
			all = append(all, b)
		}
	}
	return all
}

// selects reports whether labels meet all requirements of a selector, as Kubernetes reads
// it: a label that does not exist meets NotIn.
func selects(selector plan.Selector, labels map[string]string) bool {
	for _, r := range selector {
		value, exists := labels[r.Key]
		named := exists && slices.Contains(r.Values, value)
		met := false
		switch r.Demand {
		case plan.LabelIn:
			met = named
		case plan.LabelNotIn:
			met = !named
		case plan.LabelExists:
			met = exists
		case plan.LabelAbsent:
			met = !exists
		}
		if !met {
			return false
		}
	}
	return true
}

// partitionOf returns the partition in the name of a pod, or the empty text if the name
// has none.
func partitionOf(b plan.DisruptionBudget, pod string) string {
	if caught := b.Partition.FindStringSubmatch(pod); b.Group >= 1 && b.Group < len(caught) {
		return caught[b.Group]
	}
	return ""
}

// downInPartition counts the pods of a partition in all zones but that of the evicted pod that do not
// exist, or have not been Ready for long enough. A noted one counts whatever the spec asks for. For an
// orphan in the way, other orphans serve in the place of pods that do not exist.
func (v *view) downInPartition(a *allowed, partition string) int {
	down := 0
	for i := range v.zones {
		z := &v.zones[i]
		if z.Name == a.zone.Name {
			continue
		}
		down += v.downOfPartition(z, a.budget, partition)
		if a.inTheWay() {
			down -= v.servedInPartition(z, a.budget, partition)
		}
	}
	return down
}

// servedInPartition counts the pods of a partition that a zone misses while orphans with their names
// have been up for long enough and are not noted. If too many are missing to look at each, it counts none.
func (v *view) servedInPartition(z *zone, b plan.DisruptionBudget, partition string) int {
	if z.Replicas-len(z.Pods) > mostMissing {
		return 0
	}
	served, noted := 0, v.notedOf(z)
	for _, p := range z.Orphans {
		of := partitionOf(b, p.Name) == partition && z.asksFor(p.Ordinal)
		if of && isAvailable(p, max(z.MinReady, b.Delay), v.Now) && !slices.Contains(noted, p.Ordinal) {
			served++
		}
	}
	return served
}

// downOfPartition is downInPartition for one of the zones. If the zone has no pod of the
// partition and should have none, one counts.
func (v *view) downOfPartition(z *zone, b plan.DisruptionBudget, partition string) int {
	available, noted := v.availableOf(z), v.notedOf(z)
	down, members, exists := 0, 0, map[int]bool{}
	for _, p := range z.Pods {
		exists[p.Ordinal] = true
		if partitionOf(b, p.Name) != partition {
			continue
		}
		members++
		rested := b.Delay <= 0 || v.Now.Sub(p.ReadySince) >= b.Delay
		if !available[p.Ordinal] || slices.Contains(noted, p.Ordinal) || !rested {
			down++
		}
	}
	for _, ordinal := range noted {
		if !exists[ordinal] && !z.asksFor(ordinal) && partitionOf(b, plan.PodName(z.Name, ordinal)) == partition {
			exists[ordinal], members, down = true, members+1, down+1
		}
	}
	missing := z.missingOfPartition(exists, b, partition)
	if members+missing == 0 {
		missing = 1
	}
	return down + missing
}

// mostMissing is how many pods of a zone are looked at that do not exist.
const mostMissing = 1000

// missingOfPartition counts the pods of a partition that a zone should have and does not
// have. If there are too many to look at, the rest counts as one.
func (z *zone) missingOfPartition(exists map[int]bool, b plan.DisruptionBudget, partition string) int {
	missing, seen := 0, 0
	for ordinal := z.Start; ordinal < z.Start+z.Replicas; ordinal++ {
		if exists[ordinal] {
			continue
		}
		if seen++; seen > mostMissing {
			return missing + 1
		}
		if partitionOf(b, plan.PodName(z.Name, ordinal)) == partition {
			missing++
		}
	}
	return missing
}
