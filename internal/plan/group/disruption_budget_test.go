package group_test

import (
	"regexp"
	"testing"

	"github.com/lockstep-dev/lockstep/internal/plan/group"
)

func TestASelectorMatchesAsKubernetesSelectorsDo(t *testing.T) {
	zone := map[string]string{"rollout-group": "ingester", "empty": ""}
	demand := func(key string, d group.Demand, values ...string) group.Requirement {
		return group.Requirement{Key: key, Demand: d, Values: values}
	}
	for sentence, tc := range map[string]struct {
		selector group.Selector
		want     bool
	}{
		"nothing demanded matches everything":                 {nil, true},
		"a value of the list":                                 {group.Selector{demand("rollout-group", group.LabelIn, "store", "ingester")}, true},
		"a value that is not in the list":                     {group.Selector{demand("rollout-group", group.LabelIn, "store")}, false},
		"a missing label has no value":                        {group.Selector{demand("tier", group.LabelIn, "")}, false},
		"an empty value is a value":                           {group.Selector{demand("empty", group.LabelIn, "")}, true},
		"a value to be avoided":                               {group.Selector{demand("rollout-group", group.LabelNotIn, "ingester")}, false},
		"a missing label has no value to be avoided":          {group.Selector{demand("tier", group.LabelNotIn, "front")}, true},
		"an empty label exists":                               {group.Selector{demand("empty", group.LabelExists)}, true},
		"a missing label does not exist":                      {group.Selector{demand("tier", group.LabelExists)}, false},
		"a label that must be missing and is missing":         {group.Selector{demand("tier", group.LabelAbsent)}, true},
		"a label that must be missing and exists":             {group.Selector{demand("empty", group.LabelAbsent)}, false},
		"one of two demands that is not met excludes the pod": {group.Selector{demand("empty", group.LabelExists), demand("tier", group.LabelExists)}, false},
		"an unknown demand is not met":                        {group.Selector{demand("empty", "Gt", "1")}, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			if got := tc.selector.Matches(zone); got != tc.want {
				t.Errorf("%v matches %t, want %t", tc.selector, got, tc.want)
			}
		})
	}
}

func TestAPodWithoutACaughtPartitionHasNone(t *testing.T) {
	budget := group.DisruptionBudget{Partition: regexp.MustCompile(`^(?:zone-([a-z])-([0-9]*))$`), Group: 2}
	for pod, want := range map[string]string{"zone-a-7": "7", "zone-a-": "", "zone-a-7x": "", "other": ""} {
		if got, known := budget.PartitionOf(pod); got != want || known != (want != "") {
			t.Errorf("%s is in partition %q, known %t, want %q", pod, got, known, want)
		}
	}
	budget.Group = 3
	if got, known := budget.PartitionOf("zone-a-7"); known {
		t.Errorf("a group that does not exist caught %q", got)
	}
	if got, known := (group.DisruptionBudget{}).PartitionOf("zone-a-7"); known {
		t.Errorf("a budget of zones has partition %q", got)
	}
}
