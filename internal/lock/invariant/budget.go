package invariant

import (
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
)

// unavailableLimit returns rollout-max-unavailable of a zone as a number of pods, which is at least one.
func unavailableLimit(z *zone) int {
	if percent := z.MaxUnavailable.Percent; percent > 0 {
		return partOf(z, percent)
	}
	return max(1, z.MaxUnavailable.Pods)
}

// limitOf returns how many pods of a zone an eviction budget allows to be down.
func limitOf(b group.DisruptionBudget, z *zone) int {
	if b.Percentage > 0 {
		return partOf(z, b.Percentage)
	}
	return b.Limit
}

// partOf returns a percentage of a zone's replicas, rounded down, but at least one.
func partOf(z *zone, percent int) int {
	return max(1, int(int64(z.Replicas)*int64(percent)/100))
}

// leastLimit returns the lowest limit of the eviction budgets that cover the named pod of a zone and allow
// any eviction. If budgets cannot be read, it returns one, because an unread budget may allow only one pod.
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

// budgetsOf returns the eviction budgets that cover a pod.
func (v *view) budgetsOf(p plan.Pod) []group.DisruptionBudget {
	if len(v.Budgets) == 0 {
		return nil
	}
	labels := p.Labels.Map()
	maps.Copy(labels, map[string]string{
		"statefulset.kubernetes.io/pod-name": p.Name, "apps.kubernetes.io/pod-index": strconv.Itoa(p.Ordinal), "controller-revision-hash": p.Revision,
	})
	var all []group.DisruptionBudget
	for _, b := range v.Budgets {
		if selects(b.Selector, labels) {
			all = append(all, b)
		}
	}
	return all
}

// selects reports whether labels match all requirements of a selector with the semantics of Kubernetes: a
// missing label matches NotIn.
func selects(selector group.Selector, labels map[string]string) bool {
	for _, r := range selector {
		value, exists := labels[r.Key]
		named := exists && slices.Contains(r.Values, value)
		met := false
		switch r.Demand {
		case group.LabelIn:
			met = named
		case group.LabelNotIn:
			met = !named
		case group.LabelExists:
			met = exists
		case group.LabelAbsent:
			met = !exists
		}
		if !met {
			return false
		}
	}
	return true
}

// partitionOf returns the partition in the name of a pod, or "" if the name has none.
func partitionOf(b group.DisruptionBudget, pod string) string {
	if caught := b.Partition.FindStringSubmatch(pod); b.Group >= 1 && b.Group < len(caught) {
		return caught[b.Group]
	}
	return ""
}

// downInPartition counts the pods of a partition, in all zones except that of the evicted pod, that are
// missing or have not been Ready for long enough. A recorded pod counts whatever the spec says. For an orphan
// in the way, other orphans count in place of missing pods.
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

// servedInPartition counts the missing pods of a partition in a zone whose names belong to orphans that have
// been up for long enough and have no intents. If too many pods are missing to check each of them, it returns
// zero.
func (v *view) servedInPartition(z *zone, b group.DisruptionBudget, partition string) int {
	if z.Replicas-len(z.Pods) > mostMissing {
		return 0
	}
	served, recorded := 0, v.recordedOf(z)
	for _, p := range z.Orphans {
		of := partitionOf(b, p.Name) == partition && z.asksFor(p.Ordinal)
		if of && isAvailable(p, max(z.MinReady, b.Delay), v.Now) && !slices.Contains(recorded, p.Ordinal) {
			served++
		}
	}
	return served
}

// downOfPartition is downInPartition for one zone. If the zone has no pod of the partition and its spec has
// none either, it returns one.
func (v *view) downOfPartition(z *zone, b group.DisruptionBudget, partition string) int {
	available, recorded := v.availableOf(z), v.recordedOf(z)
	down, members, exists := 0, 0, map[int]bool{}
	for _, p := range z.Pods {
		exists[p.Ordinal] = true
		if partitionOf(b, p.Name) != partition {
			continue
		}
		members++
		rested := b.Delay <= 0 || v.Now.Sub(p.ReadySince) >= b.Delay
		if !available[p.Ordinal] || slices.Contains(recorded, p.Ordinal) || !rested {
			down++
		}
	}
	for _, ordinal := range recorded {
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

// mostMissing limits how many missing pods of a zone are checked.
const mostMissing = 1000

// missingOfPartition counts the desired pods of a partition that a zone lacks. If too many pods are missing
// to check each of them, the rest counts as one.
func (z *zone) missingOfPartition(exists map[int]bool, b group.DisruptionBudget, partition string) int {
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
