package observe

import (
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/lock/hold"
	"github.com/lockstep-dev/lockstep/internal/plan"
)

// covering returns the Lease of a budget, which remembers zone-a.
func covering() *coordinationv1.Lease {
	l := remembering()
	l.Name, l.UID = hold.LeaseName(plan.Key{Name: "store", Kind: plan.KindBudget}), "uid-of-the-hold-of-a-budget"
	delete(l.Annotations, contract.NameAnnotation(plan.KindGroup))
	l.Annotations[contract.NameAnnotation(plan.KindBudget)] = "store"
	return l
}

func TestAnOrphanOfAStatefulSetOutsideOfItsGroupIsEvictedUnderThatGroup(t *testing.T) {
	o := newObserver(t, unreachable)
	showHold(o, remembering())
	show(o, newSet("zone-a", ungrouped))
	show(o, orphan(0))
	if pod, known := o.Pod("team", "zone-a-0"); !known || pod.Unplaced || !pod.Held || pod.Key != store {
		t.Errorf("known %t: %+v, want it held by %v", known, pod, store)
	}
}

func TestAGroupIsEnqueuedForAStatefulSetRemovedFromIt(t *testing.T) {
	changed := func(s *appsv1.StatefulSet) { ungrouped(s); version10(s); s.Generation++ }
	for sentence, handle := range map[string]func(o *Observer, enqueue func(plan.Key)){
		"it changes": func(o *Observer, enqueue func(plan.Key)) {
			o.zoneEvents(enqueue).OnUpdate(must(trimZone(newSet("zone-a", ungrouped))), must(trimZone(newSet("zone-a", changed))))
		},
		"it is added": func(o *Observer, enqueue func(plan.Key)) {
			o.zoneEvents(enqueue).OnAdd(must(trimZone(newSet("zone-a", ungrouped))), false)
		},
		"it is deleted": func(o *Observer, enqueue func(plan.Key)) {
			o.zoneEvents(enqueue).OnDelete(must(trimZone(newSet("zone-a", ungrouped))))
		},
		"another group has it": func(o *Observer, enqueue func(plan.Key)) {
			o.zoneEvents(func(key plan.Key) {
				if key.Name != "other" {
					enqueue(key)
				}
			}).OnAdd(must(trimZone(newSet("zone-a", inGroup("other")))), false)
		},
		"its group has it": func(o *Observer, enqueue func(plan.Key)) {
			o.zoneEvents(enqueue).OnAdd(must(trimZone(newSet("zone-a"))), false)
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			o := newObserver(t, unreachable)
			showHold(o, remembering())
			if got := enqueued(func(enqueue func(plan.Key)) { handle(o, enqueue) }); !slices.Equal(got, []string{"store"}) {
				t.Errorf("enqueued %q, want its group once", got)
			}
		})
	}
}

func TestWhichPodsALiveReadCountsForAFormerZone(t *testing.T) {
	second := func(p *corev1.Pod) { p.OwnerReferences[0].UID = "uid-of-the-second" }
	unlabelled := func(p *corev1.Pod) { delete(p.Labels, podNameLabel) }
	renamed := func(p *corev1.Pod) { p.Labels[podNameLabel] = "zone-b-0" }
	for sentence, tc := range map[string]struct {
		objects  []runtime.Object
		orphaned bool
		pods     []string
	}{
		"the StatefulSet was deleted: orphans":                                 {[]runtime.Object{orphan(0)}, true, []string{"zone-a-0"}},
		"the StatefulSet was deleted: some of its pods are orphans":            {[]runtime.Object{orphan(0), newPod("zone-a", 1, made)}, true, []string{"zone-a-0", "zone-a-1"}},
		"the StatefulSet was deleted: pods by their ordinals":                  {[]runtime.Object{orphan(10), orphan(2)}, true, []string{"zone-a-2", "zone-a-10"}},
		"the StatefulSet was deleted: pods of a second one":                    {[]runtime.Object{newPod("zone-a", 0, made, second)}, false, []string{"zone-a-0"}},
		"the StatefulSet was deleted: no pods without the label of their name": {[]runtime.Object{newPod("zone-a", 0, renamed)}, false, nil},
		"the StatefulSet was deleted: no pods of another one":                  {[]runtime.Object{newPod("zone-b", 0, made)}, false, nil},
		"the StatefulSet is outside: its pods":                                 {[]runtime.Object{newSet("zone-a", ungrouped), newPod("zone-a", 0, unlabelled)}, false, []string{"zone-a-0"}},
		"the StatefulSet is outside: orphans that it adopts":                   {[]runtime.Object{newSet("zone-a", ungrouped), orphan(0)}, true, []string{"zone-a-0"}},
		"the StatefulSet is outside: pods of another are not":                  {[]runtime.Object{newSet("zone-a", ungrouped), newPod("zone-a", 0, made, second)}, false, nil},
	} {
		t.Run(sentence, func(t *testing.T) {
			_, live := both(t, store, append(tc.objects, remembering())...)
			if len(live.FormerZones) != 1 {
				t.Fatalf("%d former zones, want zone-a", len(live.FormerZones))
			}
			var pods []string
			for _, p := range live.FormerZones[0].Pods {
				pods = append(pods, p.Name)
			}
			if left := live.FormerZones[0]; left.Orphaned != tc.orphaned || !slices.Equal(pods, tc.pods) {
				t.Errorf("orphaned %t, pods %q; want %t, %q", left.Orphaned, pods, tc.orphaned, tc.pods)
			}
		})
	}
}
