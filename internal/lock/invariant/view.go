package invariant

import (
	"maps"
	"slices"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
)

// view is a snapshot with the conclusions that the rules draw from it by docs/guarantees.md. No conclusion
// comes from the planner.
type view struct {
	*group.Snapshot
	zones    []zone
	recorded map[string]plan.Pod // pods whose name occurs in an intent, by name
	counting []plan.Intent       // intents of the hold that count
}

// zone is a StatefulSet of the group. The zero zone means that the snapshot does not show it.
type zone struct {
	group.Zone
	counted   bool
	available map[int]bool // ordinals of desired pods that are available
}

// viewOf returns the view of a snapshot. If the hold has intents, it reads each pod once; otherwise its cost
// does not depend on the number of pods.
func viewOf(s *group.Snapshot) *view {
	v := &view{Snapshot: s, zones: make([]zone, len(s.Zones)), recorded: podsNamed(s, s.Hold.Intents)}
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

// podsNamed returns the pods whose names occur in intents: from a zone, or else from outside of all zones.
func podsNamed(s *group.Snapshot, recorded []plan.Intent) map[string]plan.Pod {
	if len(recorded) == 0 {
		return nil
	}
	wanted, found := make(map[string]bool, len(recorded)), make(map[string]plan.Pod, len(recorded))
	for _, i := range recorded {
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
	for i := range s.FormerZones {
		find(s.FormerZones[i].Pods)
		find(s.FormerZones[i].Orphans)
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
func terminating(p plan.Pod) bool { return p.Phase == plan.Terminating }

// runs reports whether a pod runs, or did so, and is not terminating.
func runs(p plan.Pod) bool { return p.IP != "" && !terminating(p) }

// isAvailable reports whether a pod has been up for the minReadySeconds of its zone.
func isAvailable(p plan.Pod, minReady time.Duration, now time.Time) bool {
	return up(p) && (minReady <= 0 || now.Sub(p.ReadySince) >= minReady)
}

// asksFor reports whether the spec has a pod of that ordinal.
func (z *zone) asksFor(ordinal int) bool {
	return z.Start <= ordinal && ordinal < z.Start+z.Replicas
}

// asksForPod reports whether the spec has a pod of that name.
func (z *zone) asksForPod(name string) bool {
	ordinal, is := plan.OrdinalOf(z.Name, name)
	return is && z.asksFor(ordinal)
}

// leaving returns the pods that a change of spec.replicas removes.
func (z *zone) leaving(a group.SetReplicas) []plan.Pod {
	var pods []plan.Pod
	for _, p := range z.Pods {
		if z.Start+a.To <= p.Ordinal && p.Ordinal < z.Start+a.From {
			pods = append(pods, p)
		}
	}
	return pods
}

// availableOf returns the ordinals of the desired pods that are available. It computes them once for all
// rules.
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

// allAvailable reports whether each desired pod of a zone exists and is available.
func (v *view) allAvailable(z *zone) bool { return len(v.availableOf(z)) >= z.Replicas }

// isServedByOrphans reports whether each desired pod of a zone is available, or an orphan with its name is.
// No pod of the zone may have an intent that counts.
func (v *view) isServedByOrphans(z *zone) bool {
	serving := maps.Clone(v.availableOf(z))
	for _, p := range z.Orphans {
		if z.asksFor(p.Ordinal) && isAvailable(p, z.MinReady, v.Now) {
			serving[p.Ordinal] = true
		}
	}
	return len(serving) >= z.Replicas && len(v.recordedOf(z)) == 0
}

// otherUnavailable returns an unavailable zone other than the named one. A zone that left the group counts,
// because it may return in its present state.
func (v *view) otherUnavailable(name string) (z *zone, found bool) {
	if z, found := v.leftUnavailable(false); found {
		return z, true
	}
	for i := range v.zones {
		if z := &v.zones[i]; z.Name != name && !v.allAvailable(z) {
			return z, true
		}
	}
	return nil, false
}

// leftUnavailable returns a zone that left the group and could return with pods that are down. If orphans may
// serve in place of missing pods, it skips zones in which they do.
func (v *view) leftUnavailable(orphansServe bool) (z *zone, found bool) {
	for i := range v.FormerZones {
		z := &zone{Zone: v.FormerZones[i].Zone}
		if v.mayComeBackUnavailable(&v.FormerZones[i], z) && !(orphansServe && v.mayComeBackServedByOrphans(&v.FormerZones[i], z)) {
			return z, true
		}
	}
	return nil, false
}

// mayComeBackServedByOrphans reports whether a live view shows that a zone that left the group lacks no pod
// apart from those for which orphans serve.
func (v *view) mayComeBackServedByOrphans(left *group.FormerZone, z *zone) bool {
	surplus := slices.ContainsFunc(z.Pods, func(p plan.Pod) bool { return !z.asksFor(p.Ordinal) })
	return v.Live && left.Exists && z.Observed && !surplus && v.isServedByOrphans(z)
}

// mayComeBackUnavailable reports whether a zone that left the group could return with pods that are down. A live
// view rules that out if the last pod of the zone was deleted, or if its StatefulSet outside of the group has
// every desired pod. A zone that no budget covers any more is protected only by its intents.
func (v *view) mayComeBackUnavailable(left *group.FormerZone, z *zone) bool {
	switch {
	case left.Uncovered:
		return false
	case !v.Live:
		return true
	case left.Exists:
		return !v.allAvailable(z) || len(z.Pods) > z.Replicas || !z.Observed
	}
	return len(z.Pods) > 0
}

// downWith returns how many pods of a zone are down or recorded once the pods of the given ordinals are
// deleted as well. Each ordinal counts once. An ordinal beyond the spec counts too, because a cached spec may
// be older than the pod.
func (v *view) downWith(z *zone, taken ...int) int {
	available := v.availableOf(z)
	down, seen := z.Replicas-len(available), map[int]bool{}
	for _, ordinal := range slices.Concat(taken, v.recordedOf(z)) {
		if !seen[ordinal] && (available[ordinal] || !z.asksFor(ordinal)) {
			down++
		}
		seen[ordinal] = true
	}
	return down
}

// recordedOf returns the ordinals of a zone's pods whose intents count.
func (v *view) recordedOf(z *zone) []int {
	var recorded []int
	for _, i := range v.counting {
		if ordinal, is := plan.OrdinalOf(z.Name, i.Pod); is {
			recorded = append(recorded, ordinal)
		}
	}
	return recorded
}

// isPaused reports whether a zone is paused and the pause has not ended.
func (v *view) isPaused(z *zone) bool {
	end := z.PausedUntil.Time
	return z.Paused && (end.IsZero() || end.After(v.Now))
}
