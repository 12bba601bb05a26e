package observe

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/proof/apitest"
)

func annotatedInto(group string) change[*appsv1.StatefulSet] {
	return annotated(contract.RolloutGroupAnnotation, group)
}

func ignored(s *appsv1.StatefulSet) { s.Annotations[contract.IgnoreAnnotation] = "true" }

// all returns a change that makes several changes.
func all[T any](changes ...change[T]) change[T] {
	return func(object T) {
		for _, c := range changes {
			c(object)
		}
	}
}

func zoneNames(s group.Snapshot) []string {
	var names []string
	for i := range s.Zones {
		names = append(names, s.Zones[i].Name)
	}
	return names
}

func TestAGroupHasTheStatefulSetsThatItsAnnotationPutsThere(t *testing.T) {
	sets := map[string]change[*appsv1.StatefulSet]{
		"labelled":         func(*appsv1.StatefulSet) {},
		"moved-in":         all(inGroup("other"), annotatedInto("store")),
		"annotated-alone":  all(ungrouped, annotatedInto("store")),
		"moved-out":        annotatedInto("other"),
		"ignored":          ignored,
		"ignored-moved-in": all(inGroup("other"), annotatedInto("store"), ignored),
		"misnamed":         annotatedInto("no group"),
	}
	want := []string{"annotated-alone", "labelled", "misnamed", "moved-in"}
	server := newLibrary()
	o := newObserver(t, server.client(t))
	for _, name := range slices.Sorted(maps.Keys(sets)) {
		set, pod := newSet(name, sets[name]), newPod(name, 0)
		server.add(set)
		server.add(pod)
		show(o, set)
		show(o, pod)
	}
	live, err := o.Live(t.Context(), store)
	if err != nil {
		t.Fatal(err)
	}
	for from, s := range map[string]group.Snapshot{"the caches": o.Cached(store), "the API server": live} {
		if diff := cmp.Diff(want, zoneNames(s)); diff != "" {
			t.Errorf("%s show (-want +got):\n%s", from, diff)
		}
		for i := range s.Zones {
			if z := &s.Zones[i]; len(z.Pods) != 1 || z.InvalidGroup != map[string]string{"misnamed": `"no group"`}[z.Name] {
				t.Errorf("%s show %d pods of %s, whose annotation is wrong: %q", from, len(z.Pods), z.Name, z.InvalidGroup)
			}
		}
	}
}

// A replica with outdated caches reads the zones that the hold remembers by their names: no label
// selector finds a StatefulSet that an annotation puts into the group.
func TestALiveReadFindsAnAnnotatedZoneThatTheHoldRemembers(t *testing.T) {
	set := newSet("zone-a", all(inGroup("other"), annotatedInto("store")))
	server := newLibrary(set, newPod("zone-a", 0))
	held := group.Hold{Hold: plan.Hold{Exists: true}, Part: group.Part{Members: []group.Member{{Zone: "zone-a", UID: "uid-of-zone-a"}}}}
	live, err := newObserver(t, server.client(t)).LiveUnder(t.Context(), store, held)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"zone-a"}, zoneNames(live)); diff != "" || len(live.FormerZones) > 0 || len(live.Zones[0].Pods) != 1 {
		t.Errorf("%d former zones; the group has (-want +got):\n%s", len(live.FormerZones), diff)
	}
}

func TestALiveReadGetsAnnotatedZonesByName(t *testing.T) {
	labelled, moved := newSet("zone-a"), newSet("zone-b", all(inGroup("other"), annotatedInto("store")))
	server := newLibrary(labelled, moved)
	o := newObserver(t, server.client(t))
	show(o, labelled)
	show(o, moved)
	if _, err := o.LiveUnder(t.Context(), store, group.Hold{Hold: plan.Hold{Exists: true}}); err != nil {
		t.Fatal(err)
	}
	got, want := server.requests(), []string{"get team/statefulsets zone-b", "list team/pods set in (zone-a,zone-b)", "list team/statefulsets rollout-group=store"}
	if listed, read := slices.Index(got, want[2]), slices.Index(got, want[0]); read < listed {
		t.Errorf("zone-b was read before the list whose version the snapshot has: %q", got)
	}
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestALiveReadFailsIfAnAnnotatedZoneCannotBeRead(t *testing.T) {
	moved := newSet("zone-b", all(inGroup("other"), annotatedInto("store")))
	server := newLibrary(moved)
	server.refuses = "get team/statefulsets zone-b"
	o := newObserver(t, server.client(t))
	show(o, moved)
	if _, err := o.LiveUnder(t.Context(), store, group.Hold{Hold: plan.Hold{Exists: true}}); err == nil {
		t.Error("the zone is missing")
	}
}

func TestAnAnnotationTakesAZoneOutOfItsGroup(t *testing.T) {
	for sentence, changed := range map[string]change[*appsv1.StatefulSet]{
		"it is in another group": annotatedInto("other"),
		"it is ignored":          ignored,
	} {
		t.Run(sentence, func(t *testing.T) {
			cached, live := both(t, store, newSet("zone-a", changed), newPod("zone-a", 0, notReady()), newSet("zone-b"), remembering())
			for from, s := range map[string]group.Snapshot{"caches": cached, "the API server": live} {
				if len(s.FormerZones) != 1 || s.FormerZones[0].Name != "zone-a" || !s.FormerZones[0].Exists || len(s.FormerZones[0].Pods) != 1 {
					t.Errorf("%s show former zones: %+v", from, s.FormerZones)
				}
				if diff := cmp.Diff([]string{"zone-b"}, zoneNames(s)); diff != "" {
					t.Errorf("%s (-want +got):\n%s", from, diff)
				}
			}
		})
	}
}

func TestPodsBelongToTheGroupOfTheirStatefulSet(t *testing.T) {
	labelled := func(p *corev1.Pod) { p.Labels["app"], p.Labels[contract.GroupLabel] = "store", "store" }
	prepares := func(s *appsv1.StatefulSet) { s.Labels[contract.PrepareDownscaleLabel] = "true" }
	for sentence, tc := range map[string]struct {
		set  change[*appsv1.StatefulSet]
		want Pod
	}{
		"an annotation moves it":                              {annotatedInto("other"), Pod{Held: true, Key: plan.Key{Namespace: "team", Name: "other"}}},
		"it is ignored, although a budget selects its pods":   {ignored, Pod{}},
		"it is ignored, although its pods are to be prepared": {all(prepares, ignored), Pod{}},
	} {
		t.Run(sentence, func(t *testing.T) {
			o := newObserver(t, unreachable)
			o.budgets = &one{}
			optIn(o)
			show(o, newSet("zone-a", tc.set))
			show(o, newPod("zone-a", 0, labelled))
			pod, known := o.Pod("team", "zone-a-0")
			if !known || pod.Held != tc.want.Held || pod.Key != tc.want.Key || pod.Unplaced || pod.Unclaimed == tc.want.Held {
				t.Errorf("known %t: %+v", known, pod)
			}
			set, _ := o.Set("team", "zone-a")
			if set.Held != tc.want.Held || set.Key != tc.want.Key || set.Ignored == tc.want.Held {
				t.Errorf("the StatefulSet: %+v", set)
			}
		})
	}
}

func TestPodsOfAnIgnoredZoneAreEvictedUnderTheGroupThatRemembersIt(t *testing.T) {
	o := newObserver(t, unreachable)
	showHold(o, remembering())
	show(o, newSet("zone-a", ignored))
	show(o, newPod("zone-a", 0))
	if pod, known := o.Pod("team", "zone-a-0"); !known || !pod.Held || pod.Key != store {
		t.Errorf("known %t: %+v", known, pod)
	}
}

func TestABudgetDoesNotCountIgnoredStatefulSets(t *testing.T) {
	key := plan.Key{Namespace: "team", Name: "store", Kind: plan.KindBudget}
	covered, out := newSet("covered", ungrouped, ofApp), newSet("out", ungrouped, ofApp, ignored)
	held := holdOf(key, "evict/covered")
	o := newObserver(t, newLibrary(covered, out, held).client(t))
	o.budgets = &one{}
	optIn(o)
	showHold(o, held)
	show(o, covered)
	show(o, out)
	live, err := o.Live(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	for from, s := range map[string]group.Snapshot{"the caches": o.Cached(key), "the API server": live} {
		if diff := cmp.Diff([]string{"covered"}, zoneNames(s)); diff != "" {
			t.Errorf("%s show (-want +got):\n%s", from, diff)
		}
	}
	if err := o.zones.GetStore().Delete(must(trimZone(covered))); err != nil {
		t.Fatal(err)
	}
	if keys := o.GroupsIn("team"); len(keys) > 0 {
		t.Errorf("the namespace has %v, want nothing: its only StatefulSet is ignored", keys)
	}
	notified := enqueued(func(enqueue func(plan.Key)) {
		o.zoneEvents(enqueue).OnUpdate(must(trimZone(newSet("out", ungrouped, ofApp))), must(trimZone(out)))
	})
	if diff := cmp.Diff([]string{"store"}, notified); diff != "" {
		t.Errorf("after one was ignored, enqueued were (-want +got):\n%s", diff)
	}
}

func TestAnIgnoredDeploymentMayScaleDown(t *testing.T) {
	for value, want := range map[string]bool{"true": false, "false": true} {
		record := must(trimLabelled(&metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
			Labels: map[string]string{contract.NoDownscaleLabel: "true"}, Annotations: map[string]string{contract.IgnoreAnnotation: value},
		}}))
		if got := as[*labelledRecord](record).scaled.NoDownscale; got != want {
			t.Errorf("%s: the label counts: %t", value, got)
		}
	}
}

// raising increases the replicas of a StatefulSet after it was read by its name.
type raising struct {
	*library
	set *appsv1.StatefulSet
}

func (s raising) RoundTrip(q *http.Request) (*http.Response, error) {
	answer, err := s.library.RoundTrip(q)
	if strings.HasSuffix(q.URL.Path, "/statefulsets/"+s.set.Name) {
		s.mu.Lock()
		s.set.Spec.Replicas = new(int32(2))
		s.mu.Unlock()
	}
	return answer, err
}

// The pod was deleted while the annotated zone did not want it. These caches do not show that
// zone.
func TestALiveReadConfirmsAnAnnotatedZoneThatTheHoldRemembers(t *testing.T) {
	set := newSet("zone-a", all(inGroup("other"), annotatedInto("store")), func(s *appsv1.StatefulSet) { s.Spec.Replicas = new(int32(1)) })
	held := group.Hold{Hold: plan.Hold{Exists: true, Intents: []plan.Intent{recordedIntent("zone-a", "zone-a-1")}}, Part: group.Part{Members: []group.Member{{Zone: "zone-a", UID: "uid-of-zone-a"}}}}
	live, err := newObserver(t, apitest.Client(t, raising{newLibrary(set, newPod("zone-a", 0)), set})).LiveUnder(t.Context(), store, held)
	if err != nil {
		t.Fatal(err)
	}
	if live.Zones[0].Replicas != 2 {
		t.Errorf("zone-a has %d replicas, want the number after the scale-up while its pods were listed", live.Zones[0].Replicas)
	}
}
