package plan

import (
	"fmt"
	"time"
)

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

// Phase is the part of a pod's state that decisions depend on.
type Phase uint8 // small, because every cached pod has one

const (
	// Starting: the pod exists and is not Ready.
	Starting Phase = iota
	// Failing: not Ready, and a container waits for a reason that does not resolve itself.
	Failing
	// Ready: the Ready condition is true and the pod is not terminating.
	Ready
	// Terminating: the pod is being deleted, whatever its conditions say.
	Terminating
)

// Up reports whether the pod serves, so that its disruption costs availability.
func (p Pod) Up() bool { return p.Phase == Ready }

// Callable reports whether the pod runs, or has run, so that it may have to be called
// before it leaves. A pod that never ran, has ended or is terminating has nothing to prepare.
func (p Pod) Callable() bool { return p.IP != "" && p.Phase != Terminating }

// StableAt returns when a Ready pod has been Ready for minReady.
func (p Pod) StableAt(minReady time.Duration) time.Time { return p.ReadySince.Add(minReady) }

// Available reports whether the pod is Ready and has been Ready for minReady.
func (p Pod) Available(minReady time.Duration, now time.Time) bool {
	return p.Up() && (minReady <= 0 || !now.Before(p.StableAt(minReady)))
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
	case Terminating:
		return "terminating"
	}
	return fmt.Sprintf("Phase(%d)", int(p))
}
