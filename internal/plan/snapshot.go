package plan

import (
	"fmt"
	"strconv"
	"time"
)

// Version is a resourceVersion as a number. Versions of one kind of object are
// ordered; zero is older than every object.
type Version uint64

// ParseVersion reads a resourceVersion. The second result is false for a text
// that is no version (KEP-5504), which is then older than every object.
func ParseVersion(text string) (Version, bool) {
	v, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, false
	}
	return Version(v), true
}

// String returns the resourceVersion as the API server writes it.
func (v Version) String() string { return strconv.FormatUint(uint64(v), 10) }

// Snapshot is everything a decision may depend on, as observed at Now.
type Snapshot struct {
	Key     Key
	Now     time.Time
	Live    bool               // read from the API server just now, not from caches; StatefulSets at least as new as deletions of noted pods
	Hold    Hold               // the group's lock
	Asked   Asked              // what this process asked pods last about a downscale
	Budgets []DisruptionBudget // of the namespace, in order of names, those that cannot be used among them
	Unread  bool               // budgets could not be read, so there may be others
	Zones   []Zone             // in natural order of names
	Left    []LeftZone         // that the hold remembers and the group no longer has
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
	Observed        bool // status belongs to the newest spec and names its revision
	Counting        bool // status names two revisions and does not say yet that every pod is Ready at the newer one
	Deleting        bool
	OnDelete        bool
	MinReady        time.Duration // minReadySeconds
	Elsewhere       bool          // it belongs to another group, and only has to be whole

	// What its labels and annotations ask for.

	Ignored        bool   // lockstep leaves it alone, so it is in no group
	InvalidGroup   string // what is written instead of the group's name; its label counts
	Paused         bool
	PausedUntil    Moment // when the pause is over; none: when somebody ends it
	MaxUnavailable Budget
	MinBetween     Span   // at least so long between a downscale of another zone and one of this
	Downscaled     Moment // when it shrank last, by its annotation
	Prepares       bool   // pods that leave are asked to prepare first
	Call           Call   // how they are asked
	Leader         string // the zone that this one follows with its replicas; empty: none
	AfterLeader    bool   // it grows only once its leader is whole
	Forced         Force  // replicas that a person demands, whatever else is asked for
	Barred         bool   // it must not shrink
	Mirror         Mirror // the resource whose replicas it takes over
	Delay          Delay  // for how long who leaves waits
	WithoutEffect  string // which of them are written so that nobody hears them

	Contest Contest // what this process remembers of writers of its replicas

	// Its pods.

	Pods    []Pod           // owned by the StatefulSet, by ascending ordinal
	Orphans []Pod           // of a former StatefulSet of that name, which this one does not adopt: its selector does not match them
	Told    map[string]Told // what they were told last, by UID; nil without a delay, unless the hold notes some of them
	PodsAt  Version         // of the live read of its pods, where that is later than the snapshot's
}

// Pod is one pod of a zone.
type Pod struct {
	Name       string
	Ordinal    int
	UID        string
	Version    Version
	Revision   string
	ReadySince time.Time // when Phase is Ready
	Created    UnixTime
	Seen       Sightings // when this process saw both
	Why        string    // the waiting reason of a container, when Phase is Failing
	IP         string    // empty until it runs, and once it has ended for good
	Phase      Phase
	OnHost     bool // it has its node's address
	Unadopted  bool // no StatefulSet controls it; that of its zone adopts it sooner or later, unless it is among the zone's Orphans
	Labels     Labels
}

// Call says how a zone's pods are called.
type Call struct {
	TLS     bool
	Port    int
	Path    string // with its query
	Service string // that gives the pods their names
	Invalid string // what is wrong with it
	Missing string // the first of what it needs that is not there, where that is what is wrong
}

// Force is a number of replicas that a person demands of a zone. The zero Force
// is none.
type Force struct {
	Given    bool
	Replicas int
	Invalid  string // what was written instead of a number; nothing is forced
}

// Moment is a time that somebody wrote on an object. The zero Moment is none.
type Moment struct {
	Time    time.Time
	Invalid string // what was written instead of a time
}

// Span is a duration that somebody wrote on an object. The zero Span is none.
type Span struct {
	Duration time.Duration
	Invalid  string // what was written instead of a duration
}

// Phase is the part of a pod's state that decisions depend on.
type Phase uint8 // small: every pod that is cached has one

const (
	// Starting: the pod exists and is not Ready.
	Starting Phase = iota
	// Failing: not Ready, and a container waits for a reason that does not pass by itself.
	Failing
	// Ready: the Ready condition is true and the pod is not terminating.
	Ready
	// Leaving: the pod is terminating, whatever its conditions say.
	Leaving
)

// Up reports whether the pod serves: taking it down costs availability.
func (p Pod) Up() bool { return p.Phase == Ready }

// Callable reports whether the pod runs, or did, so that it may have to be asked
// before it leaves. One that never ran, has ended or is leaving has nothing to
// prepare any more.
func (p Pod) Callable() bool { return p.IP != "" && p.Phase != Leaving }

// StableAt returns when a Ready pod has been so for minReady.
func (p Pod) StableAt(minReady time.Duration) time.Time { return p.ReadySince.Add(minReady) }

// Available reports whether the pod is Ready and has been so for minReady.
func (p Pod) Available(minReady time.Duration, now time.Time) bool {
	return p.Up() && (minReady <= 0 || !now.Before(p.StableAt(minReady)))
}

// PausedAt reports whether the zone stands still at a time. A pause whose end cannot be
// read lasts until somebody ends it.
func (z *Zone) PausedAt(now time.Time) bool {
	return z.Paused && (z.PausedUntil.Time.IsZero() || now.Before(z.PausedUntil.Time))
}

// Owns reports whether the ordinal is one that the spec asks for.
func (z *Zone) Owns(ordinal int) bool {
	return ordinal >= z.Start && ordinal-z.Start < z.Replicas
}

// Outdated reports whether the pod runs another revision than the zone asks for.
// Nothing is outdated while the zone has no update revision yet.
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

// Pod returns the pod of that name, in whichever zone or outside all of them.
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
