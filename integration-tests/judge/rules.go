package judge

import (
	"fmt"
	"regexp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/labels"
)

// Rules say whom to judge, and how strictly.
type Rules struct {
	Operators []Operator

	// Grace is how long an operator may not know of what others did: DefaultGrace
	// where it is zero. A test that lets it hear late all the time adds the delay.
	Grace time.Duration

	// Deaf are times in which its caches may not know for longer than Grace. Of several
	// that something falls into, the one that excuses longest counts.
	Deaf []Window

	// Delays are requests that were on their way for long. What was decided before is
	// judged by what could be known then.
	Delays []Delay

	// Guarded: decreases of zones go through admission, so they are held to the
	// guarantees as well.
	Guarded bool

	// Evicting: evictions go through admission, so whoever asks for them, they are
	// held to the guarantees as well.
	Evicting bool

	// Pinned: admission binds evictions to the very pod by its UID.
	Pinned bool

	// Strict: nothing is excused for longer than Grace but by Deaf and Delays, as slow as
	// the API server itself may be.
	Strict bool

	// Budgets are those for evictions, at most one for a group.
	Budgets []Budget
}

// Budget says how many pods of a group may be down by evictions.
type Budget struct {
	Group string
	Limit int // in a zone; 0 allows no eviction

	// Partition finds a pod's partition in its name, as the first capture group. Then
	// Limit is about one partition, in the zones beside that of the pod.
	Partition *regexp.Regexp
}

// partitionOf returns the partition of a pod, and none where zones count.
func (b Budget) partitionOf(pod string) string {
	if b.Partition == nil {
		return ""
	}
	if caught := b.Partition.FindStringSubmatch(pod); len(caught) > 1 {
		return caught[1]
	}
	return ""
}

func (r Rules) budget(group string) (Budget, bool) {
	i := slices.IndexFunc(r.Budgets, func(b Budget) bool { return b.Group == group })
	if i < 0 {
		return Budget{}, false
	}
	return r.Budgets[i], true
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

// Takedown is a deletion by an operator that had an effect, or an eviction where
// these are judged.
type Takedown struct {
	At        time.Time // when the API server was asked
	Version   uint64
	Namespace string
	Group     string
	Zone      string
	Pod       string
	UID       string
	WasUp     bool // it served until then
	Evicted   bool // by whomever
	Budget    int  // of its zone

	// Grace is for how long something may have been so, at most, that was not held
	// against whoever did it.
	Grace time.Duration
}

// Verdict is what the judge found, in the order of events in each namespace.
type Verdict struct {
	Takedowns  []Takedown
	Violations []Violation

	// Unexplained are departures of pods that no request explains: whoever finds some
	// has not seen all that was asked, and cannot judge.
	Unexplained []string
}
