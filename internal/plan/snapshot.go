package plan

import (
	"fmt"
	"strconv"
	"time"
)

// Version is a resourceVersion as a number. Versions of one kind of object are
// ordered; zero is older than every object.
type Version uint64

// ParseVersion parses a resourceVersion. The second result is false if the text is not a
// number (KEP-5504); the Version is then older than every object.
func ParseVersion(text string) (Version, bool) {
	v, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, false
	}
	return Version(v), true
}

// String returns the resourceVersion as the API server writes it.
func (v Version) String() string { return strconv.FormatUint(uint64(v), 10) }

// Snapshot is everything that a decision may depend on, as observed at Now.
type Snapshot struct {
	Key     Key
	Now     time.Time
	Live    bool               // read live, not from caches; StatefulSets at least as new as deletions of recorded pods
	Hold    Hold               // the group's lock
	Asked   Asked              // the last calls of this process to pods about a downscale
	Budgets []DisruptionBudget // of the namespace, in order of names, including unusable ones
	Unread  bool               // budgets could not be read, so there may be more
	Zones   []Zone             // in natural order of names
	Left    []LeftZone         // zones that the hold records and the group no longer has
	Strays  []Pod              // pods with an intent that belong to no zone of the group any more
	ZonesAt Version            // no state of a StatefulSet older than this is shown as present or absent
	PodsAt  Version            // the same for pods
}

// Zone is one StatefulSet of the group.
type Zone struct {
	Name            string
	UID             string
	Version         Version
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
	PausedUntil    Moment // when the pause is over; none: when a person ends it
	MaxUnavailable Budget
	MinBetween     Span   // minimum time between a downscale of another zone and one of this zone
	Downscaled     Moment // when it was last scaled down, by its annotation
	Prepares       bool   // pods that leave are called first, to prepare
	Call           Call   // how they are called
	Leader         string // the zone whose replicas this zone follows; empty: none
	AfterLeader    bool   // it is scaled up only once its leader is available
	Forced         Force  // replicas that a person demands; they take precedence over all other requests
	Barred         bool   // it must not be scaled down
	Mirror         Mirror // the resource whose replicas it takes over
	Delay          Delay  // how long pods wait before they leave
	WithoutEffect  string // which labels and annotations have no effect

	Contest Contest // what this process remembers of other writers of its replicas

	// Its pods.

	Pods    []Pod           // owned by the StatefulSet, by ascending ordinal
	Orphans []Pod           // of a former StatefulSet of that name; the selector of this one does not match them
	Told    map[string]Told // the last messages to its pods, by UID; nil without a delay, unless the hold records a pod
	PodsAt  Version         // of the live read of its pods, if that is later than the snapshot's
}

// Pod is one pod of a zone.
type Pod struct {
	Name       string
	Ordinal    int
	UID        string
	Version    Version
	Revision   string
	ReadySince time.Time // if Phase is Ready
	Created    UnixTime
	Seen       Sightings // when this process observed Created and ReadySince
	Why        string    // the waiting reason of a container, if Phase is Failing
	IP         string    // empty until the pod has run, and after it has ended
	Phase      Phase
	OnHost     bool // its address is that of its node
	Unadopted  bool // no StatefulSet controls it; its zone's StatefulSet will adopt it, unless it is one of Orphans
	Labels     Labels
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

// Moment is a time that a user wrote on an object. The zero Moment is none.
type Moment struct {
	Time    time.Time
	Invalid string // the text, if it is not a time
}

// Span is a duration that a user wrote on an object. The zero Span is none.
type Span struct {
	Duration time.Duration
	Invalid  string // the text, if it is not a duration
}

// Phase is the part of a pod's state that decisions depend on.
type Phase uint8 // small, because every cached pod has one

const (
	// Starting: the pod exists and is not Ready.
	Starting Phase = iota
	// Failing: not Ready, and a container waits for a reason that does not resolve itself.
	Failing
	// Ready: the Ready condition is true and the pod is not terminating.
	Ready
	// Leaving: the pod is terminating, whatever its conditions say.
	Leaving
)

// Up reports whether the pod serves, so that its disruption costs availability.
func (p Pod) Up() bool { return p.Phase == Ready }

// Callable reports whether the pod runs, or has run, so that it may have to be called
// before it leaves. A pod that never ran, has ended or is leaving has nothing to prepare.
func (p Pod) Callable() bool { return p.IP != "" && p.Phase != Leaving }

// StableAt returns when a Ready pod has been Ready for minReady.
func (p Pod) StableAt(minReady time.Duration) time.Time { return p.ReadySince.Add(minReady) }

// Available reports whether the pod is Ready and has been Ready for minReady.
func (p Pod) Available(minReady time.Duration, now time.Time) bool {
	return p.Up() && (minReady <= 0 || !now.Before(p.StableAt(minReady)))
}

// PausedAt reports whether the zone is paused at a time. A pause whose end cannot be read
// lasts until a person ends it.
func (z *Zone) PausedAt(now time.Time) bool {
	return z.Paused && (z.PausedUntil.Time.IsZero() || now.Before(z.PausedUntil.Time))
}

// Owns reports whether the spec requires the ordinal.
func (z *Zone) Owns(ordinal int) bool {
	return ordinal >= z.Start && ordinal-z.Start < z.Replicas
}

// Outdated reports whether the pod has another revision than the update revision of the
// zone. No pod is outdated while the zone has no update revision yet.
func (z *Zone) Outdated(p Pod) bool {
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
func (s *Snapshot) Pod(name string) (Pod, bool) {
	for i := range s.Zones {
		if p, ok := s.Zones[i].podOrOrphan(name); ok {
			return p, true
		}
	}
	for i := range s.Left {
		if p, ok := s.Left[i].podOrOrphan(name); ok {
			return p, true
		}
	}
	for _, p := range s.Strays {
		if p.Name == name {
			return p, true
		}
	}
	return Pod{}, false
}

func (z *Zone) pod(name string) (Pod, bool) {
	for i := range z.Pods {
		if z.Pods[i].Name == name {
			return z.Pods[i], true
		}
	}
	return Pod{}, false
}

// String returns the phase in lower case.
func (p Phase) String() string {
	switch p {
	case Starting:
		return "starting"
	case Failing:
		return "failing"
	case Ready:
		return "ready"
	case Leaving:
		return "leaving"
	}
	return fmt.Sprintf("Phase(%d)", int(p))
}
