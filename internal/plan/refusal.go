package plan

import (
	"strings"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// Refusal is an objection of a guard. The zero Refusal is none.
type Refusal struct {
	Code   reason.Code
	Zone   string    // the zone that is the cause, if it is another one
	Pod    string    // the pod that is the cause
	Detail string    // bounded text of lockstep, a container's waiting reason or, once planned, the state of the pod
	Until  time.Time // when it ends by time alone, unless it is renewed; zero: an event ends it
}

// Deadline returns Until if users can rely on it, and the zero time otherwise. A place in
// the queue lasts longer with each attempt of its operation, so it has no deadline.
func (r Refusal) Deadline() time.Time {
	if r.Code == reason.QueuedBehindOtherZone {
		return time.Time{}
	}
	return r.Until
}

// None reports whether there is no objection.
func (r Refusal) None() bool { return r.Code == "" }

// String returns the code, then the pod and the zone that are the cause.
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

// Sentence returns the refusal as a sentence for users, with the zone and the pod that
// are the cause.
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

// DetailIn returns the detail of a refusal that Sentence has made into a sentence. It returns "" if there is none, or if the
// refusal without its detail does not make such a sentence, as that of another version may not.
func (r Refusal) DetailIn(sentence string) string {
	r.Detail = ""
	begin, isLong := strings.CutSuffix(r.Sentence(), ")")
	if isLong && r.Zone+r.Pod != "" {
		begin += ", "
	} else {
		begin = r.Sentence() + " ("
	}
	rest, begins := strings.CutPrefix(sentence, begin)
	detail, ends := strings.CutSuffix(rest, ")")
	if !begins || !ends {
		return ""
	}
	return detail
}
