package judge

import (
	"fmt"
	"strconv"
	"time"
)

// Fact is one state of one object as the API server told it. Versions of all
// kinds are one sequence, since they share one store. Exactly one of the states
// is set.
type Fact struct {
	Version   uint64
	At        time.Time // when it was heard of
	Namespace string
	Pod       *Pod
	Zone      *Zone
	Hold      *Hold
	Home      *Home
}

// Pod is what the judge looks at in a pod.
type Pod struct {
	Name       string
	UID        string
	Owner      string // UID of the StatefulSet that controls it
	Revision   string
	Ready      bool // its Ready condition, whether or not it is leaving
	ReadySince time.Time
	Leaving    bool
	Gone       bool
}

// Up reports whether a pod serves. No pod does not.
func (p *Pod) Up() bool { return p != nil && p.Ready && !p.Leaving && !p.Gone }

// Zone is what the judge looks at in a StatefulSet.
type Zone struct {
	Name     string
	UID      string
	Group    string
	Grouped  bool
	Replicas int
	Start    int
	MinReady time.Duration
	Budget   int
	Apart    time.Duration // at least, between its decreases and those of others
	Paused   bool
	Until    time.Time // when the pause is over; zero: when somebody ends it
	OnDelete bool
	Revision string // the update revision
	Gone     bool
}

// stands reports whether a zone is paused at a time.
func (z *Zone) stands(now time.Time) bool {
	return z.Paused && (z.Until.IsZero() || now.Before(z.Until))
}

// asksFor reports whether a zone asks for a pod of an ordinal.
func (z *Zone) asksFor(ordinal int) bool { return z.Start <= ordinal && ordinal < z.Start+z.Replicas }

// Pods returns the names of the pods that a zone asks for.
func (z *Zone) Pods() []string {
	var names []string
	for n := range z.Replicas {
		names = append(names, podName(z.Name, z.Start+n))
	}
	return names
}

// Hold is what the judge looks at in the Lease of a group.
type Hold struct {
	Group   string
	Holder  string
	Notes   []Note
	Shrinks Shrink // the decrease that is noted, if any
	Gone    bool
}

// Shrink is an intent to shrink a zone, as it stands in the Lease of a group.
type Shrink struct {
	Zone    string // empty: none
	UID     string
	Version uint64 // of the StatefulSet that was judged, and that the update will apply to
	To      int
}

// Note is an intent to take a pod down, as it stands in the Lease of a group.
type Note struct {
	Pod     string
	UID     string
	Version uint64 // that the deletion will require
}

// Home is what the judge looks at in a Namespace.
type Home struct {
	Labels map[string]string
	Gone   bool
}

// String tells a fact as one line of a failure's report.
func (f Fact) String() string {
	when := f.At.Format("05.000") + " " + strconv.FormatUint(f.Version, 10)
	switch {
	case f.Pod != nil:
		return fmt.Sprintf("%s pod %s %s ready=%t leaving=%t gone=%t", when, f.Pod.Name, f.Pod.Revision, f.Pod.Ready, f.Pod.Leaving, f.Pod.Gone)
	case f.Zone != nil:
		return fmt.Sprintf("%s zone %s replicas=%d revision=%s paused=%t gone=%t", when, f.Zone.Name, f.Zone.Replicas, f.Zone.Revision, f.Zone.Paused, f.Zone.Gone)
	case f.Home != nil:
		return fmt.Sprintf("%s namespace %s labels=%v gone=%t", when, f.Namespace, f.Home.Labels, f.Home.Gone)
	}
	return fmt.Sprintf("%s lease of %q holder=%q notes=%d gone=%t", when, f.Hold.Group, f.Hold.Holder, len(f.Hold.Notes), f.Hold.Gone)
}
