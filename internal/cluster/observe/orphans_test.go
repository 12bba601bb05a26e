package observe

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
)

// selectsOthers gives a StatefulSet a selector that matches no pod of newPod.
func selectsOthers(s *appsv1.StatefulSet) {
	s.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"set": "other"}}
}

func TestOrphansThatAStatefulSetDoesNotAdoptBelongToItsGroup(t *testing.T) {
	for sentence, tc := range map[string]struct {
		set     *appsv1.StatefulSet
		orphans []string
		place   Pod
	}{
		"it selects other pods":            {newSet("zone-a", selectsOthers), []string{"zone-a-0"}, Pod{Held: true, Key: store}},
		"it selects them and adopts them":  {newSet("zone-a"), nil, Pod{Unplaced: true}},
		"it selects other pods, elsewhere": {newSet("zone-a", selectsOthers, inGroup("other")), nil, Pod{Held: true, Key: plan.Key{Namespace: "team", Name: "other"}}},
	} {
		t.Run(sentence, func(t *testing.T) {
			orphan, owned := orphan(0), newPod("zone-a", 1, made)
			o := newObserver(t, newLibrary(tc.set, orphan, owned).client(t))
			show(o, tc.set)
			show(o, orphan)
			show(o, owned)
			live, err := o.Live(t.Context(), store)
			if err != nil {
				t.Fatal(err)
			}
			for from, s := range map[string]group.Snapshot{"caches": o.Cached(store), "the API server": live} {
				var orphans []string
				for _, z := range s.Zones {
					for _, p := range z.Orphans {
						orphans = append(orphans, p.Name)
					}
				}
				if diff := cmp.Diff(tc.orphans, orphans); diff != "" {
					t.Errorf("%s show as orphans (-want +got):\n%s", from, diff)
				}
			}
			got, _ := o.Pod("team", "zone-a-0")
			if !got.Orphaned || got.Held != tc.place.Held || got.Unplaced != tc.place.Unplaced || got.Key != tc.place.Key {
				t.Errorf("the orphan is %+v, want %+v", got, tc.place)
			}
		})
	}
}

// The caches may still show an orphan that was deleted, that has a controller now, or that the
// StatefulSet selects now.
func TestOrphansThatOnlyTheCachesShowAreNotInALiveRead(t *testing.T) {
	controlled := orphan(1)
	controlled.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Other", Name: "other", UID: "u", Controller: new(true)}}
	selected := orphan(2)
	selected.Labels["set"] = "other"
	set := newSet("zone-a", selectsOthers)
	o := newObserver(t, newLibrary(set, controlled, selected).client(t))
	for _, object := range []any{set, orphan(0), orphan(1), orphan(2)} {
		show(o, object)
	}
	live, err := o.Live(t.Context(), store)
	if err != nil {
		t.Fatal(err)
	}
	if z := live.Zones[0]; len(z.Orphans) > 0 || len(z.Pods) != 1 {
		t.Errorf("the read shows %d orphans and %d pods, want the pod that is selected alone", len(z.Orphans), len(z.Pods))
	}
}

// One list of pods answers the selectors of both zones.
func TestAnOrphanThatAnotherZoneSelectsIsNoPodOfTheZoneOfItsName(t *testing.T) {
	released := orphan(0)
	released.Labels["set"] = "zone-b"
	for sentence, tc := range map[string]struct {
		cached  *corev1.Pod
		orphans int
	}{
		"the caches show it as an orphan":         {released, 1},
		"the caches show that zone-a controls it": {newPod("zone-a", 0, made), 0},
	} {
		t.Run(sentence, func(t *testing.T) {
			a, b := newSet("zone-a"), newSet("zone-b")
			o := newObserver(t, newLibrary(a, b, released).client(t))
			for _, object := range []any{a, b, tc.cached} {
				show(o, object)
			}
			live, err := o.Live(t.Context(), store)
			if err != nil {
				t.Fatal(err)
			}
			if z := live.Zones[0]; len(z.Pods) > 0 || len(z.Orphans) != tc.orphans {
				t.Errorf("zone-a has %d pods and %d orphans, want 0 and %d", len(z.Pods), len(z.Orphans), tc.orphans)
			}
		})
	}
}

// The selectors of both zones are the same.
func TestAnOrphanIsAPodOnlyOfTheZoneOfItsName(t *testing.T) {
	set := newSet("zone-b", func(s *appsv1.StatefulSet) { s.Spec.Selector.MatchLabels = map[string]string{"set": "zone-a"} })
	_, live := both(t, store, newSet("zone-a"), set, orphan(0))
	for _, z := range live.Zones {
		if want := map[string]int{"zone-a": 1}[z.Name]; len(z.Pods) != want {
			t.Errorf("%s has %d pods, want %d", z.Name, len(z.Pods), want)
		}
	}
}

func TestAnOrphanOfAStatefulSetOutsideOfItsGroupIsShownWithIt(t *testing.T) {
	cached, live := both(t, store, newSet("zone-a", ungrouped, selectsOthers), orphan(0), remembering())
	for from, s := range map[string]group.Snapshot{"caches": cached, "the API server": live} {
		if len(s.FormerZones) != 1 || len(s.FormerZones[0].Orphans) != 1 || len(s.FormerZones[0].Pods) > 0 {
			t.Errorf("%s show %d former zones, want one with an orphan", from, len(s.FormerZones))
		}
	}
}

// A StatefulSet that is applied again adopts pods with its next sync, except terminating ones.
func TestPodsThatTheirStatefulSetHasNotAdoptedCountAsItsOwn(t *testing.T) {
	ends := orphan(1)
	terminating(ends)
	cached, live := both(t, store, newSet("zone-a"), newSet("zone-b"), orphan(0), ends, newPod("zone-b", 0, made))
	for from, s := range map[string]group.Snapshot{"caches": cached, "the API server": live} {
		var got []string
		for _, z := range s.Zones {
			for _, p := range z.Pods {
				got = append(got, fmt.Sprintf("%s %s %s, unadopted: %t", z.Name, p.Name, p.Phase, p.Unadopted))
			}
		}
		want := []string{"zone-a zone-a-0 ready, unadopted: true", "zone-a zone-a-1 terminating, unadopted: true", "zone-b zone-b-0 ready, unadopted: false"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s show (-want +got):\n%s", from, diff)
		}
	}
}
