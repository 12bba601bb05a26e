package pool

// With the policy Recreate, new identities may be created before those that they replace leave: at most MaxSurge pods more than
// asked for exist while pods are outdated.

// surgeWanted is how many pods more than asked for are wanted: not more than are outdated, also if they are to be replaced for
// another reason, because they leave for that one and not because they are too many. While it is not known which are outdated, while
// updates are paused, or while fewer pods are asked for and have not left yet, no new identity is created, and the pods that exist and
// the kept identities keep their places. If no pods are asked for, all of them are too many.
func (p *poolState) surgeWanted(kept int) int {
	s := &p.Object.Strategy
	if s.Policy != Recreate || s.OnDelete || p.Object.Replicas == 0 {
		return 0
	}
	most, lowered := s.MaxSurge.Of(p.Object.Replicas), p.toScaleDown()
	outdated, known := p.toRecreate()
	existing := len(p.staying) - p.Object.Replicas - lowered
	toCreate := outdated - s.Partition.Of(p.Object.Replicas)
	switch {
	case !known || p.paused() && outdated > 0:
		return max(0, min(most, existing+kept))
	case lowered > 0:
		return max(0, min(most, toCreate, existing))
	}
	return max(0, min(most, toCreate))
}

// placesInDoubt is how many identities are kept beyond the pods that are asked for, because a surge may have given their places to pods
// that are not available yet. Both exist then until one of them is.
func (p *poolState) placesInDoubt() int {
	if p.Object.Strategy.Policy != Recreate || p.lowered() > 0 || p.countAvailable() >= p.Object.Replicas {
		return 0
	}
	return p.Object.Strategy.MaxSurge.Of(p.Object.Replicas)
}

// toRecreate counts the pods that new identities are to replace. The second result is false while it is not known how pods differ
// from the template.
func (p *poolState) toRecreate() (outdated int, known bool) {
	for i := range p.staying {
		pod := &p.staying[i]
		if pod.Revision == p.newest.Name {
			continue
		}
		change, compared := p.changeOf(pod)
		if p.newest.Name == "" || !compared {
			return 0, false
		}
		outdated += one(!change.Equal)
	}
	return outdated, true
}

// spare is how many pods more than asked for are available because of the surge. Those that are about to leave do not count.
func (p *poolState) spare() int {
	available := 0
	for _, pod := range p.needed() {
		available += one(!p.down(&pod))
	}
	return max(0, available-p.Object.Replicas)
}
