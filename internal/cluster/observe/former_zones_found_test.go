package observe

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/lock/hold"
	"github.com/lockstep-dev/lockstep/internal/lock/record"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/proof/apitest"
)

// The StatefulSet was orphaned, applied with another selector, and deleted again. The caches show
// its orphans by name. A live read that used only the last selector would not find them, and the
// zone would be removed from the hold.
func TestOrphansOfAFormerSelectorAreShownByALiveRead(t *testing.T) {
	l := remembering()
	l.Annotations[contract.ZonesAnnotation] = record.FormatMembers([]group.Member{{Zone: "zone-a", UID: "uid-of-the-second"}})
	cached, live := both(t, store, []runtime.Object{orphan(0), orphan(1), l}...)
	for from, s := range map[string]group.Snapshot{"caches": cached, "the API server": live} {
		if len(s.FormerZones) != 1 || len(s.FormerZones[0].Pods) != 2 {
			t.Errorf("%s show %+v, want zone-a with two orphans", from, s.FormerZones)
		}
		for _, step := range plan.Only[group.RecordMembers](group.Plan(s)) {
			t.Errorf("%s: the plan forgets %q, whose orphans exist", from, step.Gone)
		}
	}
}

// The hold's record of zones cannot be read here, because it has a newer version or is invalid.
// Therefore it may remember any zone.
func TestAHoldThatCannotBeReadMayRememberAnyZone(t *testing.T) {
	for text, want := range map[string]bool{
		"garbage": true,
		`{"version":2,"zones":[{"zone":"zone-a","uid":"u","selector":"set=zone-a"}]}`: true,
		record.FormatMembers([]group.Member{{Zone: "zone-b", UID: "u"}}):              false,
		record.FormatMembers([]group.Member{{Zone: "zone-a", UID: "u"}}):              true,
	} {
		l := remembering()
		l.Annotations[contract.ZonesAnnotation] = text
		delete(l.Labels, contract.HoldLabel) // no watch shows it
		o := newObserver(t, newLibrary(l).client(t))
		show(o, orphan(0))
		if pod, known := o.Pod("team", "zone-a-0"); !known || !pod.Unclaimed {
			t.Errorf("zones %q: known %t: %+v", text, known, pod)
		}
		if claims, err := o.Claims(t.Context(), "team", "zone-a-0"); len(claims) > 0 != want || err != nil {
			t.Errorf("zones %q: claims %v, %v, want any: %t", text, claims, err, want)
		}
	}
}

// A budget covered the zone before it joined its group, so two Leases remember it. Without the
// group's label, either of them could be chosen.
func TestAZoneThatTwoLeasesRememberIsPlacedUnderItsGroup(t *testing.T) {
	o := newObserver(t, newLibrary().client(t))
	covered := plan.Key{Namespace: "team", Name: "cache", Kind: plan.KindBudget}
	showHold(o, remembering())
	showHold(o, &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{
		Namespace: "team", Name: hold.LeaseName(covered), UID: "uid-of-another-hold", ResourceVersion: "8",
		Labels: map[string]string{contract.HoldLabel: contract.HoldLabelOf(plan.KindGroup)},
		Annotations: map[string]string{
			contract.NameAnnotation(plan.KindBudget): "cache",
			contract.ZonesAnnotation:                 record.FormatMembers([]group.Member{{Zone: "zone-a", UID: "uid-of-zone-a"}}),
		},
	}})
	show(o, newSet("zone-a", func(s *appsv1.StatefulSet) { delete(s.Labels, contract.GroupLabel) }))
	show(o, newPod("zone-a", 0))
	keys := map[plan.Key]int{}
	for range 200 {
		pod, _ := o.Pod("team", "zone-a-0")
		keys[pod.Key]++
	}
	if keys[store] != 200 {
		t.Errorf("of 200 times the pod was placed under %v", keys)
	}
}

// A zone name that is not a valid object name could never be read.
func TestAMemberWithANameOfNoObjectMakesTheHoldUnreadable(t *testing.T) {
	for _, name := range []string{"a/b", "..", "%"} {
		l := remembering()
		l.Annotations[contract.ZonesAnnotation] = record.FormatMembers([]group.Member{{Zone: name, UID: "u"}})
		cached, live := both(t, store, newSet("zone-a"), l)
		for from, s := range map[string]group.Snapshot{"caches": cached, "the API server": live} {
			if !strings.Contains(s.Hold.Unreadable, "no name of a StatefulSet") || len(s.FormerZones) > 0 {
				t.Errorf("member %q, %s: unreadable %q, former %+v", name, from, s.Hold.Unreadable, s.FormerZones)
			}
		}
	}
}

// adopter applies a StatefulSet again, and lets it adopt its pods, after it was found missing and
// before its pods are listed.
type adopter struct{ *library }

func (s adopter) RoundTrip(q *http.Request) (*http.Response, error) {
	gone := slices.Contains(s.requests(), "get team/statefulsets zone-a")
	if gone && strings.HasSuffix(q.URL.Path, "/pods") && strings.Contains(q.URL.RawQuery, "zone-a") {
		second := func(p *corev1.Pod) { p.OwnerReferences[0].UID = "uid-of-the-second" }
		s.mu.Lock()
		s.objects = slices.DeleteFunc(s.objects, func(o runtime.Object) bool {
			pod, is := o.(*corev1.Pod)
			return is && strings.HasPrefix(pod.Name, "zone-a-")
		})
		s.objects = append(s.objects, newSet("zone-a", func(s *appsv1.StatefulSet) { s.UID = "uid-of-the-second" }),
			newPod("zone-a", 0, made, second), newPod("zone-a", 1, made, second, notReady()))
		s.mu.Unlock()
	}
	return s.library.RoundTrip(q)
}

// zone-a-1 is down all the time. zone-a does not exist while the StatefulSets are listed and when
// it is read by name. It exists again, and has adopted its pods, when they are listed. A live
// read that shows neither the zone nor its pods would remove the zone from the hold and allow the
// deletion of a ready pod of zone-b. Slightly older caches would confirm that.
func TestAZoneThatIsBackWhileItsPodsAreListedIsNotForgotten(t *testing.T) {
	rolls := newSet("zone-b")
	down := orphan(1)
	notReady()(down)
	objects := []runtime.Object{rolls, newPod("zone-b", 0), newPod("zone-b", 1), orphan(0), down}
	o := newObserver(t, apitest.Client(t, adopter{newLibrary(objects...)}))
	l := remembering()
	l.Annotations[contract.ZonesAnnotation] = record.FormatMembers([]group.Member{
		{Zone: "zone-a", UID: "uid-of-zone-a"}, {Zone: "zone-b", UID: "uid-of-zone-b"},
	})
	showHold(o, l)
	for _, object := range objects {
		show(o, object)
	}
	cached := o.Cached(store)
	live, err := o.LiveUnder(t.Context(), store, cached.Hold)
	if err != nil {
		t.Fatal(err)
	}
	steps := group.Plan(live)
	if disruptions := plan.Only[plan.DeletePod](steps); len(disruptions) > 0 {
		t.Errorf("although zone-a-1 is down, the plan is %q; caches confirm it: %t", plan.Notation(steps), group.Confirms(cached, live, steps))
	}
}

// The name of the Lease is that of a budget's Lease, and its annotation names another budget.
func TestALeaseWithoutItsGroupMayBelongToAnyGroup(t *testing.T) {
	l := covering()
	l.Annotations[contract.NameAnnotation(plan.KindBudget)] = "other"
	claims, err := newObserver(t, newLibrary(l).client(t)).ClaimsOfGroups(t.Context(), "team", "zone-a")
	if err != nil || len(claims) != 1 || claims[0].Lease != l.Name {
		t.Errorf("got %+v, %v, want the Lease %s", claims, err, l.Name)
	}
}

// ClaimsOfGroups returns the groups that remember a StatefulSet without a label, whatever the
// caches show.
func TestAStatefulSetRemovedFromItsGroupIsRemembered(t *testing.T) {
	o := newObserver(t, newLibrary(remembering(), covering()).client(t))
	for set, want := range map[string][]plan.Key{"zone-a": {store}, "zone-x": nil} {
		claims, err := o.ClaimsOfGroups(t.Context(), "team", set)
		var got []plan.Key
		for _, c := range claims {
			got = append(got, c.Key)
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: got %v, %v, want %v", set, got, err, want)
		}
	}
}
