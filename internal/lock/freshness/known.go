package freshness

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/lockstep-dev/lockstep/internal/plan"
)

// Known is what a process knows of one group without its caches: the rule of
// this package as a value, without lock and memory of time. The zero Known is
// nothing.
type Known struct {
	moved   map[string]plan.Version // pods that were deleted or touched at this version
	written map[string]plan.Version // zones, with the version that the write returned
	looks   []plan.Snapshot         // live reads, none of which another one covers
}

// PodMoved notes that a pod was deleted or touched as it stood at a version.
func (k *Known) PodMoved(pod string, version plan.Version) {
	if k.moved == nil {
		k.moved = map[string]plan.Version{}
	}
	k.moved[pod] = version
}

// ZoneWritten notes the version that a write to a StatefulSet returned.
func (k *Known) ZoneWritten(zone string, version plan.Version) {
	if k.written == nil {
		k.written = map[string]plan.Version{}
	}
	k.written[zone] = version
}

// Looked notes what a live read has shown, in place of those that it covers: the one
// that ends last may have begun first.
func (k *Known) Looked(live plan.Snapshot) {
	k.looks = slices.DeleteFunc(k.looks, func(former plan.Snapshot) bool { return olderThan(live, former) == "" })
	k.looks = append(k.looks, live)
}

// Missing says what a view does not show of what is known, or "" when it shows
// everything.
func (k *Known) Missing(view plan.Snapshot) string {
	for name, version := range k.moved {
		pod, present := view.Pod(name)
		if (present && pod.Version == version) || !reached(present, pod.Version, view.PodsAt, version) {
			return fmt.Sprintf("pod %s after version %d", name, version)
		}
	}
	for name, version := range k.written {
		zone, present := view.Zone(name)
		if !reached(present, zone.Version, view.ZonesAt, version) {
			return fmt.Sprintf("StatefulSet %s at version %d", name, version)
		}
	}
	for _, look := range k.looks {
		if missing := olderThan(view, look); missing != "" {
			return missing
		}
	}
	return ""
}

// olderThan says where a view is older than a live read.
func olderThan(view, look plan.Snapshot) string {
	for _, seen := range look.Zones {
		zone, present := view.Zone(seen.Name)
		if !reached(present, zone.Version, view.ZonesAt, seen.Version) {
			return fmt.Sprintf("StatefulSet %s at version %d", seen.Name, seen.Version)
		}
	}
	for _, seen := range withLeft(look) {
		if missing := cmp.Or(olderPod(view, seen.Pods), olderPod(view, seen.Orphans)); missing != "" {
			return missing
		}
	}
	return lingering(view, look)
}

func olderPod(view plan.Snapshot, seen []plan.Pod) string {
	for _, pod := range seen {
		cached, present := view.Pod(pod.Name)
		if !reached(present, cached.Version, view.PodsAt, pod.Version) {
			return fmt.Sprintf("pod %s at version %d", pod.Name, pod.Version)
		}
	}
	return ""
}

// withLeft returns the zones of a group and those that left it.
func withLeft(s plan.Snapshot) []*plan.Zone {
	zones := make([]*plan.Zone, 0, len(s.Zones)+len(s.Left))
	for i := range s.Zones {
		zones = append(zones, &s.Zones[i])
	}
	for i := range s.Left {
		zones = append(zones, &s.Left[i].Zone)
	}
	return zones
}

// lingering finds what an older view still shows although the live read did
// not. A view that is past the live read shows nothing that had ended then.
func lingering(view, look plan.Snapshot) string {
	for _, zone := range view.Zones {
		if _, known := look.Zone(zone.Name); !known && view.ZonesAt < look.ZonesAt && zone.Version <= look.ZonesAt {
			return fmt.Sprintf("the end of StatefulSet %s before version %d", zone.Name, look.ZonesAt)
		}
	}
	shown := withLeft(look)
	for _, zone := range withLeft(view) {
		i := slices.IndexFunc(shown, func(seen *plan.Zone) bool { return seen.Name == zone.Name && seen.UID == zone.UID })
		if i < 0 {
			continue
		}
		if at := cmp.Or(shown[i].PodsAt, look.PodsAt); view.PodsAt < at {
			if missing := cmp.Or(lingeringPod(zone.Pods, shown[i], at), lingeringPod(zone.Orphans, shown[i], at)); missing != "" {
				return missing
			}
		}
	}
	return ""
}

func lingeringPod(pods []plan.Pod, look *plan.Zone, at plan.Version) string {
	for _, pod := range pods {
		named := func(p plan.Pod) bool { return p.Name == pod.Name }
		seen := slices.ContainsFunc(look.Pods, named) || slices.ContainsFunc(look.Orphans, named)
		if !seen && pod.Version <= at {
			return fmt.Sprintf("the end of pod %s before version %d", pod.Name, at)
		}
	}
	return ""
}

// reached reports whether a view has got to a version of an object: it shows the
// object at that version or later, or it shows none and is itself that new.
func reached(present bool, shown, view, wanted plan.Version) bool {
	if present {
		return shown >= wanted
	}
	return view >= wanted
}
