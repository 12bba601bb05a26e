package observe

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/lock/hold"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
)

// one is a namespace with a budget that selects the label app=store.
type one struct{ budgets }

func (*one) Budgets(string) []group.DisruptionBudget {
	return []group.DisruptionBudget{{
		Name: "store", Limit: 1, Selector: group.Selector{{Key: "app", Demand: group.LabelIn, Values: []string{"store"}}},
	}}
}

func TestPodsWithoutAGroupAreEvictedUnderTheHoldOfTheirBudget(t *testing.T) {
	covered := newSet("covered", ungrouped, ofApp)
	other := newSet("other", ungrouped)
	inside := newPod("covered", 0, func(p *corev1.Pod) { p.Labels["app"] = "store" })
	o := newObserver(t, newLibrary(covered, other, inside).client(t))
	for _, object := range []any{covered, other, inside} {
		show(o, object)
	}
	o.budgets = &one{}

	key := plan.Key{Namespace: "team", Name: "store", Kind: plan.KindBudget}
	pod, known := o.Pod("team", inside.Name)
	if !known || !pod.Held || pod.Key != key {
		t.Fatalf("the pod is %+v", pod)
	}
	live, err := o.Live(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	for how, s := range map[string]group.Snapshot{"cached": o.Cached(key), "live": live} {
		var zones []string
		for _, z := range s.Zones {
			zones = append(zones, z.Name)
		}
		if diff := cmp.Diff([]string{"covered"}, zones); diff != "" {
			t.Errorf("%s zones (-want +got):\n%s", how, diff)
		}
		if got := group.Evict(s, plan.EvictionRequest{Pod: inside.Name, UID: string(inside.UID)}); got.Budget != "store" {
			t.Errorf("%s: judged by %+v", how, got)
		}
	}
}

// The group of such a StatefulSet remembers it, so the budget does not.
func TestABudgetShowsWhichOfItsStatefulSetsBelongToAGroup(t *testing.T) {
	grouped, alone := newSet("grouped", ofApp), newSet("alone", ungrouped, ofApp)
	o := newObserver(t, newLibrary(grouped, alone).client(t))
	show(o, grouped)
	show(o, alone)
	o.budgets = &one{}
	key := plan.Key{Namespace: "team", Name: "store", Kind: plan.KindBudget}
	live, err := o.Live(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	for how, s := range map[string]group.Snapshot{"cached": o.Cached(key), "live": live} {
		got := map[string]bool{}
		for _, z := range s.Zones {
			got[z.Name] = z.Elsewhere
		}
		if diff := cmp.Diff(map[string]bool{"grouped": true, "alone": false}, got); diff != "" {
			t.Errorf("%s: in a group (-want +got):\n%s", how, diff)
		}
	}
}

// The Lease of a budget is deleted once no pod is evicted under it any more. Therefore every
// event that may allow this must enqueue the budget.
func TestTheEndOfEvictionsUnderABudgetEnqueuesIt(t *testing.T) {
	key := plan.Key{Namespace: "team", Name: "store", Kind: plan.KindBudget}
	idle := holdOf(key, "")
	covered := newSet("covered", ungrouped, ofApp)
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
			optIn(o)
			show(o, covered)
			showHold(o, idle)
			var notified []plan.Key
			happens(o, func(key plan.Key) { notified = append(notified, key) })
			if diff := cmp.Diff([]plan.Key{key}, notified); diff != "" {
				t.Errorf("notified of (-want +got):\n%s", diff)
			}
		})
	}
}

// none is a namespace without budgets.
type none struct{ budgets }

func (*none) Budgets(string) []group.DisruptionBudget { return nil }

func TestAPodConcernsTheBudgetUnderWhichPodsAreEvicted(t *testing.T) {
	key := plan.Key{Namespace: "team", Name: "store", Kind: plan.KindBudget}
	for sentence, tc := range map[string]struct {
		managed   bool
		set       change[*appsv1.StatefulSet]
		lease     *coordinationv1.Lease
		want      []string
		requested bool // for budgets
	}{
		"while one is held":                    {true, ofApp, holdOf(key, "evict/covered"), []string{"store"}, true},
		"not while no budget has a hold":       {true, ofApp, holdOf(key, ""), nil, false},
		"not if no hold ever existed":          {true, ofApp, newHold("other", "rollout/zone-a"), nil, false},
		"not where it does not cover the pod":  {true, ungrouped, holdOf(key, "evict/other"), nil, true},
		"not where the namespace is unmanaged": {false, ofApp, holdOf(key, "evict/covered"), nil, false},
		"not where another budget is held":     {true, ofApp, holdOf(plan.Key{Namespace: "team", Name: "gone", Kind: plan.KindBudget}, "evict/gone"), nil, true},
	} {
		t.Run(sentence, func(t *testing.T) {
			o := newObserver(t, unreachable)
			source := &counted{}
			o.budgets = source
			if tc.managed {
				optIn(o)
			}
			covered := newSet("covered", ungrouped, tc.set)
			set := must(trimZone(covered))
			show(o, covered)
			showHold(o, tc.lease)
			was, is := must(trimPod(newPod("covered", 0))), must(trimPod(newPod("covered", 0, terminating)))
			for event, happens := range map[string]func(enqueue func(plan.Key)){
				"it is added":             func(enqueue func(plan.Key)) { o.podEvents(enqueue).OnAdd(was, false) },
				"it begins to terminate":  func(enqueue func(plan.Key)) { o.podEvents(enqueue).OnUpdate(was, is) },
				"it is deleted":           func(enqueue func(plan.Key)) { o.podEvents(enqueue).OnDelete(is) },
				"its StatefulSet changes": func(enqueue func(plan.Key)) { o.zoneEvents(enqueue).OnAdd(set, false) },
			} {
				if diff := cmp.Diff(tc.want, enqueued(happens)); diff != "" {
					t.Errorf("%s (-want +got):\n%s", event, diff)
				}
			}
			if requested := source.requested > 0; requested != tc.requested {
				t.Errorf("budgets were read %d times", source.requested)
			}
		})
	}
}

// counted counts the requests for its budget.
type counted struct {
	one
	requested int
}

func (c *counted) Budgets(namespace string) []group.DisruptionBudget {
	c.requested++
	return c.one.Budgets(namespace)
}

// ofApp is a change to a StatefulSet: its pods have the label app=store.
func ofApp(s *appsv1.StatefulSet) { s.Spec.Template.Labels = map[string]string{"app": "store"} }

// holdOf returns the Lease of a budget.
func holdOf(key plan.Key, holder string) *coordinationv1.Lease {
	held := newHold(key.Name, holder)
	held.Name, held.Annotations = hold.LeaseName(key), map[string]string{contract.NameAnnotation(plan.KindBudget): key.Name}
	return held
}

// optIn makes the namespace of these groups managed.
func optIn(o *Observer) {
	show(o, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: store.Namespace}})
}
