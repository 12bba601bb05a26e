package invariant

import (
	"maps"
	"slices"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
)

// view is a snapshot as the rules read it: what it shows, and what the rules conclude
// from that by docs/guarantees.md. None of its conclusions comes from the planner.
type view struct {
	*plan.Snapshot
	zones    []zone
	noted    map[string]plan.Pod // pods that have the name of a noted one, by that name
	counting []plan.Intent       // intents of the hold that count
}

// zone is a StatefulSet of the group. The zero zone stands for one that is not shown.
type zone struct {
	plan.Zone
	counted   bool
	available map[int]bool // ordinals that the spec asks for and whose pods are available
}

// viewOf reads a snapshot. The cost is one pass over its pods where the hold has
// intents, and nothing in proportion to pods where it has none.
func viewOf(s *plan.Snapshot) *view {
	v := &view{Snapshot: s, zones: make([]zone, len(s.Zones)), noted: podsNamed(s, s.Hold.Intents)}
	for i := range s.Zones {
		v.zones[i].Zone = s.Zones[i]
	}
	for _, i := range s.Hold.Intents {
		if v.counts(i) {
			v.counting = append(v.counting, i)
		}
	}
	return v
}

// podsNamed finds the pods that have the names of noted ones: in a zone, or else
// outside of all zones.
func podsNamed(s *plan.Snapshot, noted []plan.Intent) map[string]plan.Pod {
	if len(noted) == 0 {
		return nil
	}
	wanted, found := make(map[string]bool, len(noted)), make(map[string]plan.Pod, len(noted))
	for _, i := range noted {
		wanted[i.Pod] = true
	}
	find := func(pods []plan.Pod) {
		for i := range pods {
			if p := &pods[i]; wanted[p.Name] {
				wanted[p.Name], found[p.Name] = false, *p
			}
		}
	}
	for i := range s.Zones {
		find(s.Zones[i].Pods)
		find(s.Zones[i].Orphans)
	}
	for i := range s.Left {
		find(s.Left[i].Pods)
		find(s.Left[i].Orphans)
	}
	find(s.Strays)
	return found
}

// zoneNamed returns a zone of the group, and whether the snapshot shows it.
func (v *view) zoneNamed(name string) (z *zone, shown bool) {
	for i := range v.zones {
		if v.zones[i].Name == name {
			return &v.zones[i], true
		}
	}
	return &zone{}, false
}

// up reports whether a pod is up: it is Ready and not terminating.
func up(p plan.Pod) bool { return p.Phase == plan.Ready }

// terminating reports whether a pod has been deleted and still exists.
func terminating(p plan.Pod) bool { return p.Phase == plan.Leaving }

// runs reports whether a pod runs, or did, and is not terminating.
func runs(p plan.Pod) bool { return p.IP != "" && !terminating(p) }

// isAvailable reports whether a pod has been up for the minReadySeconds of its zone.
func isAvailable(p plan.Pod, minReady time.Duration, now time.Time) bool {
	return up(p) && (minReady <= 0 || now.Sub(p.ReadySince) >= minReady)
}

// asksFor reports whether the spec asks for a pod of that ordinal.
func (z *zone) asksFor(ordinal int) bool {
	return z.Start <= ordinal && ordinal < z.Start+z.Replicas
}

// asksForPod reports whether the spec asks for a pod of that name.
func (z *zone) asksForPod(name string) bool {
	ordinal, is := plan.OrdinalOf(z.Name, name)
	return is && z.asksFor(ordinal)
}

// leaving returns the pods that a change of spec.replicas removes.
func (z *zone) leaving(a plan.SetReplicas) []plan.Pod {
	var pods []plan.Pod
	for _, p := range z.Pods {
		if z.Start+a.To <= p.Ordinal && p.Ordinal < z.Start+a.From {
			pods = append(pods, p)
		}
	}
	return pods
}

// availableOf returns the ordinals that a zone's spec asks for and whose pods are
// available. They are counted once for all rules.
func (v *view) availableOf(z *zone) map[int]bool {
	if z.counted {
		return z.available
	}
	z.counted, z.available = true, make(map[int]bool, len(z.Pods))
	for i := range z.Pods {
		if p := &z.Pods[i]; z.asksFor(p.Ordinal) && isAvailable(*p, z.MinReady, v.Now) {
			z.available[p.Ordinal] = true
		}
	}
	return z.available
}

// isWhole reports whether each pod that a zone's spec asks for exists and is available.
func (v *view) isWhole(z *zone) bool { return len(v.availableOf(z)) >= z.Replicas }

// isServedByOrphans reports whether each pod that a zone's spec asks for is available, or an orphan of
// its name is. None of them may be noted.
func (v *view) isServedByOrphans(z *zone) bool {
	serving := maps.Clone(v.availableOf(z))
	for _, p := range z.Orphans {
		if z.asksFor(p.Ordinal) && isAvailable(p, z.MinReady, v.Now) {
			serving[p.Ordinal] = true
		}
	}
	return len(serving) >= z.Replicas && len(v.notedOf(z)) == 0
}

// otherNotWhole returns a zone that is not whole, other than the named one. One that left the
// group may come back as it is now.
func (v *view) otherNotWhole(name string) (z *zone, found bool) {
	if z, found := v.leftNotWhole(); found {
		return z, true
	}
	for i := range v.zones {
		if z := &v.zones[i]; z.Name != name && !v.isWhole(z) {
			return z, true
		}
	}
	return nil, false
}

// leftNotWhole returns a zone that left the group and could be back with pods that are down.
func (v *view) leftNotWhole() (z *zone, found bool) {
	for i := range v.Left {
		if z := (&zone{Zone: v.Left[i].Zone}); v.mayComeBackNotWhole(&v.Left[i], z) {
			return z, true
		}
	}
	return nil, false
}

// mayComeBackNotWhole reports whether a zone that left the group could be back with pods that
// are down. It could not if a live view shows that its last pod is gone, or that outside of
// the group its StatefulSet has every pod that it asks for. One that no budget covers any more is
// guarded by what is noted of it alone.
func (v *view) mayComeBackNotWhole(left *plan.LeftZone, z *zone) bool {
	switch {
	case left.Uncovered:
		return false
	case !v.Live:
		return true
	case left.Exists:
		return !v.isWhole(z) || len(z.Pods) > z.Replicas || !z.Observed
	}
	return len(z.Pods) > 0
}

// downWith returns how many pods of a zone are down or noted once the pods of the given
// ordinals are taken down as well. Each ordinal counts once. One that the spec does not ask
// for counts like any other: a cached spec may be older than the pod.
func (v *view) downWith(z *zone, taken ...int) int {
	available := v.availableOf(z)
	down, seen := z.Replicas-len(available), map[int]bool{}
	for _, ordinal := range slices.Concat(taken, v.notedOf(z)) {
		if !seen[ordinal] && (available[ordinal] || !z.asksFor(ordinal)) {
			down++
		}
		seen[ordinal] = true
	}
	return down
}

// notedOf returns the ordinals of a zone's pods whose intents count.
func (v *view) notedOf(z *zone) []int {
	var noted []int
	for _, i := range v.counting {
		if ordinal, is := plan.OrdinalOf(z.Name, i.Pod); is {
			noted = append(noted, ordinal)
		}
	}
	return noted
}

// isPaused reports whether a person has paused a zone, and the pause is not over.
func (v *view) isPaused(z *zone) bool {
	end := z.PausedUntil.Time
	return z.Paused && (end.IsZero() || end.After(v.Now))
}
