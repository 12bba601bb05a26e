package house_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// askable are the functions of internal packages that internal/lock/invariant may call. They
// parse and format names, and decide nothing. If the planner and its checks shared any other
// function, they would share its defects, and no check would detect them.
var askable = []string{
	"internal/plan.Labels.Map",   // the only accessor of labels
	"internal/plan/group.HoldOf", // the record of a group in its types
	"internal/plan.OrdinalOf",
	"internal/plan.PodName",
}

func TestInvariantsCallNoFunctionOfThePlanner(t *testing.T) {
	for _, folder := range []string{"internal/lock/invariant", "internal/lock/invariant/pools"} {
		for name, where := range callsOf(t, folder) {
			if strings.HasPrefix(name, "internal/") && !slices.Contains(askable, name) {
				t.Errorf("%s uses %s: write in %s what docs/guarantees.md says of it instead", where, name, folder)
			}
		}
	}
	called := callsOf(t, "internal/lock/invariant")
	for _, name := range askable {
		if called[name] == "" {
			t.Errorf("internal/lock/invariant does not use %s: take it out of askable in this file", name)
		}
	}
}

// The names are functions, methods, methods of embedded types and of interfaces, and generic
// functions.
func TestCallsAreFound(t *testing.T) {
	for folder, names := range map[string][]string{
		"internal/lock/hold": {"internal/plan.Only", "internal/plan.Workload.IntentStatus", "internal/plan.Holder.Foreign", "internal/plan.Operation.For"},
		"internal/act":       {"time.Now", "k8s.io/client-go/kubernetes/typed/core/v1.PodInterface.Delete"},
	} {
		called := callsOf(t, folder)
		for _, name := range names {
			if called[name] == "" {
				t.Errorf("%s is not among what %s uses: %v", name, folder, slices.Sorted(maps.Keys(called)))
			}
		}
	}
}
