package judge

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/labels"
)

// Rules say whom to judge, and how strictly.
type Rules struct {
	Operators []Operator

	// Grace is how long an operator may not know of what others did: DefaultGrace
	// where it is zero. A test that lets it hear late adds the delay.
	Grace time.Duration

	// Guarded: decreases of zones go through admission, so they are held to the
	// guarantees as well.
	Guarded bool
}

// DefaultGrace is from when on a judge counts what breaks by itself.
const DefaultGrace = time.Second

// Operator is one of those to judge.
type Operator struct {
	User string // whom the API server takes it for

	// What it manages: the namespaces that Selector matches, or those of a list
	// whatever their labels are.
	Selector   labels.Selector
	Namespaces []string

	// Home is where it may write the Lease of its leadership, managed or not.
	Home string
}

// LeaderLease is the name of the Lease that says which replica works.
const LeaderLease = "lockstep-leader"

func (r Rules) operator(user string) (Operator, bool) {
	i := slices.IndexFunc(r.Operators, func(o Operator) bool { return o.User == user })
	if i < 0 {
		return Operator{}, false
	}
	return r.Operators[i], true
}

// Violation is a promise that was not kept.
type Violation struct {
	Guarantee int // its number in docs/guarantees.md
	Namespace string
	Group     string // none: not about one
	Zone      string // none: not about one
	Text      string
}

func (v Violation) String() string {
	return fmt.Sprintf("guarantee %d: %s: %s", v.Guarantee, v.Namespace, v.Text)
}

// Takedown is a deletion by an operator that had an effect.
type Takedown struct {
	At        time.Time // when the API server was asked
	Version   uint64
	Namespace string
	Group     string
	Zone      string
	Pod       string
	UID       string
	WasUp     bool // it served until then
	Budget    int  // of its zone
}

// Verdict is what the judge found, in the order of events in each namespace.
type Verdict struct {
	Takedowns  []Takedown
	Violations []Violation
}
