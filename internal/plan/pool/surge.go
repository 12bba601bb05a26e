package pool

// With the policy Recreate, new identities may be created before those that they replace leave: at most MaxSurge pods more than
// asked for exist while pods are outdated.

// surgeWanted is how many pods more than asked for are wanted: not more than are to be replaced.
func (p *poolState) surgeWanted() int {
	s := &p.Object.Strategy
	if s.Policy != Recreate || s.OnDelete || p.Object.Paused || p.newest.Name == "" {
		return 0
	}
	replaced := -s.Partition.Of(p.Object.Replicas)
	for i := range p.staying {
		pod := &p.staying[i]
		if change, known := p.changeOf(pod); pod.Revision != p.newest.Name && known && !change.Equal && !pod.Asked && !p.ails(pod) {
			replaced++
		}
	}
	return max(0, min(s.MaxSurge.Of(p.Object.Replicas), replaced))
}

// spare is how many pods more than asked for are available because of the surge.
func (p *poolState) spare() int {
	if p.surge == 0 {
		return 0
	}
	return max(0, p.countAvailable()-p.Object.Replicas)
}
