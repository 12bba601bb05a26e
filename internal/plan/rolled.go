package plan

import (
	"strings"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// Rollouts is the record of rollouts in a group's Lease: traces, history and how long a
// rollout may take. It is for users; no decision depends on it.
type Rollouts struct {
	Current  RolledGroup   // in progress; the zero RolledGroup: none
	Finished []RolledGroup // recent ones, the newest first
	// Replacements are of pods of a StatefulCluster that were not replaced by an update, the oldest first. Each is kept
	// until its span is known to be exported.
	Replacements []Replacement
}

// Open returns how many rollouts and replacements are in progress.
func (r Rollouts) Open() int {
	open := 0
	if r.Current.Begun() {
		open++
	}
	for i := range r.Replacements {
		if r.Replacements[i].Open {
			open++
		}
	}
	return open
}

// Replacement is a pod that was replaced, with a trace of its own.
type Replacement struct {
	Trace string // W3C traceparent of its span; empty: it has no span yet
	RolledPod
}

// RolledGroup is one rollout of a group, from the first deleted pod until every zone is
// finished.
type RolledGroup struct {
	Trace    string // W3C traceparent of its span; empty: it has no span
	Since    time.Time
	Until    time.Time    // zero: it is in progress
	Zones    []RolledZone // in the order in which they began
	Exported bool         // the trace collector has its span
}

// Begun reports whether the rollout has begun.
func (r RolledGroup) Begun() bool { return !r.Since.IsZero() }

// Over reports whether the rollout has ended.
func (r RolledGroup) Over() bool { return !r.Until.IsZero() }

// Traced reports whether the spans of the rollout are collected: it has a trace, which
// is sampled.
func (r RolledGroup) Traced() bool { return Sampled(r.Trace) }

// Sampled reports whether a W3C traceparent says that its trace is sampled.
func Sampled(traceparent string) bool {
	flags := traceparent[max(0, len(traceparent)-1):]
	return flags != "" && strings.Contains("13579bdf", flags)
}

// RolledZone is the rollout of a zone to one revision. If the zone gets another
// revision meanwhile, it has two entries.
type RolledZone struct {
	Name     string
	UID      string
	From, To string // revisions
	Budget   int    // how many pods could be down at a time when it began
	Since    time.Time
	Until    time.Time // zero: it is in progress
	Replaced int       // pods so far
	Pods     []RolledPod
	Exported bool // the trace collector has its span
}

// Over reports whether the rollout of the zone has ended.
func (z RolledZone) Over() bool { return !z.Until.IsZero() }

// RolledPod is a pod that a rollout has replaced, or updated in place. It is kept until its
// span is known to be exported.
type RolledPod struct {
	Name      string
	UID       string // of the pod that was deleted
	Successor string // the pod that took its place; empty: a pod of the same name, or none yet
	Open      bool   // its successor does not exist, or is not Ready yet
	Cause     reason.Code
	Deleted   time.Time // when its deletion was recorded, just before the request
	Recreated time.Time // when its successor was created, so the pod was gone
	Ready     time.Time // when its successor became Ready; zero: the successor was replaced before
	Seen      bool      // a process observed that it became Ready; else Ready is the condition's time, in whole seconds
}
