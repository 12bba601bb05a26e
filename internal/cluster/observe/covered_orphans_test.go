package observe

import (
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// ofBudget gives a pod the label that the budget of one selects.
func ofBudget(p *corev1.Pod) { p.Labels["app"] = "store" }

// coveredOrphan returns a pod of zone-a that has no controller and that the budget of one
// selects.
func coveredOrphan(ordinal int) *corev1.Pod {
	pod := orphan(ordinal)
	ofBudget(pod)
	return pod
}

func TestOrphansWithoutAGroupAreEvictedUnderTheBudgetThatCoversThem(t *testing.T) {
	key := plan.Key{Namespace: "team", Name: "store", Kind: plan.KindBudget}
	ignored := annotated(contract.IgnoreAnnotation, "true")
	for sentence, tc := range map[string]struct {
		set      *appsv1.StatefulSet
		usesHold bool
		refusal  reason.Code
	}{
		"the budget covers neither the new StatefulSet nor its template": {newSet("zone-a", ungrouped, selectsOthers), true, ""},
		"the budget covers the new StatefulSet":                          {newSet("zone-a", ungrouped, selectsOthers, ofApp), true, ""},
		"there is no StatefulSet":                                        {nil, true, reason.ZoneLeftGroup},
		"lockstep ignores the new StatefulSet":                           {newSet("zone-a", ungrouped, selectsOthers, ignored), false, ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			objects := []runtime.Object{coveredOrphan(0), coveredOrphan(1)}
			if tc.set != nil {
				tc.set.Spec.Replicas = new(int32(2))
				objects = append(objects, tc.set)
			}
			o := newObserver(t, newLibrary(objects...).client(t))
			o.budgets = &one{budgets{known: true}}
			for _, object := range objects {
				show(o, object)
			}
			if pod, _ := o.Pod("team", "zone-a-0"); pod.Held != tc.usesHold || pod.Held && pod.Key != key || pod.Unclaimed == tc.usesHold {
				t.Fatalf("the orphan is %+v, want it under %s: %t", pod, key, tc.usesHold)
			}
			if !tc.usesHold {
				return
			}
			live, err := o.Live(t.Context(), key)
			if err != nil {
				t.Fatal(err)
			}
			for from, s := range map[string]group.Snapshot{"caches": o.Cached(key), "the API server": live} {
				answer := group.Evict(s, plan.EvictionRequest{Pod: "zone-a-0", UID: "uid-of-zone-a-0"})
				switch {
				case answer.Because.Code == reason.CacheStale:
					t.Errorf("%s: the zone of the orphan is missing: %+v", from, answer)
				case tc.refusal != "" && answer.Because.Code != tc.refusal:
					t.Errorf("%s: the answer is %s, want %s", from, answer.Because, tc.refusal)
				case tc.refusal == "" && (answer.Budget != "store" || answer.Zone != "zone-a"):
					t.Errorf("%s: judged by %+v", from, answer)
				}
			}
		})
	}
}

func TestABudgetHasNoZoneOfOrphansThatItDoesNotCover(t *testing.T) {
	key := plan.Key{Namespace: "team", Name: "store", Kind: plan.KindBudget}
	objects := []runtime.Object{newSet("zone-a", ungrouped, selectsOthers), orphan(0), newSet("zone-b", ungrouped), newPod("zone-b", 0, made)}
	o := newObserver(t, newLibrary(objects...).client(t))
	o.budgets = &one{budgets{known: true}}
	for _, object := range objects {
		show(o, object)
	}
	live, err := o.Live(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	for from, s := range map[string]group.Snapshot{"caches": o.Cached(key), "the API server": live} {
		if len(s.Zones)+len(s.FormerZones) > 0 {
			t.Errorf("%s show %d zones and %d former zones", from, len(s.Zones), len(s.FormerZones))
		}
	}
	if pod, _ := o.Pod("team", "zone-a-0"); pod.Held || !pod.Unclaimed {
		t.Errorf("the orphan is %+v", pod)
	}
}

// Caches may show an orphan that was deleted. Then a live read shows no zone that could be
// removed from the hold.
func TestALiveReadDoesNotShowAZoneOfDeletedOrphans(t *testing.T) {
	key := plan.Key{Namespace: "team", Name: "store", Kind: plan.KindBudget}
	o := newObserver(t, newLibrary().client(t))
	o.budgets = &one{budgets{known: true}}
	show(o, coveredOrphan(0))
	live, err := o.Live(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	if len(live.FormerZones) > 0 {
		t.Errorf("it shows %d former zones", len(live.FormerZones))
	}
	if cached := o.Cached(key); !slices.ContainsFunc(cached.FormerZones, func(z group.FormerZone) bool { return z.Name == "zone-a" }) {
		t.Error("the caches do not show the zone of the orphan")
	}
}
