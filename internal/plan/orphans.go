package plan

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

// standIns counts the pods of a zone that are missing because orphans that serve have their names.
// An orphan that is noted is about to leave.
func (b *board) standIns(z *Zone) int {
	count := 0
	for _, pod := range z.Orphans {
		if _, noted := b.activeIntents[pod.Name]; pod.Up() && z.Owns(pod.Ordinal) && !noted {
			count++
		}
	}
	return count
}
