package freshness

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
)

// Known is what a process knows of one group without its caches. It contains the rule of this package as a
// value, without a mutex and without a clock. The zero Known knows nothing.
type Known struct {
	moved   map[string]plan.Version // pods by the version at which they were deleted or updated
	written map[string]plan.Version // zones by the version that the write returned
	looks   []group.Snapshot        // live reads, none of which covers another
}

// PodMoved records that a pod was deleted or updated while it was at a version.
func (k *Known) PodMoved(pod string, version plan.Version) {
	if k.moved == nil {
		k.moved = map[string]plan.Version{}
	}
	k.moved[pod] = version
}

// ZoneWritten records the version that a write to a StatefulSet returned.
func (k *Known) ZoneWritten(zone string, version plan.Version) {
	if k.written == nil {
		k.written = map[string]plan.Version{}
	}
	k.written[zone] = version
}

// Looked records a live read and drops earlier ones that it covers. It compares all of them, because the live
// read that ends last may have begun first.
func (k *Known) Looked(live group.Snapshot) {
	k.looks = slices.DeleteFunc(k.looks, func(former group.Snapshot) bool { return olderThan(live, former) == "" })
	k.looks = append(k.looks, live)
}

// Missing returns what is known and not shown by the view, or "" if the view shows everything.
func (k *Known) Missing(view group.Snapshot) string {
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

// olderThan returns in which respect a view is older than a live read, or "".
func olderThan(view, look group.Snapshot) string {
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

func olderPod(view group.Snapshot, seen []plan.Pod) string {
	for _, pod := range seen {
		cached, present := view.Pod(pod.Name)
		if !reached(present, cached.Version, view.PodsAt, pod.Version) {
			return fmt.Sprintf("pod %s at version %d", pod.Name, pod.Version)
		}
	}
	return ""
}

// withLeft returns the zones of a group and the zones that left it.
func withLeft(s group.Snapshot) []*group.Zone {
	zones := make([]*group.Zone, 0, len(s.Zones)+len(s.Left))
	for i := range s.Zones {
		zones = append(zones, &s.Zones[i])
	}
	for i := range s.Left {
		zones = append(zones, &s.Left[i].Zone)
	}
	return zones
}

// lingering returns an object that an older view still shows although it was missing in the live read. A view
// that is newer than the live read cannot show an object that was deleted before it.
func lingering(view, look group.Snapshot) string {
	for _, zone := range view.Zones {
		if _, known := look.Zone(zone.Name); !known && view.ZonesAt < look.ZonesAt && zone.Version <= look.ZonesAt {
			return fmt.Sprintf("the end of StatefulSet %s before version %d", zone.Name, look.ZonesAt)
		}
	}
	shown := withLeft(look)
	for _, zone := range withLeft(view) {
		i := slices.IndexFunc(shown, func(seen *group.Zone) bool { return seen.Name == zone.Name && seen.UID == zone.UID })
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

func lingeringPod(pods []plan.Pod, look *group.Zone, at plan.Version) string {
	for _, pod := range pods {
		named := func(p plan.Pod) bool { return p.Name == pod.Name }
		seen := slices.ContainsFunc(look.Pods, named) || slices.ContainsFunc(look.Orphans, named)
		if !seen && pod.Version <= at {
			return fmt.Sprintf("the end of pod %s before version %d", pod.Name, at)
		}
	}
	return ""
}

// reached reports whether a view shows an object at the wanted version or later. If the view does not show
// the object, the view itself must be that new.
func reached(present bool, shown, view, wanted plan.Version) bool {
	if present {
		return shown >= wanted
	}
	return view >= wanted
}
