package observe

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
)

var store = plan.Key{Namespace: "team", Name: "store"}

// recordedIntent returns an intent for a pod at the version that pods have here.
func recordedIntent(zone, pod string) plan.Intent {
	return plan.Intent{Zone: zone, Pod: pod, UID: "uid-of-" + pod, Version: 9, Since: noon.UTC()}
}

// both returns a group as the caches show it and as the API server shows it.
func both(tb testing.TB, key plan.Key, objects ...runtime.Object) (cached, live group.Snapshot) {
	tb.Helper()
	o := newObserver(tb, newLibrary(objects...).client(tb))
	for _, object := range objects {
		if held, ok := object.(interface{ GetAnnotations() map[string]string }); ok && held.GetAnnotations()[contract.NameAnnotation(plan.KindGroup)] != "" {
			if err := o.holds.Informer().GetStore().Add(object); err != nil {
				tb.Fatal(err)
			}
			continue
		}
		show(o, object)
	}
	cached = o.Cached(key)
	live, err := o.Live(tb.Context(), key)
	if err != nil {
		tb.Fatal(err)
	}
	return cached, live
}

// sight ignores fields that describe how a snapshot was made.
var sight = cmp.Options{
	cmpopts.IgnoreFields(plan.Intent{}, "Known"), // one of the two holds is read later
	cmpopts.IgnoreFields(group.Snapshot{}, "Live", "ZonesAt", "PodsAt"),
	cmpopts.IgnoreFields(group.Zone{}, "PodsAt"),
}

func TestZonesAndPodsStandInNaturalOrder(t *testing.T) {
	var objects []runtime.Object
	for _, zone := range []string{"zone-10", "zone-2", "zone-1"} {
		objects = append(objects, newSet(zone))
		for _, ordinal := range []int{10, 9, 100, 0} {
			objects = append(objects, newPod(zone, ordinal))
		}
	}
	cached, live := both(t, store, objects...)
	want := "zone-1 0 9 10 100 | zone-2 0 9 10 100 | zone-10 0 9 10 100"
	for how, s := range map[string]group.Snapshot{"cached": cached, "live": live} {
		var zones []string
		for _, z := range s.Zones {
			text := z.Name
			for _, p := range z.Pods {
				text += fmt.Sprint(" ", p.Ordinal)
			}
			zones = append(zones, text)
		}
		if got := strings.Join(zones, " | "); got != want {
			t.Errorf("%s: got %s, want %s", how, got, want)
		}
	}
	if !live.Live || cached.Live {
		t.Error("a snapshot does not show whether it was read live")
	}
}

func TestGroupsAreKeptApart(t *testing.T) {
	objects := []runtime.Object{
		newSet("zone-a"), newPod("zone-a", 0),
		newSet("zone-b", inGroup("")), newPod("zone-b", 0),
		newSet("zone-c", ungrouped), newPod("zone-c", 0),
		newSet("zone-d", inGroup("store-2")), newPod("zone-d", 0),
		newSet("zone-a", func(s *appsv1.StatefulSet) { s.Namespace, s.UID = "other", "elsewhere" }),
		newPod("zone-a", 0, func(p *corev1.Pod) { p.Namespace, p.OwnerReferences[0].UID = "other", "elsewhere" }),
	}
	for sentence, tc := range map[string]struct {
		key  plan.Key
		want []string
	}{
		"a group":                            {store, []string{"zone-a: zone-a-0/uid-of-zone-a-0"}},
		"the group without a name":           {plan.Key{Namespace: "team"}, []string{"zone-b: zone-b-0/uid-of-zone-b-0"}},
		"a group of the same name elsewhere": {plan.Key{Namespace: "other", Name: "store"}, []string{"zone-a: zone-a-0/uid-of-zone-a-0"}},
		"a group without members":            {plan.Key{Namespace: "team", Name: "nobody"}, nil},
	} {
		t.Run(sentence, func(t *testing.T) {
			cached, live := both(t, tc.key, objects...)
			for how, s := range map[string]group.Snapshot{"cached": cached, "live": live} {
				var got []string
				for _, z := range s.Zones {
					text := z.Name + ":"
					for _, p := range z.Pods {
						text += " " + p.Name + "/" + p.UID
					}
					got = append(got, text)
				}
				if diff := cmp.Diff(tc.want, got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", how, diff)
				}
			}
		})
	}
}

func TestPodsOfOtherOwnersAreNotShown(t *testing.T) {
	stranger := func(p *corev1.Pod) { p.OwnerReferences[0].UID = "the-former-zone-a" }
	cached, live := both(t, store, newSet("zone-a"), newPod("zone-a", 0, stranger), newPod("zone-a", 1, ownedBy()), newPod("zone-a", 2),
		newPod("zone-a", 3, func(p *corev1.Pod) { p.Name = "looks-the-same" }))
	for how, s := range map[string]group.Snapshot{"cached": cached, "live": live} {
		if pods := s.Zones[0].Pods; len(pods) != 1 || pods[0].Name != "zone-a-2" {
			t.Errorf("%s: got %+v", how, pods)
		}
	}
}

// This happens after kubectl delete statefulset --cascade=orphan, before the replacement of a pod
// is Ready.
func TestAReadyOrphanEndsTheIntentOfThePodThatItReplaced(t *testing.T) {
	orphan := func(p *corev1.Pod) { p.UID, p.ResourceVersion, p.OwnerReferences = "its-replacement", "20", nil }
	for sentence, tc := range map[string]struct {
		pod  *corev1.Pod
		want plan.IntentStatus
	}{
		"it serves":         {newPod("zone-a", 0, orphan), plan.Done},
		"it does not":       {newPod("zone-a", 0, orphan, notReady()), plan.Open},
		"it is terminating": {newPod("zone-a", 0, orphan, terminating), plan.Open},
	} {
		t.Run(sentence, func(t *testing.T) {
			cached, live := both(t, store, newSet("zone-b"), tc.pod, newHold("store", "rollout/zone-a", recordedIntent("zone-a", "zone-a-0")))
			for how, s := range map[string]group.Snapshot{"cached": cached, "live": live} {
				if fate := s.IntentStatus(recordedIntent("zone-a", "zone-a-0")); fate != tc.want {
					t.Errorf("%s: %s, want %s", how, fate, tc.want)
				}
			}
		})
	}
}

func TestRecordedPodsOutsideOfTheGroupAreStrays(t *testing.T) {
	for sentence, objects := range map[string][]runtime.Object{
		"its StatefulSet moved to another group": {newSet("zone-a", inGroup("other")), newPod("zone-a", 0)},
		"its StatefulSet is already deleted":     {newPod("zone-a", 0, terminating)},
	} {
		t.Run(sentence, func(t *testing.T) {
			objects = append(objects, newHold("store", "rollout/zone-a", recordedIntent("zone-a", "zone-a-0"), recordedIntent("zone-a", "zone-a-1")))
			cached, live := both(t, store, objects...)
			if diff := cmp.Diff(live, cached, sight); diff != "" {
				t.Errorf("-live +cached:\n%s", diff)
			}
			if len(live.Zones) != 0 || len(live.Strays) != 1 || live.Strays[0].UID != "uid-of-zone-a-0" {
				t.Errorf("got %+v", live)
			}
			// If no zone remains to list, a pod that is not found by name is deleted.
			if fate := live.IntentStatus(recordedIntent("zone-a", "zone-a-1")); fate != plan.Done {
				t.Errorf("the recorded pod that was deleted: %s", fate)
			}
		})
	}
}

// Caches and API server show the same group if they show the same cluster.
func TestCachedAndLiveShowTheSame(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		world := drawWorld(rt)
		cached, live := both(t, store, world...)
		if diff := cmp.Diff(live, cached, sight); diff != "" {
			rt.Errorf("-live +cached:\n%s", diff)
		}
	})
}

func drawWorld(t *rapid.T) []runtime.Object {
	var world []runtime.Object
	var names []string
	for _, zone := range []string{"zone-a", "zone-b", "zone-10"} {
		if rapid.IntRange(0, 4).Draw(t, zone+" exists") > 0 {
			world = append(world, newSet(zone, drawSet(t, zone)))
		}
		for ordinal := range rapid.IntRange(0, 4).Draw(t, zone+" pods") {
			pod := newPod(zone, ordinal, drawPod(t, fmt.Sprint(zone, "-", ordinal)))
			if owner := metav1.GetControllerOf(pod); owner != nil && owner.Kind == "StatefulSet" {
				names = append(names, pod.Name)
			}
			world = append(world, pod)
		}
	}
	var intents []plan.Intent
	for _, name := range append(names, "zone-b-7", "other-0") {
		if rapid.IntRange(0, 2).Draw(t, name+" noted") == 0 {
			intents = append(intents, recordedIntent(name[:strings.LastIndex(name, "-")], name))
		}
	}
	return append(world, newHold("store", rapid.SampledFrom([]string{"", "rollout/zone-a", "manual/x"}).Draw(t, "holder"), intents...))
}

func drawSet(t *rapid.T, zone string) change[*appsv1.StatefulSet] {
	return rapid.SampledFrom([]change[*appsv1.StatefulSet]{
		func(*appsv1.StatefulSet) {},
		inGroup("other"), inGroup(""), ungrouped,
		func(s *appsv1.StatefulSet) { s.Spec.Replicas = nil },
		func(s *appsv1.StatefulSet) { s.DeletionTimestamp = &noon },
		annotated(contract.MaxUnavailableAnnotation, "50%"),
	}).Draw(t, zone+" is")
}

func drawPod(t *rapid.T, name string) change[*corev1.Pod] {
	return rapid.SampledFrom([]change[*corev1.Pod]{
		func(*corev1.Pod) {},
		terminating, notReady(), notReady(waits("CrashLoopBackOff")),
		ownedBy(),
		func(p *corev1.Pod) { p.OwnerReferences[0].UID = "former" },
		func(p *corev1.Pod) { p.OwnerReferences[0].Kind = "ReplicaSet" },
		func(p *corev1.Pod) { p.UID, p.ResourceVersion = types.UID("second-"+p.Name), "10" },
	}).Draw(t, name+" is")
}

func TestAFailedLiveReadNamesItsObject(t *testing.T) {
	for sentence, tc := range map[string]struct {
		refuses, want string
	}{
		"at the hold":         {"get team/leases", "read hold of team/store: "},
		"at the StatefulSets": {"list team/statefulsets", "list StatefulSets of team/store: "},
		"at the pods":         {"list team/pods", "list pods of team/store: "},
		"at a stray":          {"get team/pods", "read pod team/zone-x-0: "},
	} {
		t.Run(sentence, func(t *testing.T) {
			server := newLibrary(newSet("zone-a"), newPod("zone-a", 0), newHold("store", "", recordedIntent("zone-x", "zone-x-0")))
			server.refuses = tc.refuses
			s, err := newObserver(t, server.client(t)).Live(t.Context(), store)
			if err == nil || !strings.HasPrefix(err.Error(), tc.want) || !apierrors.IsForbidden(err) {
				t.Errorf("got %v, want %s...", err, tc.want)
			}
			if len(s.Zones) != 0 {
				t.Errorf("a part of a live read was returned: %+v", s)
			}
		})
	}
	t.Run("at a group that can have no StatefulSets", func(t *testing.T) {
		_, err := newObserver(t, newLibrary().client(t)).Live(t.Context(), plan.Key{Namespace: "team", Name: "no label value!"})
		if err == nil || !strings.HasPrefix(err.Error(), "select StatefulSets of team/no label value!: ") {
			t.Errorf("got %v", err)
		}
	})
}
