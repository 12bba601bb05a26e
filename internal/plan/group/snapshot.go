package group

import (
	"slices"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
)

// Snapshot is everything that a decision may depend on, as observed at Now.
type Snapshot struct {
	Key         plan.Key
	Now         time.Time
	Live        bool               // read live, not from caches; StatefulSets at least as new as deletions of recorded pods
	Hold        Hold               // the group's lock
	Called      PodCall            // the last calls of this process to pods about a downscale
	Budgets     []DisruptionBudget // of the namespace, in order of names, including unusable ones
	Unread      bool               // budgets could not be read, so there may be more
	Zones       []Zone             // in natural order of names
	FormerZones []FormerZone       // zones that the hold records and the group no longer has
	Strays      []plan.Pod         // pods with an intent that belong to no zone of the group any more
	ZonesAt     plan.Version       // no state of a StatefulSet older than this is shown as present or absent
	PodsAt      plan.Version       // the same for pods
}

// Zone is one StatefulSet of the group.
type Zone struct {
	Name            string
	UID             string
	Version         plan.Version
	Selector        string // of its pods, as a label selector
	Generation      int64  // how often the spec has changed
	Replicas        int
	Start           int // first ordinal
	UpdateRevision  string
	CurrentRevision string
	Observed        bool // the status belongs to the newest spec and names its revision
	Counting        bool // the status names two revisions and does not say yet that every pod is Ready at the newer one
	Deleting        bool
	OnDelete        bool
	MinReady        time.Duration // minReadySeconds
	Elsewhere       bool          // it belongs to another group, and only has to be available

	// Settings from its labels and annotations.

	Ignored        bool   // lockstep ignores it, so it is in no group
	InvalidGroup   string // invalid group name in its annotation; its label counts
	Paused         bool
	PausedUntil    plan.Moment // when the pause is over; none: when a person ends it
	MaxUnavailable plan.Budget
	MinBetween     Span        // minimum time between a downscale of another zone and one of this zone
	Downscaled     plan.Moment // when it was last scaled down, by its annotation
	Prepares       bool        // pods that leave are called first, to prepare
	Call           Call        // how they are called
	Leader         string      // the zone whose replicas this zone follows; empty: none
	AfterLeader    bool        // it is scaled up only once its leader is available
	Forced         Force       // replicas that a person demands; they take precedence over all other requests
	Barred         bool        // it must not be scaled down
	Mirror         Mirror      // the resource whose replicas it takes over
	Delay          Delay       // how long pods wait before they leave
	WithoutEffect  string      // which labels and annotations have no effect

	Contest Contest // what this process remembers of other writers of its replicas

	// Its pods.

	Pods          []plan.Pod              // owned by the StatefulSet, by ascending ordinal
	Orphans       []plan.Pod              // of a former StatefulSet of that name; the selector of this one does not match them
	Notifications map[string]Notification // the last messages to its pods, by UID; nil without a delay, unless the hold records a pod
	PodsAt        plan.Version            // of the live read of its pods, if that is later than the snapshot's
}

// Call is how a zone's pods are called.
type Call struct {
	TLS     bool
	Port    int
	Path    string // including the query
	Service string // that gives the pods their DNS names
	Invalid string // what is wrong with it
	Missing string // the first missing setting, if that is what is wrong
}

// Force is a number of replicas that a person demands for a zone. The zero Force is none.
type Force struct {
	Given    bool
	Replicas int
	Invalid  string // the text, if it is not a number; then no number is forced
}

// Span is a duration that a user wrote on an object. The zero Span is none.
type Span struct {
	Duration time.Duration
	Invalid  string // the text, if it is not a duration
}

// PausedAt reports whether the zone is paused at a time. A pause whose end cannot be read
// lasts until a person ends it.
func (z *Zone) PausedAt(now time.Time) bool {
	return z.Paused && z.PausedUntil.PausesAt(now)
}

// Owns reports whether the spec requires the ordinal.
func (z *Zone) Owns(ordinal int) bool {
	return ordinal >= z.Start && ordinal-z.Start < z.Replicas
}

// SameDesiredState reports whether two snapshots have the same zones, each of which asks for the same.
func (s *Snapshot) SameDesiredState(other *Snapshot) bool {
	return slices.EqualFunc(s.Zones, other.Zones, func(a, b Zone) bool { return a.Name == b.Name && a.SameDesiredState(&b) })
}

// SameDesiredState reports whether two states of a StatefulSet ask for the same as far as disruptions depend on it: it is
// the same object with the same spec, and no annotation was changed that allows, forbids or limits disruptions. Status
// and resourceVersion may differ.
func (z *Zone) SameDesiredState(other *Zone) bool {
	return z.UID == other.UID && z.Generation == other.Generation && z.Deleting == other.Deleting &&
		z.Ignored == other.Ignored && z.InvalidGroup == other.InvalidGroup &&
		z.Paused == other.Paused && z.PausedUntil.Equal(other.PausedUntil) && z.MaxUnavailable == other.MaxUnavailable &&
		z.MinBetween == other.MinBetween && z.Downscaled.Equal(other.Downscaled) &&
		z.Forced == other.Forced && z.Leader == other.Leader && z.Barred == other.Barred
}

// Wants reports whether the spec requires a pod of that name.
func (z *Zone) Wants(pod string) bool {
	ordinal, ok := plan.OrdinalOf(z.Name, pod)
	return ok && z.Owns(ordinal)
}

// Outdated reports whether the pod has another revision than the update revision of the
// zone. No pod is outdated while the zone has no update revision yet.
func (z *Zone) Outdated(p plan.Pod) bool {
	return z.UpdateRevision != "" && p.Revision != z.UpdateRevision
}

// Zone returns the zone of that name.
func (s *Snapshot) Zone(name string) (Zone, bool) {
	for i := range s.Zones {
		if s.Zones[i].Name == name {
			return s.Zones[i], true
		}
	}
	return Zone{}, false
}

// Pod returns the pod of that name, in any zone or outside of all zones.
func (s *Snapshot) Pod(name string) (plan.Pod, bool) {
	for i := range s.Zones {
		if p, ok := s.Zones[i].podOrOrphan(name); ok {
			return p, true
		}
	}
	for i := range s.FormerZones {
		if p, ok := s.FormerZones[i].podOrOrphan(name); ok {
			return p, true
		}
	}
	for _, p := range s.Strays {
		if p.Name == name {
			return p, true
		}
	}
	return plan.Pod{}, false
}

func (z *Zone) pod(name string) (plan.Pod, bool) {
	for i := range z.Pods {
		if z.Pods[i].Name == name {
			return z.Pods[i], true
		}
	}
	return plan.Pod{}, false
}
