// Package freshness answers one question: does a view of a group show what
// this process has written to it? Planning on a view that does not would
// repeat or contradict the last deed.
//
// It is a matter of efficiency and of good manners, not of safety: that rests
// on the hold's intents and on preconditions. "Shown" is a question of
// versions, never of absence. Floor 2: pure, no I/O, no clock.
package freshness

import (
	"fmt"
	"sync"

	"github.com/lockstep-dev/lockstep/internal/plan"
)

// Log remembers what was written, per group, until a view shows it. Its methods
// may be called concurrently.
type Log struct {
	mu     sync.Mutex
	groups map[plan.Key]*writes
}

type writes struct {
	pods  map[string]sent         // by name
	zones map[string]plan.Version // by name: the version a write returned
}

type sent struct {
	uid     string
	version plan.Version
}

// NewLog returns an empty Log.
func NewLog() *Log { return &Log{groups: map[plan.Key]*writes{}} }

// PodMoved notes that a pod was deleted or touched as it stood at a version.
func (l *Log) PodMoved(key plan.Key, pod, uid string, version plan.Version) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.group(key).pods[pod] = sent{uid, version}
}

// ZoneWritten notes the version that a write to a StatefulSet returned.
func (l *Log) ZoneWritten(key plan.Key, zone string, version plan.Version) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.group(key).zones[zone] = version
}

// Behind returns what the view does not show yet, or "" when it shows all that
// was written; what is shown is forgotten.
func (l *Log) Behind(s plan.Snapshot) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	w, ok := l.groups[s.Key]
	if !ok {
		return ""
	}
	missing := w.behind(s)
	if len(w.pods) == 0 && len(w.zones) == 0 {
		delete(l.groups, s.Key)
	}
	return missing
}

// Forget drops what is remembered of a group.
func (l *Log) Forget(key plan.Key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.groups, key)
}

func (l *Log) group(key plan.Key) *writes {
	w, ok := l.groups[key]
	if !ok {
		w = &writes{pods: map[string]sent{}, zones: map[string]plan.Version{}}
		l.groups[key] = w
	}
	return w
}

func (w *writes) behind(s plan.Snapshot) string {
	missing := ""
	for name, note := range w.pods {
		if note.shown(s, name) {
			delete(w.pods, name)
		} else {
			missing = fmt.Sprintf("pod %s after version %d", name, note.version)
		}
	}
	for name, version := range w.zones {
		if z, ok := s.Zone(name); !ok || z.Version >= version {
			delete(w.zones, name)
		} else {
			missing = fmt.Sprintf("StatefulSet %s at version %d", name, version)
		}
	}
	return missing
}

// shown tells whether the view has moved past the version at which the pod was
// sent away: it shows a later version under that name, or none in a view that
// is at least as new.
func (n sent) shown(s plan.Snapshot, name string) bool {
	pod, present := s.Pod(name)
	if !present {
		return s.PodsAt >= n.version
	}
	return pod.Version > n.version
}
