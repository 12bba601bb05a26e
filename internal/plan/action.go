package plan

import (
	"slices"
	"strings"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// Action is one thing to do, or to wait for. It describes everything that lockstep must know of it: the
// executor carries it out in the Order that it names, package hold checks whether it requires a live read
// or a write of the Lease, and reports show its Event. None of these has a list of all actions, so another
// kind of workload adds actions and changes no list of theirs.
type Action interface {
	// Reason returns why the action is in the plan.
	Reason() reason.Code
	// String returns the notation used in logs, traces and golden files.
	String() string
	// Effect returns what the action requires and changes.
	Effect() Effect
	// Event returns what users see once the action is done. The zero Event is none.
	Event() Event
}

// Effect is what the executor, the lock and reports must know of an action. An action for which no request
// is sent has the zero Effect.
type Effect struct {
	Zone    string   // the zone that the action changes; empty: none
	Pod     string   // the pod that the action is about; empty: none
	Order   Order    // when the action is carried out
	Visible bool     // it changes objects that other clients see, or begins to: pods, StatefulSets, or a mirrored resource
	Read    LiveRead // whether the action requires a live read
	Records bool     // the Lease is written for the action, even if no other write is due
	// Disrupts: pods may leave because of it, so what the plan assumes is read again just before (ADR 30).
	Disrupts bool
	// EndsBeforeExpiry: the hold covers its request, so the request ends before the hold can expire, also if the plan does
	// not write the Lease.
	EndsBeforeExpiry bool
	// Resizes: it decides which pods of its zone leave. If it fails, no pod of the zone is notified.
	Resizes bool
}

// Order says when the executor carries out an action of a plan.
type Order int

// The orders, first to last.
const (
	// Nowhere: no request is sent.
	Nowhere Order = iota
	// BeforeLease: before the Lease is written, concurrently. If one action fails, the others continue.
	BeforeLease
	// WithLease: the write of the Lease carries it out.
	WithLease
	// Disrupting: pods are deleted under the hold, concurrently.
	Disrupting
	// UnderHold: under the hold, one after the other in each zone.
	UnderHold
	// Calling: pods are called under the hold. The executor does not wait for their answers.
	Calling
	// WithoutHold: the action requires no hold. It is carried out even if the Lease could not be written,
	// and after the stages under the hold: a zone is unavailable until its new pods exist.
	WithoutHold
	// Notifying: pods are notified, last. The executor does not wait for their answers.
	Notifying
)

// LiveRead says whether an action requires a live read.
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

// Event is what users see of an action that was done.
type Event struct {
	Zone    string
	Pod     string // the pod that the Event is about; empty: it is about the zone
	PodUID  string
	Action  string // as in the Events of Kubernetes, such as DeletePod
	Note    string
	Warning bool
}

// None reports whether there is nothing to show to users.
func (e Event) None() bool { return e.Note == "" }

// Wake returns the earliest time at which one of the waits ends, or must be evaluated again, without an
// event. It returns the zero time if only an event can end the waits.
func Wake(steps []Action) time.Time {
	var wake time.Time
	for _, step := range steps {
		if wait, ok := step.(Wait); ok {
			for _, at := range []time.Time{wait.Because.Until, wait.Again} {
				if !at.IsZero() && (wake.IsZero() || at.Before(wake)) {
					wake = at
				}
			}
		}
	}
	return wake
}

// Disrupts reports whether pods may leave because of the plan.
func Disrupts(steps []Action) bool {
	return slices.ContainsFunc(steps, func(step Action) bool { return step.Effect().Disrupts })
}

// Acts reports whether the plan has an action with a visible effect.
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

// In returns the actions of one Order.
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

// LongestInLog is the maximum length of a plan in a line of a log, in bytes.
const LongestInLog = 10_000

// InOneLine returns a plan in one line of at most so many bytes.
func InOneLine(steps []Action, most int) string {
	return Plain(strings.ReplaceAll(Notation(steps), "\n", "; "), most)
}
