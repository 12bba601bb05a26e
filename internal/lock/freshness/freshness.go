// Package freshness decides whether a cached view of a group shows at least what this process already knows
// from its own writes and live reads. A plan that is made from an older view would repeat or contradict the
// last write, or ignore the last live read.
//
// The comparison uses versions and never absence alone. It does not cover the acts of other processes: the
// intents in the hold record those. Known contains the rule; Log keeps the data.
package freshness

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
)

// Log keeps what is known of each group until a view shows it, and then the version of that view. A reader
// that took an older view and asks later is behind. Its methods may be called concurrently.
type Log struct {
	mu      sync.Mutex
	entries map[plan.Key]*entry
	records []records
}

// records are what a process knows of groups only together with what it was shown of them.
type records interface{ Forget(plan.Key) }

type entry struct {
	Known
	since             time.Time    // when a view was first found to be behind
	objectsAt, podsAt plan.Version // the versions of the last view that showed everything
}

// NewLog returns an empty Log. Whatever it forgets of a group, these records forget as well, after it: a record is this
// process's own only while the process knows what its live read has shown.
func NewLog(own ...records) *Log { return &Log{entries: map[plan.Key]*entry{}, records: own} }

// PodMoved records that a pod was deleted or updated while it was at a version.
func (l *Log) PodMoved(key plan.Key, pod string, version plan.Version) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entry(key).PodMoved(pod, version)
}

// PodCreated records the version that the creation of a pod, or a write to it, returned.
func (l *Log) PodCreated(key plan.Key, pod string, version plan.Version) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entry(key).PodCreated(pod, version)
}

// ZoneWritten records the version that a write to a StatefulSet returned.
func (l *Log) ZoneWritten(key plan.Key, zone string, version plan.Version) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entry(key).ZoneWritten(zone, version)
}

// ReadLive records a live read. A view that is older than the live read is behind.
func (l *Log) ReadLive(live plan.Workload) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entry(live.View().Key).ReadLive(live.Shown())
}

// Behind returns what the view does not show yet, and for how long views have been behind. If the view shows
// everything that is known, Behind returns "" and keeps only the versions of the view.
func (l *Log) Behind(w plan.Workload) (missing string, lasting time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	view := w.View()
	e, ok := l.entries[view.Key]
	if !ok {
		return "", 0
	}
	shown := w.Shown()
	missing = e.missing(shown)
	if missing == "" {
		*e = entry{objectsAt: shown.ObjectsAt, podsAt: shown.PodsAt}
		return "", 0
	}
	if e.since.IsZero() || view.Now.Before(e.since) { // the clock may have been set back
		e.since = view.Now
	}
	return missing, view.Now.Sub(e.since)
}

// Forget drops everything that is known of a group.
func (l *Log) Forget(key plan.Key) {
	l.drop(key)
	for _, own := range l.records {
		own.Forget(key)
	}
}

func (l *Log) drop(key plan.Key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.entries, key)
}

// ForgetBut drops everything that is known of the groups in a namespace, except for the groups in kept. A live read may
// have shown groups of which the caches show nothing.
func (l *Log) ForgetBut(namespace string, kept []plan.Key) {
	for _, key := range l.known(namespace) {
		if !slices.Contains(kept, key) {
			l.Forget(key)
		}
	}
}

// known returns the groups in a namespace of which something is known.
func (l *Log) known(namespace string) []plan.Key {
	l.mu.Lock()
	defer l.mu.Unlock()
	var keys []plan.Key
	for key := range l.entries {
		if key.Namespace == namespace {
			keys = append(keys, key)
		}
	}
	return keys
}

func (l *Log) entry(key plan.Key) *entry {
	e, ok := l.entries[key]
	if !ok {
		e = &entry{}
		l.entries[key] = e
	}
	return e
}

func (e *entry) missing(view plan.Shown) string {
	switch {
	case view.ObjectsAt < e.objectsAt:
		return fmt.Sprintf("StatefulSets at version %d", e.objectsAt)
	case view.PodsAt < e.podsAt:
		return fmt.Sprintf("pods at version %d", e.podsAt)
	}
	return e.Missing(view)
}
