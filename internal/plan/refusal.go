package plan

import (
	"strings"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// Refusal is an objection of a guard. The zero Refusal is none.
type Refusal struct {
	Code   reason.Code
	Zone   string    // the zone that stands in the way, if it is another one
	Pod    string    // the pod that stands in the way
	Detail string    // bounded text of ours, a container's waiting reason or, once planned, what Kubernetes knows of the pod
	Until  time.Time // when it ends by time alone, unless it is renewed; zero: an event will tell
}

// Deadline returns Until if people may rely on it, and else the zero time: a place in the
// queue lasts longer with each attempt of the operation that has it.
func (r Refusal) Deadline() time.Time {
	if r.Code == reason.QueuedBehindOtherZone {
		return time.Time{}
	}
	return r.Until
}

// None reports whether there is no objection.
func (r Refusal) None() bool { return r.Code == "" }

// String returns the code, then what stands in the way.
func (r Refusal) String() string {
	if r.None() {
		return "no objection"
	}
	parts := []string{string(r.Code)}
	pod, zone := Plain(r.Pod, longestName), Plain(r.Zone, longestName)
	switch {
	case pod != "" && zone != "":
		parts = append(parts, pod+" of "+zone)
	case pod != "" || zone != "":
		parts = append(parts, pod+zone)
	}
	if r.Detail != "" {
		parts = append(parts, "("+Plain(r.Detail, longestText)+")")
	}
	return strings.Join(parts, " ")
}

// Sentence spells the refusal for people, with what stands in the way.
func (r Refusal) Sentence() string {
	var about []string
	if r.Zone != "" {
		about = append(about, "zone "+Plain(r.Zone, longestName))
	}
	if r.Pod != "" {
		about = append(about, "pod "+Plain(r.Pod, longestName))
	}
	if r.Detail != "" {
		about = append(about, Plain(r.Detail, longestText))
	}
	if len(about) == 0 {
		return r.Code.Sentence()
	}
	return r.Code.Sentence() + " (" + strings.Join(about, ", ") + ")"
}
