package observe

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/lockstep-dev/lockstep/internal/plan"
)

// one is a namespace with one budget, for what has a label.
type one struct {
	budgets
	key, value string
}

func (o *one) Budgets(string) []plan.DisruptionBudget {
	return []plan.DisruptionBudget{{
		Name: "store", Limit: 1, Selector: plan.Selector{{Key: o.key, Demand: plan.LabelIn, Values: []string{o.value}}},
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
	o.budgets = &one{key: "app", value: "store"}

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

// A template may have got other labels since, and some labels are given by the
// StatefulSet controller.
func TestAStatefulSetIsCoveredWherePodsThatItHasAre(t *testing.T) {
	for sentence, budget := range map[string]*one{
		"its pods were made by another template": {key: "app", value: "store"},
		"the budget names the pod":               {key: appsv1.StatefulSetPodNameLabel, value: "covered-0"},
	} {
		t.Run(sentence, func(t *testing.T) {
			covered, other := newSet("covered", ungrouped, replicas(1)), newSet("other", ungrouped, replicas(1))
			inside, outside := newPod("covered", 0, func(p *corev1.Pod) { p.Labels["app"] = "store" }), newPod("other", 0)
			o := newObserver(t, newLibrary(covered, other, inside, outside).client(t))
			for _, object := range []any{covered, other, inside, outside} {
				show(o, object)
			}
			o.budgets = budget

			key := plan.Key{Namespace: "team", Group: "store", Covered: true}
			pod, known := o.Pod("team", inside.Name)
			if !known || !pod.Held || pod.Key != key {
				t.Fatalf("the pod is %+v", pod)
			}
			if keys := o.GroupsIn("team"); !slices.Equal(keys, []plan.Key{key}) {
				t.Errorf("the namespace has %v", keys)
			}
			live, err := o.Live(t.Context(), key)
			if err != nil {
				t.Fatal(err)
			}
			for how, s := range map[string]plan.Snapshot{"cached": o.Cached(key), "live": live} {
				got := plan.Evict(s, plan.EvictRequest{Pod: inside.Name, UID: string(inside.UID)})
				if !got.Because.None() || got.Budget != "store" || len(s.Zones) != 1 {
					t.Errorf("%s: judged by %+v among %d StatefulSets", how, got, len(s.Zones))
				}
			}
		})
	}
}
