package judge

import (
	"fmt"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/labels"
)

// Event is one state of one object as a watch delivered it. The versions of all kinds form one
// sequence because they share one etcd. Exactly one of the states is set.
type Event struct {
	Version        uint64
	At             time.Time // when the event arrived
	Namespace      string
	Pod            *Pod
	Zone           *Zone
	Hold           *Hold
	NamespaceState *NamespaceState
	Pool           *Pool
	PoolHold       *PoolHold
	Claim          *Claim
}

// Pod is the part of a pod that the judge reads.
type Pod struct {
	Name        string
	UID         string
	Owner       string // UID of the controlling StatefulSet; empty: none, so it may be adopted
	Labels      map[string]string
	Revision    string
	Images      string // of its containers
	Containers  string // the IDs of those that run
	Update      string // what lockstep notes about its update in place
	Claims      []string
	Ready       bool // the Ready condition, even of a terminating pod
	ReadySince  time.Time
	Terminating bool
	Deleted     bool

	// TerminatedAt is when the API server began to terminate the pod, by its clock and in whole seconds; zero: unknown.
	TerminatedAt time.Time
}

// Serving reports whether a pod exists, is ready and is not terminating.
func (p *Pod) Serving() bool { return p != nil && p.Ready && !p.Terminating && !p.Deleted }

// Zone is the part of a StatefulSet that the judge reads.
type Zone struct {
	Name                 string
	UID                  string
	Group                string
	Grouped              bool
	Replicas             int
	Start                int
	MinReady             time.Duration
	MaxUnavailable       int
	MinBetweenDownscales time.Duration // minimum time between its downscales and those of other zones
	LastDownscale        time.Time     // the time in its annotation; zero: none
	Paused               bool
	PausedUntil          time.Time // when the pause ends; zero: when a user ends it
	OnDelete             bool
	Revision             string // status.updateRevision
	Selector             string // of its pods; empty: it adopts none
	Deleted              bool
}

// adopts reports whether the StatefulSet will adopt a pod: the pod has the name of one of its pods, no
// controller, and matches the selector. Until then the pod serves as one of the zone.
func (z *Zone) adopts(p *Pod) bool {
	parent, _, _ := ordinalOf(p.Name)
	if z.Deleted || z.Selector == "" || parent != z.Name || p.Owner != "" {
		return false
	}
	selector, err := labels.Parse(z.Selector)
	return err == nil && selector.Matches(labels.Set(p.Labels))
}

// pausedAt reports whether a zone is paused at a time.
func (z *Zone) pausedAt(now time.Time) bool {
	return z.Paused && (z.PausedUntil.IsZero() || now.Before(z.PausedUntil))
}

// includes reports whether spec.replicas includes an ordinal.
func (z *Zone) includes(ordinal int) bool { return z.Start <= ordinal && ordinal < z.Start+z.Replicas }

// Pods returns the names of the pods that spec.replicas includes.
func (z *Zone) Pods() []string {
	var names []string
	for n := range z.Replicas {
		names = append(names, podName(z.Name, z.Start+n))
	}
	return names
}

// Hold is the part of a group's Lease that the judge reads.
type Hold struct {
	Group     string
	Holder    string
	Intents   []PodIntent
	Downscale DownscaleIntent // the intended downscale, if any
	Deleted   bool
}

// DownscaleIntent is an intended downscale in the Lease of a group.
type DownscaleIntent struct {
	Zone    string // empty: none
	UID     string
	Version uint64 // resourceVersion of the StatefulSet, which the update requires
	To      int
}

// PodIntent is an intended disruption of a pod in the Lease of a group.
type PodIntent struct {
	Pod     string
	UID     string
	Version uint64 // resourceVersion that the deletion requires
}

// NamespaceState is the part of a Namespace that the judge reads.
type NamespaceState struct {
	Labels  map[string]string
	Deleted bool
}

// String returns the event as one line of a failure report.
func (e Event) String() string {
	when := e.At.Format("05.000") + " " + strconv.FormatUint(e.Version, 10)
	switch {
	case e.Pod != nil:
		return fmt.Sprintf("%s pod %s %s %s ready=%t terminating=%t deleted=%t", when, e.Pod.Name, e.Pod.UID, e.Pod.Revision, e.Pod.Ready, e.Pod.Terminating, e.Pod.Deleted)
	case e.Zone != nil:
		return fmt.Sprintf("%s zone %s replicas=%d revision=%s paused=%t deleted=%t", when, e.Zone.Name, e.Zone.Replicas, e.Zone.Revision, e.Zone.Paused, e.Zone.Deleted)
	case e.NamespaceState != nil:
		return fmt.Sprintf("%s namespace %s labels=%v deleted=%t", when, e.Namespace, e.NamespaceState.Labels, e.NamespaceState.Deleted)
	}
	if e.Pool != nil {
		return fmt.Sprintf("%s StatefulCluster %s replicas=%d deleted=%t", when, e.Pool.Name, e.Pool.Replicas, e.Pool.Deleted)
	}
	if e.PoolHold != nil {
		return fmt.Sprintf("%s lease of StatefulCluster %q intents=%v deleted=%t", when, e.PoolHold.Pool, e.PoolHold.Intents, e.PoolHold.Deleted)
	}
	if e.Claim != nil {
		return fmt.Sprintf("%s claim %s retired=%t ending=%t", when, e.Claim.Name, e.Claim.Retired, e.Claim.Ending)
	}
	return fmt.Sprintf("%s lease of %q holder=%q intents=%d deleted=%t", when, e.Hold.Group, e.Hold.Holder, len(e.Hold.Intents), e.Hold.Deleted)
}
