package plan

import (
	"fmt"
	"regexp"
	"slices"
	"time"
)

// DisruptionBudget says how many pods of a zone, or of a partition across zones,
// may be taken down by evictions. It is what a ZoneAwarePodDisruptionBudget asks
// for.
type DisruptionBudget struct {
	Name     string
	Invalid  string   // why it cannot be used; then only Name and Selector count
	Selector Selector // of pods, and of the StatefulSets that are their zones

	// Limit is how many pods may be down; 0 allows no eviction, unless there is a
	// Percentage.
	Limit int
	// Percentage is Limit as a part of the zone's replicas, from 1 to 100; 0 where
	// Limit counts.
	Percentage int

	// Partition finds a pod's partition in its name, as the capture group Group; nil
	// where zones count, not partitions.
	Partition *regexp.Regexp
	Group     int
	// Delay is for how long the pods of a partition in other zones must have been
	// Ready.
	Delay time.Duration

	Unhealthy UnhealthyPolicy
}

// UnhealthyPolicy says whether pods that run and are not Ready may be evicted
// whatever else is down. Where none is said they may, unless the budget allows no
// eviction at all: whoever waits for such a pod waits for its repair.
type UnhealthyPolicy string

// Policies for pods that are not Ready, as those of a PodDisruptionBudget.
const (
	IfHealthyBudget UnhealthyPolicy = "IfHealthyBudget"
	AlwaysAllow     UnhealthyPolicy = "AlwaysAllow"
)

// ByPartition reports whether partitions count, not zones.
func (b DisruptionBudget) ByPartition() bool { return b.Partition != nil }

// PartitionOf returns the partition of a pod; none is known where the name does
// not match as a whole, or the capture group caught nothing.
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

// Selector is a list of requirements that all have to be met. An empty one selects
// everything.
type Selector []Requirement

// Requirement is one demand on labels.
type Requirement struct {
	Key    string
	Demand Demand
	Values []string
}

// Demand is what a Requirement wants of a label, with the words of Kubernetes'
// selectors.
type Demand string

// Demands. LabelNotIn is met by a label that is not there, too.
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
		return partOf(replicas, b.Percentage)
	}
	return b.Limit
}

// String returns a budget as its limit reads: 2 per zone, 30% per zone, 1 per partition.
func (b DisruptionBudget) String() string {
	switch {
	case b.ByPartition():
		return fmt.Sprintf("%d per partition", b.Limit)
	case b.Percentage > 0:
		return fmt.Sprintf("%d%% per zone", b.Percentage)
	}
	return fmt.Sprintf("%d per zone", b.Limit)
}
