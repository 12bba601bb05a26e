package plan

import "time"

// orphan returns the orphan of that name.
func (z *Zone) orphan(name string) (Pod, bool) {
	for i := range z.Orphans {
		if z.Orphans[i].Name == name {
			return z.Orphans[i], true
		}
	}
	return Pod{}, false
}

// podOrOrphan returns the pod of that name, whether the StatefulSet owns it or not.
func (z *Zone) podOrOrphan(name string) (Pod, bool) {
	if p, ok := z.pod(name); ok {
		return p, true
	}
	return z.orphan(name)
}

// inTheWay says why a missing pod is not created, if an orphan is the reason.
func (z *Zone) inTheWay(pod string) string {
	if _, exists := z.orphan(pod); exists {
		return "an orphan has its name"
	}
	return ""
}

// waitsForOrphan reports whether a zone is not whole because of its orphans alone.
func (b *board) waitsForOrphan(zone string) bool {
	z, exists := b.standing(zone)
	return exists && b.servedByOrphans(z)
}

// servedByOrphans reports whether nothing of a zone is down but pods that are missing because orphans
// that are available have their names. Such a zone keeps no orphan in the way in another zone back: if
// each zone waited for the orphans of another, none would ever go.
func (b *board) servedByOrphans(z *standing) bool {
	return z.down == b.standIns(z.Zone, z.MinReady) &&
		firstOf(lifecycle(z.Zone), z.surplus, b.leftover(z.Zone), b.shrinkage(z.Zone)).None()
}

// standIns counts the pods of a zone that are missing because orphans that have been Ready for a
// while have their names. An orphan that is noted is about to leave.
func (b *board) standIns(z *Zone, minReady time.Duration) int {
	count := 0
	for _, pod := range z.Orphans {
		if b.standsIn(z, pod, minReady) {
			count++
		}
	}
	return count
}

func (b *board) standsIn(z *Zone, pod Pod, minReady time.Duration) bool {
	_, noted := b.activeIntents[pod.Name]
	return pod.Available(minReady, b.Now) && z.Owns(pod.Ordinal) && !noted
}

// standInsOfPartition counts the pods of a partition that other zones miss because orphans that are
// available, and have been Ready for as long as the budget asks for, have their names. In a zone that
// misses too many pods to look at each, it counts none.
func (b *board) standInsOfPartition(e eviction) int {
	count := 0
	for _, z := range b.standings {
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
