package plan

import "time"

// Rollouts is what a group's Lease remembers for people: traces, history, how long it
// may take. No decision depends on it.
type Rollouts struct {
	Current  RolledGroup   // under way; the zero one: none is
	Finished []RolledGroup // of late, the newest first
}

// RolledGroup is one rollout of a group, from the first pod that it takes down until
// every zone is done.
type RolledGroup struct {
	Trace string // W3C traceparent of its span; empty: it has none
	Since time.Time
	Until time.Time // zero: it is under way
	Zones []RolledZone
}

// RolledZone is the part of one zone in a rollout, in the order in which zones began.
type RolledZone struct {
	Name     string
	UID      string
	From, To string // revisions
	Since    time.Time
	Until    time.Time // zero: it is under way
	Replaced int       // pods so far
	Pods     []RolledPod
}

// RolledPod is a pod that a rollout has replaced, as long as its span may not have
// been exported yet.
type RolledPod struct {
	Name      string
	UID       string // of the pod that was deleted
	Deleted   time.Time
	Recreated time.Time
	Ready     time.Time
}
