package group

import (
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// orphan returns the orphan of that name.
func (z *Zone) orphan(name string) (plan.Pod, bool) {
	for i := range z.Orphans {
		if z.Orphans[i].Name == name {
			return z.Orphans[i], true
		}
	}
	return plan.Pod{}, false
}

// podOrOrphan returns the pod or the orphan of that name.
func (z *Zone) podOrOrphan(name string) (plan.Pod, bool) {
	if p, ok := z.pod(name); ok {
		return p, true
	}
	return z.orphan(name)
}

// inTheWay returns why a missing pod is not created, if an orphan is the reason.
func (z *Zone) inTheWay(pod string) string {
	if _, exists := z.orphan(pod); exists {
		return "an orphan has its name"
	}
	return ""
}

// lowerOrphanFirst objects to the eviction of an orphan in the way while another orphan in the way has
// a lower ordinal and is not about to leave. An orphan is in the way if it has the name of a pod that
// the StatefulSet requires. A StatefulSet creates its pods in order and stops at the first name that is
// taken, whatever its podManagementPolicy is. So it would create no pod in the place of the higher
// orphan, the zone would lack that pod, and the eviction of the lower orphan would always be refused.
// An orphan that is down may be evicted before a lower one: it counts as down whether it exists or not.
func lowerOrphanFirst(b *groupState, e eviction) plan.Refusal {
	if !e.inTheWay() || !e.pod.Up() {
		return plan.Refusal{}
	}
	if lowest, exists := b.lowestInTheWay(e.zone.Zone); exists && lowest.Ordinal < e.pod.Ordinal {
		return plan.Refusal{Code: reason.PodMissing, Pod: lowest.Name, Detail: "an orphan has its name, and the StatefulSet creates pods in order: evict this orphan first"}
	}
	return plan.Refusal{}
}

// lowestInTheWay returns the orphan in the way with the lowest ordinal. It skips orphans that have an
// intent or are terminating.
func (b *groupState) lowestInTheWay(z *Zone) (lowest plan.Pod, exists bool) {
	for _, pod := range z.Orphans {
		_, recorded := b.activeIntents[pod.Name]
		if !z.Owns(pod.Ordinal) || recorded || pod.Phase == plan.Terminating {
			continue
		}
		if !exists || pod.Ordinal < lowest.Ordinal {
			lowest, exists = pod, true
		}
	}
	return lowest, exists
}

// waitsForOrphan reports whether a zone is unavailable only because of its orphans.
func (b *groupState) waitsForOrphan(zone string) bool {
	z, exists := b.zoneState(zone)
	return exists && b.servedByOrphans(z)
}

// servedByOrphans reports whether every pod of a zone that is down is missing because an available
// orphan has its name. Such a zone does not block the eviction of an orphan in the way in another zone.
// If each zone waited for the orphans of another, no orphan would ever be evicted. The guards before it object to a
// downscale of the zone.
func (b *groupState) servedByOrphans(z *zoneState) bool {
	return z.down == b.standIns(z.Zone, z.MinReady) &&
		firstOf(lifecycle(z.Zone), z.surplus, b.leftover(z.Zone)).None()
}

// leftToOrphans reports whether a zone that left the group has a StatefulSet and is unavailable only
// because of its orphans. If two groups swap zones, each may wait for the orphans of the other.
func (b *groupState) leftToOrphans(z *FormerZone) bool {
	return z.Exists && b.servedByOrphans(b.zoneStateOf(&z.Zone))
}

// standIns counts the pods of a zone that are missing because orphans that have been Ready for minReady
// have their names. An orphan with an intent is about to leave and does not count.
func (b *groupState) standIns(z *Zone, minReady time.Duration) int {
	count := 0
	for _, pod := range z.Orphans {
		if b.standsIn(z, pod, minReady) {
			count++
		}
	}
	return count
}

// withStandIns returns a zone in which a Ready orphan without an intent counts as the missing pod of
// its name.
func (b *groupState) withStandIns(z zoneState) zoneState {
	z.down -= b.standIns(z.Zone, 0)
	if z.culprit.Code == reason.PodMissing {
		z.culprit = firstOf(b.firstUnserved(z), z.surplus, z.culprit)
	}
	return z
}

// firstUnserved returns why the first pod without a stand-in orphan is down. The pods that the zone has
// are all available.
func (b *groupState) firstUnserved(z zoneState) plan.Refusal {
	if z.down == 0 {
		return plan.Refusal{}
	}
	for ordinal := z.Start; z.Owns(ordinal); ordinal++ {
		name := plan.PodName(z.Name, ordinal)
		pod, exists := z.podOrOrphan(name)
		if !exists {
			return plan.Refusal{Code: reason.PodMissing, Pod: name, Detail: b.createdAfter(z.Zone, ordinal)}
		}
		intent, recorded := b.activeIntents[name]
		if objection := b.unavailable(z.Zone, pod, intent, recorded); !objection.None() && !b.standsIn(z.Zone, pod, 0) {
			return objection
		}
	}
	return plan.Refusal{}
}

// createdAfter returns which orphan must be evicted before the StatefulSet creates a missing pod.
func (b *groupState) createdAfter(z *Zone, ordinal int) string {
	if lowest, exists := b.lowestInTheWay(z); exists && lowest.Ordinal < ordinal {
		return "the StatefulSet creates it after " + lowest.Name
	}
	return ""
}

func (b *groupState) standsIn(z *Zone, pod plan.Pod, minReady time.Duration) bool {
	_, recorded := b.activeIntents[pod.Name]
	return pod.Available(minReady, b.Now) && z.Owns(pod.Ordinal) && !recorded
}

// standInsOfPartition counts the pods of a partition that are missing in other zones because available
// orphans have their names. The orphans must also have been Ready for the delay of the budget. It skips
// zones that miss more than mostMissing pods.
func (b *groupState) standInsOfPartition(e eviction) int {
	count := 0
	for _, z := range b.zoneStates {
		if z.Name == e.zone.Name || z.missing > mostMissing {
			continue
		}
		for _, pod := range z.Orphans {
			partition, _ := e.budget.PartitionOf(pod.Name)
			if partition == e.partition && b.standsIn(z.Zone, pod, max(z.MinReady, e.budget.Delay)) {
				count++
			}
		}
	}
	return count
}
