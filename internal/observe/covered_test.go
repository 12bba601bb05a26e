package observe

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/hold"
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
		if got := plan.Evict(s, plan.EvictionRequest{Pod: inside.Name, UID: string(inside.UID)}); got.Budget != "store" {
			t.Errorf("%s: judged by %+v", how, got)
		}
	}
}

// The Lease of a budget is taken away once nothing is evicted under it any more: whoever
// could see to that has to be told.
func TestWhatEndsEvictionsUnderABudgetLetsItsLeaseBeLookedAt(t *testing.T) {
	key := plan.Key{Namespace: "team", Group: "store", Covered: true}
	idle := newHold("store", "")
	idle.Name, idle.Annotations = hold.LeaseName(key), map[string]string{contract.CoveredAnnotation: key.Group}
	covered := newSet("covered", ungrouped, func(s *appsv1.StatefulSet) { s.Spec.Template.Labels = map[string]string{"app": "store"} })
	for sentence, happens := range map[string]func(o *Observer, enqueue func(plan.Key)){
		"its last StatefulSet is deleted": func(o *Observer, enqueue func(plan.Key)) {
			o.budgets = &one{}
			o.zoneEvents(enqueue).OnDelete(lookup[*zoneRecord](o.zones, cache.NamespaceIndex, "team")[0])
		},
		"it is deleted": func(o *Observer, enqueue func(plan.Key)) {
			gone := &none{}
			o.budgets = gone
			o.listenToBudgets(enqueue)
			gone.tell("team")
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			o := newObserver(t, unreachable)
			show(o, covered)
			showHold(o, idle)
			var told []plan.Key
			happens(o, func(key plan.Key) { told = append(told, key) })
			if diff := cmp.Diff([]plan.Key{key}, told); diff != "" {
				t.Errorf("told of (-want +got):\n%s", diff)
			}
		})
	}
}

// none is a namespace without budgets.
type none struct{ budgets }

func (*none) Budgets(string) []plan.DisruptionBudget { return nil }
