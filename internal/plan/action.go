package plan

import (
	"strings"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// Action is one thing to do, or to wait for. It says itself what lockstep has to know of it: the
// executor carries it out in the order that it names, the lock asks whether it requires a live read
// or a write of the Lease, and reports show its Event. None of these lists the actions that exist, so
// a further kind of workload adds actions and changes none of them.
type Action interface {
	// Reason returns why the action is in the plan.
	Reason() reason.Code
	// String returns the notation used in logs, traces and golden files.
	String() string
	// Effect returns what the action requires and changes.
	Effect() Effect
	// Event returns what users are told once the action is done. The zero Event is none.
	Event() Event
}

// Effect is what the executor, the lock and reports have to know of an action. The zero Effect is that
// of an action for which nothing is sent.
type Effect struct {
	Zone    string   // where the action changes something; empty: nowhere
	Pod     string   // the pod that it is about, if it is about one
	Order   Order    // when it is carried out
	Visible bool     // it changes what others see, or begins to: pods, StatefulSets, or a resource that zones mirror
	Read    LiveRead // whether it may be decided on caches
	Records bool     // the Lease is written for it, whatever else is due
}

// Order says when the executor carries out an action of a plan.
type Order int

// What comes first is carried out first.
const (
	// Nowhere: nothing is sent.
	Nowhere Order = iota
	// BeforeLease: before the Lease is written, several at a time. If one fails, the others go on.
	BeforeLease
	// WithLease: the write of the Lease carries it out.
	WithLease
	// Disrupting: pods are deleted, several at a time, under the hold.
	Disrupting
	// UnderHold: one after the other, under the hold.
	UnderHold
	// Calling: pods are called, under the hold. Their answers are not waited for.
	Calling
	// WithoutHold: it requires no hold. It is carried out also if the Lease could not be written, and
	// after the stages under the hold: a zone whose new pods do not exist yet is unavailable.
	WithoutHold
	// Notifying: pods are notified, last. Their answers are not waited for.
	Notifying
)

// LiveRead says whether an action may be decided on caches.
type LiveRead int

const (
	// OnCaches: caches are sufficient.
	OnCaches LiveRead = iota
	// IfInherited: a live read is required if another process wrote the Lease last.
	IfInherited
	// IfNew: a live read is required if the caches show no Lease.
	IfNew
	// Always: a live read is required.
	Always
)

// Event is what users are told of an action that was done.
type Event struct {
	Zone    string
	Pod     string // the pod that it is about; empty: the zone
	PodUID  string
	Action  string // in the words of Events, such as DeletePod
	Note    string
	Warning bool
}

// None reports whether users are told nothing.
func (e Event) None() bool { return e.Note == "" }

// Wake returns the earliest time at which one of the waits ends by time alone, or has to
// be looked at again, and the zero time when an event will tell.
func Wake(steps []Action) time.Time {
	var wake time.Time
	for _, step := range steps {
		if wait, ok := step.(Wait); ok {
			wake = earlier(earlier(wake, wait.Because.Until), wait.Again)
		}
	}
	return wake
}

// Lowers reports whether the plan takes replicas away from a zone.
func Lowers(steps []Action) bool {
	for _, step := range steps {
		if a, ok := step.(SetReplicas); ok && a.To < a.From {
			return true
		}
	}
	return false
}

// Disrupts reports whether the plan deletes a pod.
func Disrupts(steps []Action) bool { return Has[DeletePod](steps) }

// Acts reports whether the plan changes what others see.
func Acts(steps []Action) bool {
	for _, step := range steps {
		if step.Effect().Visible {
			return true
		}
	}
	return false
}

// Has reports whether a plan has an action of one type.
func Has[T Action](steps []Action) bool {
	for _, step := range steps {
		if _, is := step.(T); is {
			return true
		}
	}
	return false
}

// Only returns the actions of one type.
func Only[T Action](steps []Action) []T {
	var found []T
	for _, step := range steps {
		if a, is := step.(T); is {
			found = append(found, a)
		}
	}
	return found
}

// In returns the actions that are carried out in one turn.
func In(order Order, steps []Action) []Action {
	var found []Action
	for _, step := range steps {
		if step.Effect().Order == order {
			found = append(found, step)
		}
	}
	return found
}

// Notation returns a plan as one line per action.
func Notation(steps []Action) string {
	lines := make([]string, len(steps))
	for i, step := range steps {
		lines[i] = step.String()
	}
	return strings.Join(lines, "\n")
}

// Recorder is an action that changes what the Lease records of its kind of workload.
type Recorder interface {
	Action
	// Record changes the record that is written next. It shares no memory of the one before.
	Record(next *Hold)
}
