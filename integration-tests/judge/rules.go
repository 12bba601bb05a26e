package judge

import (
	"fmt"
	"regexp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/labels"
)

// Rules are the operators to verify, and what may excuse them.
type Rules struct {
	Operators []Operator

	// Grace is how long an operator may not know of changes by others; zero means DefaultGrace. A test
	// that delays its watches all the time adds the delay.
	Grace time.Duration

	// StaleCaches are periods in which caches may be stale for longer than Grace. If several of them
	// cover a change, the longest excuse counts.
	StaleCaches []Window

	// Delays are requests that were on their way for a long time. A disruption is verified against
	// the knowledge that the operator could have before them.
	Delays []Delay

	// DownscaleWebhook means that admission reviews downscales, so the guarantees apply to them.
	DownscaleWebhook bool

	// EvictionWebhook means that admission reviews evictions, so the guarantees apply to evictions by
	// any client.
	EvictionWebhook bool

	// PinnedEvictions means that admission adds the UID of the pod to evictions.
	PinnedEvictions bool

	// Strict excuses nothing beyond Grace except for StaleCaches and Delays, even if the API server is
	// slow.
	Strict bool

	// HoleLimit is how long a StatefulCluster may have fewer pods than it asks for while the API server refuses none; zero:
	// without limit.
	HoleLimit time.Duration

	// Budgets are the budgets for evictions, at most one for each group.
	Budgets []Budget
}

// Budget is how many pods of a group may be down because of evictions.
type Budget struct {
	Group string
	Limit int // pods of one zone; 0 allows no eviction

	// Partition extracts a pod's partition from its name with the first capture group. If it is set,
	// Limit applies to one partition, in the zones other than that of the pod.
	Partition *regexp.Regexp
}

// partitionOf returns the partition of a pod, or an empty string if the budget counts by zones.
func (b Budget) partitionOf(pod string) string {
	if b.Partition == nil {
		return ""
	}
	if match := b.Partition.FindStringSubmatch(pod); len(match) > 1 {
		return match[1]
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

// DefaultGrace is how long an operator may by default not know of changes by others.
const DefaultGrace = time.Second

// Operator is an operator to verify.
type Operator struct {
	User string // the user name of its service account

	// Selector matches the Namespaces that the operator manages. If Namespaces is set, the operator
	// manages these, whatever their labels are.
	Selector   labels.Selector
	Namespaces []string

	// LeadershipNamespace is where the operator may write the Lease of its leader election.
	LeadershipNamespace string
}

// LeaderLease is the name of the Lease of the leader election.
const LeaderLease = "lockstep-leader"

func (r Rules) operator(user string) (Operator, bool) {
	i := slices.IndexFunc(r.Operators, func(o Operator) bool { return o.User == user })
	if i < 0 {
		return Operator{}, false
	}
	return r.Operators[i], true
}

// Violation is a broken guarantee.
type Violation struct {
	Guarantee int // its number in docs/guarantees.md
	Namespace string
	Group     string // empty: not about a group
	Zone      string // empty: not about a zone
	Text      string
}

func (v Violation) String() string {
	if v.Guarantee == ofPools {
		return fmt.Sprintf("guarantees about StatefulClusters: %s: %s", v.Namespace, v.Text)
	}
	return fmt.Sprintf("guarantee %d: %s: %s", v.Guarantee, v.Namespace, v.Text)
}

// Disruption is a successful deletion by an operator, or a successful eviction if the eviction webhook
// is in use.
type Disruption struct {
	At         time.Time // when the API server received the request
	Version    uint64
	Namespace  string
	Group      string
	Zone       string
	Pod        string
	UID        string
	WasServing bool // the pod was ready until then
	Evicted    bool // by any client
	Budget     int  // rollout-max-unavailable of its zone

	// Grace is the maximum age of a change that the operator was allowed not to know.
	Grace time.Duration
}

// Verdict is the result of Verify, in the order of events of each namespace.
type Verdict struct {
	Disruptions []Disruption
	// PoolDisruptions are those of pods of StatefulClusters, whose names are in Zone.
	PoolDisruptions []Disruption
	Violations      []Violation

	// Unexplained are terminations without any request. If there are some, the input is incomplete and
	// the verdict is not valid.
	Unexplained []string
}
