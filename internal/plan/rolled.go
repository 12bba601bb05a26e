package plan

import (
	"strings"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// Rollouts is what a group's Lease remembers for people: traces, history, how long it
// may take. No decision depends on it.
type Rollouts struct {
	Current  RolledGroup   // under way; the zero one: none is
	Finished []RolledGroup // of late, the newest first
}

// RolledGroup is one rollout of a group, from the first pod that it takes down until
// every zone is done.
type RolledGroup struct {
	Trace    string // W3C traceparent of its span; empty: it has none
	Since    time.Time
	Until    time.Time    // zero: it is under way
	Zones    []RolledZone // in the order in which they began
	Exported bool         // whoever collects traces has its span
}

// Begun reports whether there is such a rollout.
func (r RolledGroup) Begun() bool { return !r.Since.IsZero() }

// Over reports whether it has come to its end.
func (r RolledGroup) Over() bool { return !r.Until.IsZero() }

// Traced reports whether its spans are collected: it has a trace, which is sampled.
func (r RolledGroup) Traced() bool {
	flags := r.Trace[max(0, len(r.Trace)-1):]
	return flags != "" && strings.Contains("13579bdf", flags)
}

// RolledZone is a zone's way to one revision. A zone that is asked for another one
// meanwhile is there twice.
type RolledZone struct {
	Name     string
	UID      string
	From, To string // revisions
	Budget   int    // how many pods might be down at a time when it began
	Since    time.Time
	Until    time.Time // zero: it is under way
	Replaced int       // pods so far
	Pods     []RolledPod
	Exported bool // whoever collects traces has its span
}

// Over reports whether it has come to its end.
func (z RolledZone) Over() bool { return !z.Until.IsZero() }

// RolledPod is a pod that a rollout has replaced, as long as its span may not have
// been exported yet.
type RolledPod struct {
	Name      string
	UID       string // of the pod that was deleted
	Cause     reason.Code
	Deleted   time.Time // when its deletion was noted, just before it was sent
	Recreated time.Time // when its successor was created, for which it had to be gone
	Ready     time.Time // when its successor became Ready; zero: that one was replaced before
	Seen      bool      // a process saw it become Ready; else Ready is the condition's time, in whole seconds
}
