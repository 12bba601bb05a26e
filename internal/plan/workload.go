package plan

import "time"

// Workload is a workload of any kind, as observed once: all that the lock, the executor and reports must know of it.
// The snapshot of each kind implements it. What is observed does not change afterwards.
type Workload interface {
	// View returns which workload it is, and how it was observed.
	View() View
	// Record returns what its Lease records.
	Record() Record
	// NextPart returns the part that the next write of the Lease records. recorded is the present part with what the
	// actions of the plan record in it, and intents are those of that write.
	NextPart(recorded Part, intents []Intent) Part
	// IntentStatus returns the status of an intent.
	IntentStatus(i Intent) IntentStatus
	// Pod returns the pod of that name.
	Pod(name string) (Pod, bool)
	// Units returns the units in order.
	Units() []Unit
	// Rollout returns how far the rollout of a unit is. The unit must exist.
	Rollout(unit string) UnitRollout
	// RolledOut reports whether no unit that lockstep rolls out has an outdated pod.
	RolledOut() bool
	// Gone reports whether nothing of the workload exists any more, so that nothing needs its lock.
	Gone() bool
	// Due returns times at which the workload must be evaluated again, although no event occurs and no action waits
	// for them. The zero time is none.
	Due() []time.Time
	// Remarks returns what a person should correct, also if nothing waits for it.
	Remarks() []Wait
	// Shown returns what is observed in a form that can be compared with another observation.
	Shown() Shown
}

// View is which workload was observed, and how.
type View struct {
	Key        Key
	APIVersion string // of the objects of its units
	Kind       string
	Now        time.Time
	Live       bool // read live, not from caches
	// Operation is the operation under which its pods are deleted.
	Operation Operation
	// Shared: it waits for pods that other workloads may disrupt under their own locks.
	Shared bool
}

// Unit is a part of a workload that lockstep rolls out as a whole: a zone of a rollout group. The name is that which
// actions, intents and holders have in their field Zone.
type Unit struct {
	Name     string
	UID      string        // of its object
	MinReady time.Duration // minReadySeconds
}

// UnitRollout is how far the rollout of a unit is.
type UnitRollout struct {
	From, To string // the current and the update revision
	Observed bool   // the revisions belong to the newest spec
	Budget   int    // how many of its pods may be down
	Paused   bool   // none of its pods is updated now
	Done     bool   // every desired pod exists, is available, and has the update revision
	// Available: every desired pod exists and is available, at any revision.
	Available bool
}

// UnitOf returns the unit of that name.
func UnitOf(w Workload, name string) (Unit, bool) {
	for _, u := range w.Units() {
		if u.Name == name {
			return u, true
		}
	}
	return Unit{}, false
}

// Shown is what one observation shows of the objects of a workload and their versions.
type Shown struct {
	ObjectsAt Version // no state of an object with pods that is older than this is shown as present or absent
	PodsAt    Version // the same for pods
	Objects   []ShownObject
	Strays    []Pod // pods that belong to none of the objects
}

// ShownObject is an object that has pods, such as a StatefulSet.
type ShownObject struct {
	Name    string
	UID     string
	Version Version
	Outside bool // it is no part of the workload now
	Pods    []Pod
	Orphans []Pod   // of a former object of that name
	PodsAt  Version // of the read of its pods, if that is later than that of the observation
}

// Object returns the object of that name that is part of the workload.
func (s *Shown) Object(name string) (ShownObject, bool) {
	for i := range s.Objects {
		if o := &s.Objects[i]; o.Name == name && !o.Outside {
			return *o, true
		}
	}
	return ShownObject{}, false
}

// Pod returns the pod of that name, of any object or of none.
func (s *Shown) Pod(name string) (Pod, bool) {
	for i := range s.Objects {
		for _, pods := range [][]Pod{s.Objects[i].Pods, s.Objects[i].Orphans} {
			if p, exists := podNamed(pods, name); exists {
				return p, true
			}
		}
	}
	return podNamed(s.Strays, name)
}

func podNamed(pods []Pod, name string) (Pod, bool) {
	for i := range pods {
		if pods[i].Name == name {
			return pods[i], true
		}
	}
	return Pod{}, false
}
