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

// servedByOrphans reports whether nothing of a zone is down but pods that are missing because orphans
// that are available have their names.
func (b *board) servedByOrphans(z *standing) bool {
	return z.down == b.standIns(z.Zone, z.MinReady) &&
		firstOf(lifecycle(z.Zone), z.surplus, b.leftover(z.Zone), b.shrinkage(z.Zone)).None()
}

// standIns counts the pods of a zone that are missing because orphans that have been Ready for a
// while have their names. An orphan that is noted is about to leave.
func (b *board) standIns(z *Zone, minReady time.Duration) int {
	count := 0
	for _, pod := range z.Orphans {
		if _, noted := b.activeIntents[pod.Name]; pod.Available(minReady, b.Now) && z.Owns(pod.Ordinal) && !noted {
			count++
		}
	}
	return count
}
