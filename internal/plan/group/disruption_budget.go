package group

import (
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
)

// DisruptionBudget says how many pods of a zone, or of a partition across zones, may be
// down because of evictions. A ZoneAwarePodDisruptionBudget asks for it.
type DisruptionBudget struct {
	Name     string
	Invalid  string   // why it cannot be used; then only Name and Selector count
	Selector Selector // of pods, and of the StatefulSets that are their zones

	// Limit is how many pods may be down. If it is 0 and there is no Percentage, no
	// eviction is allowed.
	Limit int
	// Percentage is the limit as a percentage of the zone's replicas, from 1 to 100. If
	// it is 0, Limit counts.
	Percentage int

	// Partition finds a pod's partition in its name, as the capture group Group. If it is
	// nil, the budget counts by zones.
	Partition *regexp.Regexp
	Group     int
	// Delay is how long the pods of a partition in other zones must have been Ready.
	Delay time.Duration

	Unhealthy UnhealthyPolicy
}

// UnhealthyPolicy says whether pods that run and are not Ready may be evicted regardless
// of other pods that are down. If it is empty they may, unless the budget allows no
// eviction at all: otherwise a client that waits for such a pod waits for its repair.
type UnhealthyPolicy string

// Policies for pods that are not Ready, as in a PodDisruptionBudget.
const (
	IfHealthyBudget UnhealthyPolicy = "IfHealthyBudget"
	AlwaysAllow     UnhealthyPolicy = "AlwaysAllow"
)

// ByPartition reports whether the budget counts by partitions, not by zones.
func (b DisruptionBudget) ByPartition() bool { return b.Partition != nil }

// PartitionOf returns the partition of a pod. It is unknown if the regular expression
// does not match the full name, or if the capture group is empty.
func (b DisruptionBudget) PartitionOf(pod string) (partition string, known bool) {
	if b.Partition == nil {
		return "", false
	}
	caught := b.Partition.FindStringSubmatch(pod)
	if b.Group < 1 || b.Group >= len(caught) {
		return "", false
	}
	return caught[b.Group], caught[b.Group] != ""
}

// Selector is a list of requirements that must all be met. An empty Selector selects
// everything.
type Selector []Requirement

// Requirement is one condition on labels.
type Requirement struct {
	Key    string
	Demand Demand
	Values []string
}

// Demand is the operator of a Requirement, as in the selectors of Kubernetes.
type Demand string

// Demands. A missing label meets LabelNotIn.
const (
	LabelIn     Demand = "In"
	LabelNotIn  Demand = "NotIn"
	LabelExists Demand = "Exists"
	LabelAbsent Demand = "DoesNotExist"
)

// Matches reports whether labels meet every requirement.
func (s Selector) Matches(labels map[string]string) bool {
	return !slices.ContainsFunc(s, func(r Requirement) bool { return !r.met(labels) })
}

func (r Requirement) met(labels map[string]string) bool {
	value, there := labels[r.Key]
	switch r.Demand {
	case LabelIn:
		return there && slices.Contains(r.Values, value)
	case LabelNotIn:
		return !there || !slices.Contains(r.Values, value)
	case LabelExists:
		return there
	case LabelAbsent:
		return !there
	}
	return false
}

// Of returns how many pods of a zone with that many replicas may be down; 0 allows
// no eviction.
func (b DisruptionBudget) Of(replicas int) int {
	if b.Percentage > 0 {
		return plan.PercentOf(replicas, b.Percentage)
	}
	return b.Limit
}

// String returns the limit of a budget: 2 per zone, 30% per zone, 1 per partition.
func (b DisruptionBudget) String() string {
	switch {
	case b.ByPartition():
		return fmt.Sprintf("%d per partition", b.Limit)
	case b.Percentage > 0:
		return fmt.Sprintf("%d%% per zone", b.Percentage)
	}
	return fmt.Sprintf("%d per zone", b.Limit)
}
