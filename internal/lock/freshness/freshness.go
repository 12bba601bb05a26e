// Package freshness answers one question: does a view of a group from caches
// show at least what this process knows already, because it wrote it or because
// it has seen it on a live read? Planning on a view that does not would repeat
// or contradict the last deed, or forget what the last look showed.
//
// "Shown" is a question of versions, never of absence alone. What other
// processes did is not its business: that is in the hold's intents. Known is
// the rule, Log remembers.
package freshness

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
)

// Log remembers what is known of each group until a view shows it, and then how new
// that view was: whoever took theirs before, and asks later, is behind. Its methods may
// be called concurrently.
type Log struct {
	mu     sync.Mutex
	groups map[plan.Key]*entry
}

type entry struct {
	Known
	since           time.Time    // when a view was found behind first
	zonesAt, podsAt plan.Version // how new the last view was that showed all
}

// NewLog returns an empty Log.
func NewLog() *Log { return &Log{groups: map[plan.Key]*entry{}} }

// PodMoved notes that a pod was deleted or touched as it stood at a version.
func (l *Log) PodMoved(key plan.Key, pod string, version plan.Version) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.group(key).PodMoved(pod, version)
}

// ZoneWritten notes the version that a write to a StatefulSet returned.
func (l *Log) ZoneWritten(key plan.Key, zone string, version plan.Version) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.group(key).ZoneWritten(zone, version)
}

// Looked notes what a live read has shown: no view that is asked about later may be
// older.
func (l *Log) Looked(live plan.Snapshot) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.group(live.Key).Looked(live)
}

// Behind returns what the view does not show yet and for how long views have
// been behind, or "" when it shows all that is known. That is forgotten then, but
// for how new the view was.
func (l *Log) Behind(view plan.Snapshot) (missing string, lasting time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e, ok := l.groups[view.Key]
	if !ok {
		return "", 0
	}
	missing = e.missing(view)
	if missing == "" {
		*e = entry{zonesAt: view.ZonesAt, podsAt: view.PodsAt}
		return "", 0
	}
	if e.since.IsZero() || view.Now.Before(e.since) { // the clock was set back
		e.since = view.Now
	}
	return missing, view.Now.Sub(e.since)
}

// Forget drops what is remembered of a group.
func (l *Log) Forget(key plan.Key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.groups, key)
}

// ForgetBut drops what is remembered of a namespace but for some groups.
func (l *Log) ForgetBut(namespace string, kept []plan.Key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	maps.DeleteFunc(l.groups, func(key plan.Key, _ *entry) bool {
		return key.Namespace == namespace && !slices.Contains(kept, key)
	})
}

func (l *Log) group(key plan.Key) *entry {
	e, ok := l.groups[key]
	if !ok {
		e = &entry{}
		l.groups[key] = e
	}
	return e
}

func (e *entry) missing(view plan.Snapshot) string {
	switch {
	case view.ZonesAt < e.zonesAt:
		return fmt.Sprintf("StatefulSets at version %d", e.zonesAt)
	case view.PodsAt < e.podsAt:
		return fmt.Sprintf("pods at version %d", e.podsAt)
	}
	return e.Missing(view)
}
