package plan_test

import (
	"regexp"
	"testing"

	"github.com/lockstep-dev/lockstep/internal/plan"
)

func TestASelectorMatchesAsKubernetesSelectorsDo(t *testing.T) {
	zone := map[string]string{"rollout-group": "ingester", "empty": ""}
	demand := func(key string, d plan.Demand, values ...string) plan.Requirement {
		return plan.Requirement{Key: key, Demand: d, Values: values}
	}
	for sentence, tc := range map[string]struct {
		selector plan.Selector
		want     bool
	}{
		"nothing demanded matches everything":         {nil, true},
		"a value of the list":                         {plan.Selector{demand("rollout-group", plan.LabelIn, "store", "ingester")}, true},
		"a value that is not in the list":             {plan.Selector{demand("rollout-group", plan.LabelIn, "store")}, false},
		"a missing label has no value":                {plan.Selector{demand("tier", plan.LabelIn, "")}, false},
		"an empty value is one":                       {plan.Selector{demand("empty", plan.LabelIn, "")}, true},
		"a value to be avoided":                       {plan.Selector{demand("rollout-group", plan.LabelNotIn, "ingester")}, false},
		"a missing label has no value to be avoided":  {plan.Selector{demand("tier", plan.LabelNotIn, "front")}, true},
		"an empty label exists":                       {plan.Selector{demand("empty", plan.LabelExists)}, true},
		"a missing label does not exist":              {plan.Selector{demand("tier", plan.LabelExists)}, false},
		"a label that must be missing and is":         {plan.Selector{demand("tier", plan.LabelAbsent)}, true},
		"a label that must be missing and is not":     {plan.Selector{demand("empty", plan.LabelAbsent)}, false},
		"one demand of two that is not met is enough": {plan.Selector{demand("empty", plan.LabelExists), demand("tier", plan.LabelExists)}, false},
		"an unknown demand is not met":                {plan.Selector{demand("empty", "Gt", "1")}, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			if got := tc.selector.Matches(zone); got != tc.want {
				t.Errorf("%v matches %t, want %t", tc.selector, got, tc.want)
			}
		})
	}
}

func TestAPodWithoutACaughtPartitionHasNone(t *testing.T) {
	budget := plan.DisruptionBudget{Partition: regexp.MustCompile(`^(?:zone-([a-z])-([0-9]*))$`), Group: 2}
	for pod, want := range map[string]string{"zone-a-7": "7", "zone-a-": "", "zone-a-7x": "", "other": ""} {
		if got, known := budget.PartitionOf(pod); got != want || known != (want != "") {
			t.Errorf("%s is in partition %q, known %t, want %q", pod, got, known, want)
		}
	}
	budget.Group = 3
	if got, known := budget.PartitionOf("zone-a-7"); known {
		t.Errorf("a group that does not exist caught %q", got)
	}
	if got, known := (plan.DisruptionBudget{}).PartitionOf("zone-a-7"); known {
		t.Errorf("a budget of zones has partition %q", got)
	}
}
