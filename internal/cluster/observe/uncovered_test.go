package observe

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/lock/record"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
)

// rememberingOf returns the Lease of a budget, which remembers zone-a.
func rememberingOf(key plan.Key) *coordinationv1.Lease {
	l := holdOf(key, "")
	l.Annotations[contract.ZonesAnnotation] = record.FormatMembers([]group.Member{{Zone: "zone-a", UID: "uid-of-zone-a"}})
	return l
}

func TestABudgetGuardsAZoneThatItsLeaseRemembersWhileItSelectsAPodOfIt(t *testing.T) {
	key := plan.Key{Namespace: "team", Name: "store", Kind: plan.KindBudget}
	here, gone, unread := &one{budgets{known: true}}, &none{budgets{known: true}}, &none{}
	inApp := func(p *corev1.Pod) { p.Labels["app"] = "store" }
	other := func(s *appsv1.StatefulSet) { ungrouped(s); s.Spec.Template.Labels = map[string]string{"app": "other"} }
	for sentence, tc := range map[string]struct {
		budgets   Budgets
		objects   []runtime.Object
		uncovered bool
	}{
		"the budget was deleted":                              {gone, []runtime.Object{newSet("zone-a", other), newPod("zone-a", 0, inApp)}, true},
		"the budget and the StatefulSet were deleted":         {gone, []runtime.Object{newPod("zone-a", 0, made, inApp, alone)}, true},
		"it selects neither StatefulSet nor pod":              {here, []runtime.Object{newSet("zone-a", other), newPod("zone-a", 0)}, true},
		"it selects no orphan":                                {here, []runtime.Object{newPod("zone-a", 0, made, alone)}, true},
		"it selects a pod of before":                          {here, []runtime.Object{newSet("zone-a", other), newPod("zone-a", 0, inApp)}, false},
		"it selects an orphan next to an ignored StatefulSet": {here, []runtime.Object{newSet("zone-a", other, selectsOthers, annotated(contract.IgnoreAnnotation, "true")), newPod("zone-a", 0, made, inApp, alone)}, false},
		"it selects an orphan":                                {here, []runtime.Object{newPod("zone-a", 0, made, inApp, alone)}, false},
		"it selects the template of an ignored StatefulSet":   {here, []runtime.Object{newSet("zone-a", ungrouped, ofApp, ignored), newPod("zone-a", 0)}, false},
		"budgets cannot be read":                              {unread, []runtime.Object{newSet("zone-a", other), newPod("zone-a", 0)}, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			lease := rememberingOf(key)
			o := newObserver(t, newLibrary(append(tc.objects, lease)...).client(t))
			o.budgets = tc.budgets
			showHold(o, lease)
			for _, object := range tc.objects {
				show(o, object)
			}
			live, err := o.Live(t.Context(), key)
			if err != nil {
				t.Fatal(err)
			}
			for from, s := range map[string]group.Snapshot{"caches": o.Cached(key), "the API server": live} {
				if len(s.FormerZones) != 1 || s.FormerZones[0].Uncovered != tc.uncovered {
					t.Errorf("%s show %d former zones, want zone-a, uncovered: %t", from, len(s.FormerZones), tc.uncovered)
				}
			}
			if pod, known := o.Pod("team", "zone-a-0"); !known || pod.Held == tc.uncovered || pod.Unclaimed != tc.uncovered {
				t.Errorf("the pod is %+v, want it to be held: %t", pod, !tc.uncovered)
			}
			if claims, err := o.Claims(t.Context(), "team", "zone-a-0"); err != nil || len(claims) > 0 == tc.uncovered {
				t.Errorf("the claims are %v, %v, want any: %t", claims, err, !tc.uncovered)
			}
		})
	}
}

// alone is a change to a pod: it has no controller.
func alone(p *corev1.Pod) { p.OwnerReferences = nil }
