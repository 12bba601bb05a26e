// Package freshness answers one question: does a view of a group from caches
// show at least what this process knows already, because it wrote it or because
// it has seen it on a live read? Planning on a view that does not would repeat
// or contradict the last deed, or forget what the last look showed.
//
// "Shown" is a question of versions, never of absence alone. What other
// processes did is not its business: that is in the hold's intents. Floor 2:
// no I/O, no clock.
package freshness

import (
	"fmt"
	"sync"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
)

// Log remembers what is known of each group until a view shows it. Its methods
// may be called concurrently.
type Log struct {
	mu     sync.Mutex
	groups map[plan.Key]*known
}

type known struct {
	moved   map[string]plan.Version // pods that were deleted or touched at this version
	written map[string]plan.Version // zones, with the version that the write returned
	look    *plan.Snapshot          // the last live read
	since   time.Time               // when a view was found behind first
}

// NewLog returns an empty Log.
func NewLog() *Log { return &Log{groups: map[plan.Key]*known{}} }

// PodMoved notes that a pod was deleted or touched as it stood at a version.
func (l *Log) PodMoved(key plan.Key, pod string, version plan.Version) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.group(key).moved[pod] = version
}

// ZoneWritten notes the version that a write to a StatefulSet returned.
func (l *Log) ZoneWritten(key plan.Key, zone string, version plan.Version) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.group(key).written[zone] = version
}

// Looked notes what a live read has shown: no later view may be older.
func (l *Log) Looked(live plan.Snapshot) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.group(live.Key).look = &live
}

// Behind returns what the view does not show yet and for how long views have
// been behind, or "" when it shows all that is known; that is forgotten then.
func (l *Log) Behind(view plan.Snapshot) (missing string, lasting time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	k, ok := l.groups[view.Key]
	if !ok {
		return "", 0
	}
	missing = k.behind(view)
	if missing == "" {
		delete(l.groups, view.Key)
		return "", 0
	}
	if k.since.IsZero() {
		k.since = view.Now
	}
	return missing, view.Now.Sub(k.since)
}

// Forget drops what is remembered of a group.
func (l *Log) Forget(key plan.Key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.groups, key)
}

func (l *Log) group(key plan.Key) *known {
	k, ok := l.groups[key]
	if !ok {
		k = &known{moved: map[string]plan.Version{}, written: map[string]plan.Version{}}
		l.groups[key] = k
	}
	return k
}

func (k *known) behind(view plan.Snapshot) string {
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
	if k.look == nil {
		return ""
	}
	return olderThan(view, *k.look)
}

// olderThan says where a view is older than a live read.
func olderThan(view, look plan.Snapshot) string {
	for _, seen := range look.Zones {
		zone, present := view.Zone(seen.Name)
		if !reached(present, zone.Version, view.ZonesAt, seen.Version) {
			return fmt.Sprintf("StatefulSet %s at version %d", seen.Name, seen.Version)
		}
		for _, pod := range seen.Pods {
			cached, present := view.Pod(pod.Name)
			if !reached(present, cached.Version, view.PodsAt, pod.Version) {
				return fmt.Sprintf("pod %s at version %d", pod.Name, pod.Version)
			}
		}
	}
	return lingering(view, look)
}

// lingering finds what an older view still shows although the live read did
// not. A view that is past the live read shows nothing that had ended then.
func lingering(view, look plan.Snapshot) string {
	for _, zone := range view.Zones {
		seen, known := look.Zone(zone.Name)
		if !known && view.ZonesAt < look.ZonesAt && zone.Version <= look.ZonesAt {
			return fmt.Sprintf("the end of StatefulSet %s before version %d", zone.Name, look.ZonesAt)
		}
		if known && seen.UID == zone.UID && view.PodsAt < look.PodsAt {
			if missing := lingeringPod(zone, look); missing != "" {
				return missing
			}
		}
	}
	return ""
}

func lingeringPod(zone plan.Zone, look plan.Snapshot) string {
	for _, pod := range zone.Pods {
		if _, seen := look.Pod(pod.Name); !seen && pod.Version <= look.PodsAt {
			return fmt.Sprintf("the end of pod %s before version %d", pod.Name, look.PodsAt)
		}
	}
	return ""
}

// reached tells whether a view has got to a version of an object: it shows the
// object at that version or later, or it shows none and is itself that new.
func reached(present bool, shown, view, wanted plan.Version) bool {
	if present {
		return shown >= wanted
	}
	return view >= wanted
}
