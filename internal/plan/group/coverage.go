package group

import (
	"maps"
	"slices"
	"strconv"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// coverage returns which budgets for evictions cover a pod. Goroutines may share it.
type coverage struct {
	budgets []DisruptionBudget
	unread  bool                    // budgets could not be read, so there may be others
	own     bool                    // a budget selects by a label that Labels does not keep, such as the name of the pod
	known   map[plan.Labels][]int32 // budgets by shared labels; nil if own
}

// coverageOf evaluates the selectors once for each set of labels that pods of the zones share.
// Later lookups of a pod are fast.
func coverageOf(budgets []DisruptionBudget, zones []Zone) coverage {
	c := coverage{budgets: budgets}
	if len(budgets) == 0 {
		return c
	}
	for _, budget := range budgets {
		c.own = c.own || slices.ContainsFunc(budget.Selector, func(r Requirement) bool {
			return r.Key == plan.PodNameLabel || r.Key == plan.PodIndexLabel || r.Key == plan.RevisionLabel
		})
	}
	if !c.own {
		c.know(zones)
	}
	return c
}

func (c *coverage) know(zones []Zone) {
	c.known = map[plan.Labels][]int32{}
	for _, zone := range zones {
		for _, pod := range zone.Pods {
			if _, known := c.known[pod.Labels]; !known {
				c.known[pod.Labels] = c.matching(pod.Labels.Map())
			}
		}
	}
}

// of returns the indexes of the budgets that cover a pod.
func (c coverage) of(pod plan.Pod) []int32 {
	if len(c.budgets) == 0 {
		return nil
	}
	if c.own {
		labels := pod.Labels.Map()
		maps.Copy(labels, map[string]string{plan.PodNameLabel: pod.Name, plan.PodIndexLabel: strconv.Itoa(pod.Ordinal), plan.RevisionLabel: pod.Revision})
		return c.matching(labels)
	}
	if covering, known := c.known[pod.Labels]; known {
		return covering
	}
	return c.matching(pod.Labels.Map())
}

func (c coverage) matching(labels map[string]string) []int32 {
	var covering []int32
	for i, budget := range c.budgets {
		if budget.Selector.Matches(labels) {
			covering = append(covering, int32(i))
		}
	}
	return covering
}

// Covering returns the budgets that cover a pod, in their order.
func Covering(budgets []DisruptionBudget, pod plan.Pod) []DisruptionBudget {
	var covering []DisruptionBudget
	for _, i := range coverageOf(budgets, nil).of(pod) {
		covering = append(covering, budgets[i])
	}
	return covering
}

// disruptionBudget returns the budget that applies to a pod, if one covers the pod, or why no
// budget can be applied.
func (b *groupState) disruptionBudget(pod plan.Pod) (budget DisruptionBudget, covered bool, because plan.Refusal) {
	covering := b.covers.of(pod)
	if len(covering) == 0 {
		return DisruptionBudget{}, false, plan.Refusal{}
	}
	budget = b.Budgets[covering[0]]
	switch {
	case len(covering) > 1:
		because = plan.Refusal{Code: reason.SeveralBudgets, Pod: pod.Name, Detail: budget.Name + " and " + b.Budgets[covering[1]].Name}
	case budget.Invalid != "":
		because = plan.Refusal{Code: reason.BudgetInvalid, Pod: pod.Name, Detail: budget.Name}
	}
	return budget, true, because
}

// rolloutBudget returns how many pods of a zone may be down during its rollout.
func rolloutBudget(s *Snapshot, z Zone) int {
	covers := coverageOf(s.Budgets, []Zone{z})
	covers.unread = s.Unread
	return covers.budgetOf(&z)
}

// budgetOf returns how many pods of a zone may be down during its rollout: the number of the
// zone's annotation or, if it is less, the number of the budgets for evictions that count by
// zones. If several budgets cover pods of the zone, the least number counts. A budget that
// allows no evictions does not affect rollouts. A budget that is invalid or cannot be read
// allows one pod, so a wrong budget stops no rollout.
func (c coverage) budgetOf(zone *Zone) int {
	least := zone.MaxUnavailable.Of(zone.Replicas)
	switch {
	case c.unread:
		return 1
	case len(c.budgets) == 0:
		return least
	}
	for _, pod := range zone.Pods {
		for _, i := range c.of(pod) {
			switch budget := c.budgets[i]; {
			case budget.Invalid != "":
				least = 1
			case !budget.ByPartition() && budget.Of(zone.Replicas) > 0:
				least = min(least, budget.Of(zone.Replicas))
			}
		}
	}
	return least
}
