package observe

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/lockstep-dev/lockstep/internal/plan"
)

// one is a namespace with a budget for what has the label app=store.
type one struct{ budgets }

func (*one) Budgets(string) []plan.DisruptionBudget {
	return []plan.DisruptionBudget{{
		Name: "store", Limit: 1, Selector: plan.Selector{{Key: "app", Demand: plan.LabelIn, Values: []string{"store"}}},
	}}
}

func TestPodsWithoutAGroupAreEvictedUnderTheHoldOfTheirBudget(t *testing.T) {
	app := map[string]string{"app": "store"}
	covered := newSet("covered", ungrouped, func(s *appsv1.StatefulSet) { s.Spec.Template.Labels = app })
	other := newSet("other", ungrouped)
	inside := newPod("covered", 0, func(p *corev1.Pod) { p.Labels["app"] = "store" })
	o := newObserver(t, newLibrary(covered, other, inside).client(t))
	for _, object := range []any{covered, other, inside} {
		show(o, object)
	}
	o.budgets = &one{}

	key := plan.Key{Namespace: "team", Group: "store", Covered: true}
	pod, known := o.Pod("team", inside.Name)
	if !known || !pod.Held || pod.Key != key {
		t.Fatalf("the pod is %+v", pod)
	}
	live, err := o.Live(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	for how, s := range map[string]plan.Snapshot{"cached": o.Cached(key), "live": live} {
		var zones []string
		for _, z := range s.Zones {
			zones = append(zones, z.Name)
		}
		if diff := cmp.Diff([]string{"covered"}, zones); diff != "" {
			t.Errorf("%s zones (-want +got):\n%s", how, diff)
		}
		if got := plan.Evict(s, plan.EvictRequest{Pod: inside.Name, UID: string(inside.UID)}); got.Budget != "store" {
			t.Errorf("%s: judged by %+v", how, got)
		}
	}
}
