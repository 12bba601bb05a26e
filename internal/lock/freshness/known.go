package freshness

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/lockstep-dev/lockstep/internal/plan"
)

// Known is what a process knows of one workload without its caches. It contains the rule of this package as a
// value, without a mutex and without a clock. The zero Known knows nothing.
type Known struct {
	moved     map[string]plan.Version // pods by the version at which they were deleted or updated
	created   map[string]plan.Version // pods by the version that their creation or completion returned
	written   map[string]plan.Version // zones by the version that the write returned
	liveReads []plan.Shown            // live reads, none of which covers another
}

// Clone returns a Known that changes independently.
func (k *Known) Clone() Known {
	return Known{maps.Clone(k.moved), maps.Clone(k.created), maps.Clone(k.written), slices.Clone(k.liveReads)}
}

// PodMoved records that a pod was deleted or updated while it was at a version.
func (k *Known) PodMoved(pod string, version plan.Version) {
	if k.moved == nil {
		k.moved = map[string]plan.Version{}
	}
	k.moved[pod] = version
}

// PodCreated records the version that the creation of a pod, or a write to it, returned.
func (k *Known) PodCreated(pod string, version plan.Version) {
	if k.created == nil {
		k.created = map[string]plan.Version{}
	}
	k.created[pod] = max(k.created[pod], version)
}

// ZoneWritten records the version that a write to a StatefulSet returned.
func (k *Known) ZoneWritten(zone string, version plan.Version) {
	if k.written == nil {
		k.written = map[string]plan.Version{}
	}
	k.written[zone] = version
}

// ReadLive records a live read and drops earlier ones that it covers. It compares all of them, because the live
// read that ends last may have begun first.
func (k *Known) ReadLive(live plan.Shown) {
	k.liveReads = slices.DeleteFunc(k.liveReads, func(former plan.Shown) bool { return olderThan(live, former) == "" })
	k.liveReads = append(k.liveReads, live)
}

// Missing returns what is known and not shown by the view, or "" if the view shows everything.
func (k *Known) Missing(view plan.Shown) string {
	for name, version := range k.moved {
		pod, present := view.Pod(name)
		if (present && pod.Version == version) || !reached(present, pod.Version, view.PodsAt, version) {
			return fmt.Sprintf("pod %s after version %d", name, version)
		}
	}
	for name, version := range k.created {
		pod, present := view.Pod(name)
		if !reached(present, pod.Version, view.PodsAt, version) {
			return fmt.Sprintf("pod %s at version %d", name, version)
		}
	}
	for name, version := range k.written {
		object, present := view.Object(name)
		if !reached(present, object.Version, view.ObjectsAt, version) {
			return fmt.Sprintf("StatefulSet %s at version %d", name, version)
		}
	}
	for _, read := range k.liveReads {
		if missing := olderThan(view, read); missing != "" {
			return missing
		}
	}
	return ""
}

// olderThan returns in which respect a view is older than a live read, or "".
func olderThan(view, read plan.Shown) string {
	for _, seen := range read.Objects {
		object, present := view.Object(seen.Name)
		if !seen.Outside && !reached(present, object.Version, view.ObjectsAt, seen.Version) {
			return fmt.Sprintf("StatefulSet %s at version %d", seen.Name, seen.Version)
		}
	}
	for _, seen := range read.Objects {
		if missing := cmp.Or(olderPod(view, seen.Pods), olderPod(view, seen.Orphans)); missing != "" {
			return missing
		}
	}
	return lingering(view, read)
}

func olderPod(view plan.Shown, seen []plan.Pod) string {
	for _, pod := range seen {
		cached, present := view.Pod(pod.Name)
		if !reached(present, cached.Version, view.PodsAt, pod.Version) {
			return fmt.Sprintf("pod %s at version %d", pod.Name, pod.Version)
		}
	}
	return ""
}

// lingering returns an object that an older view still shows although it was missing in the live read. A view
// that is newer than the live read cannot show an object that was deleted before it. Pods are compared by the name
// of their object: if it was created again, its UID differs, and it may adopt the pods of the former one.
func lingering(view, read plan.Shown) string {
	for _, object := range view.Objects {
		if _, known := read.Object(object.Name); !object.Outside && !known && view.ObjectsAt < read.ObjectsAt && object.Version <= read.ObjectsAt {
			return fmt.Sprintf("the end of StatefulSet %s before version %d", object.Name, read.ObjectsAt)
		}
	}
	for _, object := range view.Objects {
		i := slices.IndexFunc(read.Objects, func(seen plan.ShownObject) bool { return seen.Name == object.Name })
		if i < 0 {
			continue
		}
		seen := &read.Objects[i]
		if at := cmp.Or(seen.PodsAt, read.PodsAt); view.PodsAt < at {
			if missing := cmp.Or(lingeringPod(object.Pods, seen, at), lingeringPod(object.Orphans, seen, at)); missing != "" {
				return missing
			}
		}
	}
	return ""
}

func lingeringPod(pods []plan.Pod, read *plan.ShownObject, at plan.Version) string {
	for _, pod := range pods {
		named := func(p plan.Pod) bool { return p.Name == pod.Name }
		seen := slices.ContainsFunc(read.Pods, named) || slices.ContainsFunc(read.Orphans, named)
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
