package pool

import "github.com/lockstep-dev/lockstep/internal/plan/reason"

// With the policy Recreate, new identities may be created before those that they replace leave: at most MaxSurge pods more than
// asked for exist while pods are outdated.

// surgeWanted is how many pods more than asked for are wanted: not more than are outdated, also if they are to be replaced for
// another reason, because they leave for that one and not because they are too many. For those that are handed over now, whose next
// pods get the template, no further pod is created. While it is not known which are outdated, while updates are paused, or while fewer
// pods are asked for and have not left yet, no new identity is created, and the pods that exist and the kept identities keep their
// places. If no pods are asked for, all of them are too many.
func (p *poolState) surgeWanted(kept int) int {
	s := &p.Object.Strategy
	if s.Policy != Recreate || s.OnDelete || p.Object.Replicas == 0 {
		return 0
	}
	most, lowered := s.MaxSurge.Of(p.Object.Replicas), p.toScaleDown()
	outdated, handedOver, known := p.toRecreate()
	existing := len(p.staying) - p.Object.Replicas - lowered
	toCreate := outdated - s.Partition.Of(p.Object.Replicas)
	switch {
	case !known || p.paused() && outdated > 0:
		return max(0, min(most, existing+kept))
	case lowered > 0:
		return max(0, min(most, toCreate, existing))
	}
	return max(0, min(most, toCreate, max(existing, toCreate-handedOver)))
}

// placesInDoubt is how many identities are kept beyond the pods that are asked for, because a surge may have given their places to pods
// that are not available yet. Both exist then until one of them is.
func (p *poolState) placesInDoubt() int {
	if p.Object.Strategy.Policy != Recreate || p.lowered() > 0 || p.countAvailable() >= p.Object.Replicas {
		return 0
	}
	return p.Object.Strategy.MaxSurge.Of(p.Object.Replicas)
}

// toRecreate counts the pods that new identities are to replace, and those of them that are handed over now. It is not known while it is not
// known how pods differ from the template.
func (p *poolState) toRecreate() (outdated, handedOver int, known bool) {
	for i := range p.staying {
		pod := &p.staying[i]
		if pod.Revision == p.newest.Name {
			continue
		}
		change, compared := p.changeOf(pod)
		if p.newest.Name == "" || !compared {
			return 0, 0, false
		}
		outdated += one(!change.Equal)
		handedOver += one(!change.Equal && p.ailing[pod.Name].cause == reason.IdentityHandover)
	}
	return outdated, handedOver, true
}

// spare is how many pods more than asked for are available because of the surge. Those that are about to leave do not count.
func (p *poolState) spare() int {
	available := 0
	for _, pod := range p.needed() {
		available += one(!p.down(&pod))
	}
	return max(0, available-p.Object.Replicas)
}
