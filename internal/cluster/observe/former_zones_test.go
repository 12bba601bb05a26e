package observe

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/lock/record"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/proof/apitest"
)

// remembering returns the Lease of the group, which remembers zone-a.
func remembering() *coordinationv1.Lease {
	l := newHold("store", "")
	l.Annotations[contract.ZonesAnnotation] = record.FormatMembers([]group.Member{{Zone: "zone-a", UID: "uid-of-zone-a"}})
	return l
}

// orphan returns a pod of zone-a that has no controller any more.
func orphan(ordinal int) *corev1.Pod {
	return newPod("zone-a", ordinal, made, func(p *corev1.Pod) { p.OwnerReferences = nil })
}

// made gives a pod the label that a StatefulSet gives to each of its pods.
func made(p *corev1.Pod) { p.Labels[podNameLabel] = p.Name }

func TestFormerZonesAreShownWithTheirPods(t *testing.T) {
	for sentence, tc := range map[string]struct {
		objects          []runtime.Object
		exists, orphaned bool
		pods             []string
	}{
		"its StatefulSet was deleted without its pods": {[]runtime.Object{orphan(0), orphan(2)}, false, true, []string{"zone-a-0", "zone-a-2"}},
		"its StatefulSet was deleted with its pods":    {[]runtime.Object{newPod("zone-a", 1, made)}, false, false, []string{"zone-a-1"}},
		"its StatefulSet lost the label of the group":  {[]runtime.Object{newSet("zone-a", ungrouped), newPod("zone-a", 0)}, true, false, []string{"zone-a-0"}},
		"its StatefulSet moved to another group":       {[]runtime.Object{newSet("zone-a", inGroup("other")), newPod("zone-a", 0)}, true, false, []string{"zone-a-0"}},
		"it was deleted with all of its pods":          {nil, false, false, nil},
		"pods of other StatefulSets are not its own":   {[]runtime.Object{newPod("zone-b", 0), newSet("zone-b")}, false, false, nil},
	} {
		t.Run(sentence, func(t *testing.T) {
			cached, live := both(t, store, append(tc.objects, remembering())...)
			for from, s := range map[string]group.Snapshot{"caches": cached, "the API server": live} {
				if len(s.FormerZones) != 1 {
					t.Fatalf("%s show %d former zones, want zone-a", from, len(s.FormerZones))
				}
				left := s.FormerZones[0]
				var pods []string
				for _, p := range left.Pods {
					pods = append(pods, p.Name)
				}
				if left.Name != "zone-a" || left.Exists != tc.exists || left.Orphaned != tc.orphaned || !slices.Equal(pods, tc.pods) {
					t.Errorf("%s show %s, exists %t, orphaned %t, pods %q", from, left.Name, left.Exists, left.Orphaned, pods)
				}
			}
		})
	}
}

// returner lets a StatefulSet join the group when it is read by its name for the second
// time. The first read is of the zones of the group, the second of its former zones.
type returner struct {
	*library
	reads *int
}

func (s returner) RoundTrip(q *http.Request) (*http.Response, error) {
	if strings.HasSuffix(q.URL.Path, "/statefulsets/zone-a") {
		if *s.reads++; *s.reads == 2 {
			s.add(newSet("zone-a"))
		}
	}
	return s.library.RoundTrip(q)
}

func TestALiveReadIsRepeatedIfAFormerZoneReturns(t *testing.T) {
	server := returner{newLibrary(newPod("zone-a", 0)), new(int)}
	held := group.Hold{Hold: plan.Hold{Exists: true}, Part: group.Part{Members: []group.Member{{Zone: "zone-a", UID: "uid-of-zone-a"}}}}
	live, err := newObserver(t, apitest.Client(t, server)).LiveUnder(t.Context(), store, held)
	if err != nil {
		t.Fatal(err)
	}
	if len(live.FormerZones) > 0 || len(live.Zones) != 1 || len(live.Zones[0].Pods) != 1 {
		t.Errorf("the read shows %d former zones and the zones %+v, want zone-a with its pod in the group", len(live.FormerZones), live.Zones)
	}
}

// recreator creates the StatefulSet of zone-a again once the StatefulSets have been listed, before their pods are. The
// new one adopts the pod.
type recreator struct {
	*library
	pods *int // how often pods were listed
}

func (s recreator) RoundTrip(q *http.Request) (*http.Response, error) {
	if strings.HasSuffix(q.URL.Path, "/pods") {
		if *s.pods++; *s.pods == 1 {
			s.mu.Lock()
			s.at = "120"
			s.objects = []runtime.Object{
				newSet("zone-a", func(set *appsv1.StatefulSet) { set.UID, set.ResourceVersion = "uid-of-the-new-one", "110" }),
				newPod("zone-a", 0, func(p *corev1.Pod) { p.OwnerReferences[0].UID, p.ResourceVersion = "uid-of-the-new-one", "111" }),
			}
			s.mu.Unlock()
		}
	}
	return s.library.RoundTrip(q)
}

// A read that had listed the former StatefulSet would show that the zone has no pods.
func TestALiveReadIsRepeatedIfAStatefulSetIsCreatedAgain(t *testing.T) {
	server := recreator{newLibrary(newSet("zone-a"), orphan(0)), new(int)}
	live, err := newObserver(t, apitest.Client(t, server)).LiveUnder(t.Context(), store, group.Hold{})
	if err != nil {
		t.Fatal(err)
	}
	if len(live.Zones) != 1 || live.Zones[0].UID != "uid-of-the-new-one" || len(live.Zones[0].Pods) != 1 || *server.pods != 2 {
		t.Errorf("after %d lists of pods the read shows %+v, want the new StatefulSet with its pod", *server.pods, live.Zones)
	}
}

// Pods that the garbage collector still deletes belong to the former StatefulSet. They do not change, so the read is not
// repeated for them.
func TestALiveReadIsNotRepeatedForPodsOfTheFormerStatefulSet(t *testing.T) {
	server := newLibrary(newSet("zone-a"), newPod("zone-a", 0, formerSet))
	if _, err := newObserver(t, server.client(t)).LiveUnder(t.Context(), store, group.Hold{}); err != nil {
		t.Fatal(err)
	}
	lists := slices.DeleteFunc(server.requests(), func(q string) bool { return !strings.HasPrefix(q, "list team/pods") })
	if len(lists) != 1 {
		t.Errorf("the requests were %q, want one list of pods", lists)
	}
}

// One list answers the selectors of both zones, and the pod of zone-b has changed since the StatefulSets were listed.
func TestALiveReadIsNotRepeatedForPodsOfAnotherZone(t *testing.T) {
	later := newPod("zone-b", 0, func(p *corev1.Pod) { p.ResourceVersion = "9999" })
	server := newLibrary(newSet("zone-a"), newSet("zone-b"), later)
	if _, err := newObserver(t, server.client(t)).LiveUnder(t.Context(), store, group.Hold{}); err != nil {
		t.Fatal(err)
	}
	lists := slices.DeleteFunc(server.requests(), func(q string) bool { return !strings.HasPrefix(q, "list team/pods") })
	if len(lists) != 1 {
		t.Errorf("the requests were %q, want one list of pods", lists)
	}
}

// A live read of a budget lists the StatefulSets that it covers, and is not repeated for another one.
func TestALiveReadOfABudgetIsNotRepeatedWhenAStatefulSetIsBack(t *testing.T) {
	key := plan.Key{Namespace: "team", Name: "store", Kind: plan.KindBudget}
	covered := newSet("zone-a", ungrouped, ofApp)
	server := newLibrary(covered)
	o := newObserver(t, server.client(t))
	o.budgets = &one{}
	if _, err := o.readLeft(t.Context(), key, group.Member{Zone: "zone-a", UID: string(covered.UID)}); err != nil {
		t.Error(err)
	}
}

func TestPodsOfAFormerZoneAreListedAfterItsStatefulSetIsDeleted(t *testing.T) {
	server := newLibrary(orphan(0))
	held := group.Hold{Hold: plan.Hold{Exists: true}, Part: group.Part{Members: []group.Member{{Zone: "zone-a", UID: "uid-of-zone-a"}}}}
	if _, err := newObserver(t, server.client(t)).LiveUnder(t.Context(), store, held); err != nil {
		t.Fatal(err)
	}
	requests := server.requests()
	read, listed := slices.Index(requests, "get team/statefulsets zone-a"), slices.Index(requests, "list team/pods "+podNameLabel)
	if read < 0 || listed < read {
		t.Errorf("the requests were %q, want the StatefulSet before its pods", requests)
	}
}

func TestALiveReadHasTheVersionOfThePodsOfAFormerZone(t *testing.T) {
	for sentence, objects := range map[string][]runtime.Object{
		"orphaned":          {orphan(0)},
		"without its label": {newSet("zone-a", ungrouped), newPod("zone-a", 0)},
	} {
		held := group.Hold{Hold: plan.Hold{Exists: true}, Part: group.Part{Members: []group.Member{{Zone: "zone-a", UID: "uid-of-zone-a"}}}}
		live, err := newObserver(t, newLibrary(objects...).client(t)).LiveUnder(t.Context(), store, held)
		if err != nil {
			t.Fatal(err)
		}
		if len(live.FormerZones) != 1 || live.FormerZones[0].PodsAt != 100 {
			t.Errorf("%s: %+v, want pods of version 100, that of their list", sentence, live.FormerZones)
		}
	}
}

func TestPodsOfAFormerZoneAreEvictedUnderItsGroup(t *testing.T) {
	for sentence, tc := range map[string]struct {
		objects            []any
		usesHold, unplaced bool
	}{
		"orphaned": {nil, true, false},
		"orphaned, and its StatefulSet is back and about to adopt it": {[]any{newSet("zone-a")}, false, true},
		"orphaned, and its StatefulSet is back outside of the group":  {[]any{newSet("zone-a", ungrouped)}, true, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			o := newObserver(t, newLibrary().client(t))
			showHold(o, remembering())
			show(o, orphan(0))
			for _, object := range tc.objects {
				show(o, object)
			}
			pod, known := o.Pod("team", "zone-a-0")
			if !known || pod.Held != tc.usesHold || pod.Unplaced != tc.unplaced || pod.Held && pod.Key != store {
				t.Errorf("known %t: %+v", known, pod)
			}
		})
	}
	t.Run("its StatefulSet lost the label of the group", func(t *testing.T) {
		o := newObserver(t, newLibrary().client(t))
		showHold(o, remembering())
		show(o, newSet("zone-a", func(s *appsv1.StatefulSet) { delete(s.Labels, contract.GroupLabel) }))
		show(o, newPod("zone-a", 0))
		if pod, known := o.Pod("team", "zone-a-0"); !known || !pod.Held || pod.Key != store {
			t.Errorf("known %t: %+v", known, pod)
		}
	})
}

func TestAGroupIsEnqueuedForPodsOfItsFormerZone(t *testing.T) {
	o := newObserver(t, newLibrary().client(t))
	showHold(o, remembering())
	for sentence, pod := range map[string]*corev1.Pod{"orphaned": orphan(0), "of a deleted StatefulSet": newPod("zone-a", 1)} {
		if keys := o.concernedBy(keep(pod)); !slices.Equal(keys, []plan.Key{store}) {
			t.Errorf("a pod that is %s concerns %v, want its group", sentence, keys)
		}
	}
}
