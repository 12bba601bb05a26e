package budget

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rolloutoperatorv1 "github.com/lockstep-dev/lockstep/internal/api/rolloutoperator/v1"
	"github.com/lockstep-dev/lockstep/internal/cluster/budgets"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// Limits of a status, from the CRD.
const (
	mostZones, mostPartitions = 32, 100
	mostNames                 = 10
	longestMessage            = 1024
)

// statusOf returns the new status of a budget.
func statusOf(o budgets.Object, r group.BudgetReport, now time.Time) rolloutoperatorv1.ZoneAwarePodDisruptionBudgetStatus {
	s := o.Status
	s.ObservedGeneration = o.Generation
	s.DisruptionsAllowed = new(int32(r.Allowed))
	s.Zones = parts(r.Zones, mostZones)
	s.Partitions = parts(r.Partitions, mostPartitions)
	s.PartitionsOmitted = int32(len(r.Partitions) - len(s.Partitions))
	s.Conditions = slices.Clone(s.Conditions)
	for _, c := range []metav1.Condition{valid(o.Budget), covering(r), alone(r)} {
		c.ObservedGeneration = o.Generation
		c.LastTransitionTime = metav1.NewTime(now.Truncate(time.Second)) // the API server stores times without fractions of a second
		meta.SetStatusCondition(&s.Conditions, c)
	}
	return s
}

// parts converts parts, up to the maximum number. If there are more, parts with unavailable pods
// come first.
func parts(all []group.BudgetPart, most int) []rolloutoperatorv1.ZoneAwarePodDisruptionBudgetPart {
	if len(all) > most {
		whole := func(part group.BudgetPart) bool { return part.Unavailable == 0 }
		broken := slices.DeleteFunc(slices.Clone(all), whole)
		all = append(broken, slices.DeleteFunc(slices.Clone(all), func(part group.BudgetPart) bool { return !whole(part) })...)[:most]
	}
	var written []rolloutoperatorv1.ZoneAwarePodDisruptionBudgetPart
	for _, part := range all {
		written = append(written, rolloutoperatorv1.ZoneAwarePodDisruptionBudgetPart{
			Name: part.Name, Pods: int32(part.Pods), Unavailable: int32(part.Unavailable), DisruptionsAllowed: int32(part.Allowed),
		})
	}
	return written
}

// valid returns the condition Valid: the spec can be used.
func valid(b group.DisruptionBudget) metav1.Condition {
	if b.Invalid != "" {
		return condition("Valid", metav1.ConditionFalse, reason.BudgetInvalid, b.Invalid)
	}
	return condition("Valid", metav1.ConditionTrue, reason.BudgetValid, b.String())
}

// covering returns the condition Covering: the budget covers pods.
func covering(r group.BudgetReport) metav1.Condition {
	switch len(r.Groups) {
	case 0:
		return condition("Covering", metav1.ConditionFalse, reason.NoPodsCovered, "its selector matches no pod of a StatefulSet")
	case 1:
		if r.Groups[0] == group.Ungrouped {
			return condition("Covering", metav1.ConditionTrue, reason.PodsCovered, "it covers pods of StatefulSets without a group, which have a Lease of its own name")
		}
		return condition("Covering", metav1.ConditionTrue, reason.PodsCovered, fmt.Sprintf("it covers pods of the group %q", r.Groups[0]))
	}
	return condition("Covering", metav1.ConditionTrue, reason.SeveralGroups,
		fmt.Sprintf("it covers pods of %d groups: %s; each is judged by itself", len(r.Groups), few(r.Groups)))
}

// alone returns the condition Alone: no other budget covers the same pods.
func alone(r group.BudgetReport) metav1.Condition {
	if len(r.Rivals) == 0 {
		return condition("Alone", metav1.ConditionTrue, reason.NoOtherBudget, "")
	}
	return condition("Alone", metav1.ConditionFalse, reason.SeveralBudgets,
		"evictions of pods are refused that these budgets cover too: "+few(r.Rivals))
}

func condition(kind string, status metav1.ConditionStatus, because reason.Code, message string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: status, Reason: string(because), Message: plan.Plain(message, longestMessage)}
}

// few returns the first names, and the number of the others.
func few(names []string) string {
	if len(names) <= mostNames {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d others", strings.Join(names[:mostNames], ", "), len(names)-mostNames)
}
