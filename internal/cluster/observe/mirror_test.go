package observe

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/cache"

	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/lock/lease"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// ledger contains scales that a test sets, and records which are wanted.
type ledger struct {
	scale   group.Scale
	mute    bool // no status can be written
	wanted  map[string]bool
	changed func(namespace string, r group.Reference)
}

func (l *ledger) Scale(string, group.Reference) (group.Scale, bool) { return l.scale, !l.mute }

func (l *ledger) Want(namespace string, r group.Reference, wanted bool) {
	delete(l.wanted, sharing(namespace, r))
	if wanted {
		l.wanted[sharing(namespace, r)] = true
	}
}

func (l *ledger) Listen(changed func(namespace string, r group.Reference)) { l.changed = changed }

const theGroup = "rollout-operator.grafana.com"

var theWeb = group.Reference{APIGroup: theGroup, Kind: "ReplicaTemplate", Name: "web"}

// mirrors returns a change to a StatefulSet: it takes over the replicas of a template.
func mirrors(name string) change[*appsv1.StatefulSet] {
	return func(s *appsv1.StatefulSet) {
		s.Annotations[contract.MirrorNameAnnotation] = name
		s.Annotations[contract.MirrorKindAnnotation] = "ReplicaTemplate"
		s.Annotations[contract.MirrorAPIVersionAnnotation] = theGroup + "/v1"
	}
}

func replicas(n int32) change[*appsv1.StatefulSet] {
	return func(s *appsv1.StatefulSet) { s.Spec.Replicas = &n }
}

func deleting(s *appsv1.StatefulSet) { s.DeletionTimestamp = &metav1.Time{Time: noon.Time} }

func silent(s *appsv1.StatefulSet) { s.Annotations[contract.MirrorWriteBackAnnotation] = "false" }

// withLedger returns an observer of one namespace or of all, and its ledger.
func withLedger(t *testing.T, namespace string, server *library) (*Observer, *ledger) {
	t.Helper()
	l := &ledger{wanted: map[string]bool{}}
	client := server.client(t)
	o, err := New(client, lease.NewStore(client, namespace, "test"), Options{Namespace: namespace, Selector: labels.Everything(), Scales: l})
	if err != nil {
		t.Fatal(err)
	}
	return o, l
}

func TestASnapshotShowsTheStateOfAReference(t *testing.T) {
	known := group.Scale{UID: "uid-of-web", Version: "12", Replicas: 5, Reported: 4, Written: group.Report{Replicas: 4, At: noon.Time}}
	ownZones := []*appsv1.StatefulSet{
		newSet("zone-c", inGroup("third")), newSet("zone-d", mirrors("other"), inGroup("third"), replicas(1)),
		newSet("zone-e", mirrors("web"), inGroup("third"), replicas(1), silent), newSet("zone-f", mirrors("web"), ungrouped, replicas(1)),
		newSet("zone-g", mirrors("web"), inGroup("third"), replicas(1), func(s *appsv1.StatefulSet) { s.Namespace, s.UID = "elsewhere", "other" }),
	}
	for sentence, tc := range map[string]struct {
		others []*appsv1.StatefulSet
		mute   bool
		scale  group.Scale
		least  int
		writes bool
	}{
		"alone":                                {ownZones, false, known, -1, true},
		"next to two other groups":             {append(ownZones, newSet("zone-x", mirrors("web"), inGroup("x"), replicas(7)), newSet("zone-y", mirrors("web"), inGroup("y"), replicas(6))), false, known, 6, true},
		"an object without status":             {ownZones, true, known, -1, false},
		"a resource that is not known":         {ownZones, true, group.Scale{Trouble: plan.Refusal{Code: reason.ReferenceMissing}}, -1, true},
		"next to a group without replicas":     {append(ownZones, newSet("zone-x", mirrors("web"), inGroup("x"), replicas(0))), false, known, 0, true},
		"next to a zone that is being deleted": {append(ownZones, newSet("zone-x", mirrors("web"), inGroup("x"), replicas(0), deleting)), false, known, -1, true},
	} {
		t.Run(sentence, func(t *testing.T) {
			set := newSet("zone-a", mirrors("web"), replicas(2))
			o, l := withLedger(t, "", newLibrary(set, newSet("zone-b", mirrors("web"), replicas(1)), newHold("store", "")))
			l.scale, l.mute = tc.scale, tc.mute
			for _, s := range append([]*appsv1.StatefulSet{set, newSet("zone-b", mirrors("web"), replicas(1))}, tc.others...) {
				show(o, s)
			}
			want := group.Mirror{Reference: theWeb, WriteBack: tc.writes, Scale: tc.scale}
			want.Scale.Least = tc.least
			live, err := o.Live(t.Context(), store)
			if err != nil {
				t.Fatal(err)
			}
			for how, s := range map[string]group.Snapshot{"cached": o.Cached(store), "live": live} {
				if len(s.Zones) != 2 {
					t.Fatalf("%s: %d zones", how, len(s.Zones))
				}
				for _, z := range s.Zones {
					if diff := cmp.Diff(want, z.Mirror); diff != "" {
						t.Errorf("%s, %s (-want +got):\n%s", how, z.Name, diff)
					}
				}
			}
		})
	}
}

func TestAZoneThatMirrorsNothingHasNoScale(t *testing.T) {
	o, l := withLedger(t, "", newLibrary())
	l.scale = group.Scale{Replicas: 5}
	show(o, newSet("zone-a"))
	show(o, newSet("zone-b", mirrors("")))
	s := o.Cached(store)
	if got := s.Zones[0].Mirror; got != (group.Mirror{}) {
		t.Errorf("got %+v", got)
	}
	if got := s.Zones[1].Mirror; got.Invalid == "" || got.Scale != (group.Scale{}) {
		t.Errorf("got %+v, want an error and no scale", got)
	}
}

func TestWithoutAReaderScalesAreNotRead(t *testing.T) {
	o := newObserver(t, unreachable)
	show(o, newSet("zone-a", mirrors("web")))
	if got := o.Cached(store).Zones[0].Mirror.Scale; got.Trouble.Code != reason.ReferenceNotRead || got.Least != -1 {
		t.Errorf("got %+v", got)
	}
}

func TestAChangeOfAReferenceEnqueuesExactlyItsGroups(t *testing.T) {
	o, l := withLedger(t, "", newLibrary())
	got := enqueued(func(enqueue func(plan.Key)) {
		if err := o.Listen(Listener{Group: enqueue}); err != nil {
			t.Fatal(err)
		}
		for _, s := range []*appsv1.StatefulSet{
			newSet("zone-a", mirrors("web")), newSet("zone-b", mirrors("web")), newSet("zone-c", mirrors("web"), inGroup("second")),
			newSet("zone-d", mirrors("other"), inGroup("third")), newSet("zone-e", inGroup("fourth")), newSet("zone-f", mirrors("web"), ungrouped),
			newSet("zone-a", mirrors("web"), inGroup("fifth"), func(s *appsv1.StatefulSet) { s.Namespace, s.UID = "elsewhere", "other" }),
		} {
			show(o, s)
		}
		l.changed("team", theWeb)
	})
	slices.Sort(got)
	if diff := cmp.Diff([]string{"second", "store"}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// opted returns the cached form of a namespace that opted in.
func opted(name string, changes ...change[*corev1.Namespace]) *corev1.Namespace {
	n := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, ResourceVersion: "3"}}
	for _, c := range changes {
		c(n)
	}
	return n
}

func TestReferencesOfZonesInManagedNamespacesAreNeeded(t *testing.T) {
	const web, other = "team/ReplicaTemplate.rollout-operator.grafana.com web", "team/ReplicaTemplate.rollout-operator.grafana.com other"
	o, l := withLedger(t, "", newLibrary())
	events, opts := o.mirrorEvents(func(plan.Key) {}), o.optEvents()
	want := func(sentence string, names ...string) {
		t.Helper()
		if diff := cmp.Diff(strings.Join(names, ", "), strings.Join(slices.Sorted(maps.Keys(l.wanted)), ", ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", sentence, diff)
		}
	}
	comes := func(s *appsv1.StatefulSet) any {
		before, existed, _ := o.zones.GetStore().GetByKey(s.Namespace + "/" + s.Name)
		show(o, s)
		after := must(trimZone(s))
		if existed {
			events.OnUpdate(before, after)
		} else {
			events.OnAdd(after, true)
		}
		return after
	}
	goes := func(record any) {
		if err := o.zones.GetStore().Delete(record); err != nil {
			t.Fatal(err)
		}
		events.OnDelete(cache.DeletedFinalStateUnknown{Obj: record})
	}

	comes(newSet("zone-a", mirrors("web")))
	want("a namespace that did not opt in needs nothing")
	team := opted("team")
	show(o, team)
	opts.OnAdd(must(trimNamespace(team)), false)
	want("it opts in", web)
	b := comes(newSet("zone-b", mirrors("web")))
	c := comes(newSet("zone-c", mirrors("other"), inGroup("second")))
	want("zones are added", other, web)
	comes(newSet("zone-d", mirrors("third"), ungrouped))
	want("a StatefulSet without a group needs nothing", other, web)
	goes(b)
	want("one of two is deleted", other, web)
	comes(newSet("zone-a", mirrors("other")))
	want("no zone names it any more", other)
	goes(c)
	want("one remains", other)
	comes(newSet("zone-a", mirrors("other"), replicas(9)))
	want("another size is no other wish", other)

	deleting := opted("team", func(n *corev1.Namespace) { n.DeletionTimestamp = &noon })
	show(o, deleting)
	opts.OnUpdate(must(trimNamespace(team)), must(trimNamespace(deleting)))
	want("the namespace is being deleted")
	show(o, team)
	opts.OnUpdate(must(trimNamespace(deleting)), must(trimNamespace(team)))
	want("it is not", other)
	record := must(trimNamespace(team))
	if err := o.namespaces.GetStore().Delete(record); err != nil {
		t.Fatal(err)
	}
	opts.OnDelete(record)
	want("it opted out")
}

func TestTheOneNamespaceIsManaged(t *testing.T) {
	o, l := withLedger(t, "team", newLibrary())
	set := newSet("zone-a", mirrors("web"))
	show(o, set)
	o.mirrorEvents(func(plan.Key) {}).OnAdd(must(trimZone(set)), false)
	if len(l.wanted) != 1 {
		t.Errorf("wanted: %v", l.wanted)
	}
}

func TestGroupsThatShareAReferenceAreEnqueuedIfItsSmallestZoneChanges(t *testing.T) {
	type sets = []change[*appsv1.StatefulSet] // before, after; nil: it does not exist
	web := func(n int32, more ...change[*appsv1.StatefulSet]) change[*appsv1.StatefulSet] {
		return func(s *appsv1.StatefulSet) {
			for _, c := range append([]change[*appsv1.StatefulSet]{mirrors("web"), replicas(n)}, more...) {
				c(s)
			}
		}
	}
	other := func(s *appsv1.StatefulSet) { mirrors("other")(s); replicas(2)(s) }
	for sentence, tc := range map[string]struct {
		sets sets
		want []string
	}{
		"it is added as the smallest":                 {sets{nil, web(2)}, []string{"second"}},
		"it is added as another one":                  {sets{nil, web(9)}, nil},
		"the smallest is deleted":                     {sets{web(2), nil}, []string{"second"}},
		"another one is deleted":                      {sets{web(9), nil}, nil},
		"nothing changes":                             {sets{web(2), web(2)}, nil},
		"an irrelevant field changes":                 {sets{web(2), web(2, func(s *appsv1.StatefulSet) { s.Generation = 9 })}, nil},
		"the smallest has another size":               {sets{web(2), web(3)}, []string{"second"}},
		"it is no longer the smallest":                {sets{web(2), web(9)}, []string{"second"}},
		"another one has another size":                {sets{web(8), web(9)}, nil},
		"the smallest is not written back":            {sets{web(2), web(2, silent)}, []string{"second"}},
		"the smallest is being deleted":               {sets{web(2), web(2, deleting)}, []string{"second"}},
		"it names another one":                        {sets{web(2), other}, []string{"second", "third"}},
		"it no longer names a reference":              {sets{web(2), replicas(2)}, []string{"second"}},
		"it named no reference and still names none":  {sets{replicas(2), replicas(9)}, nil},
		"it moves to another group, as its only zone": {sets{web(2), web(2, inGroup("fourth"))}, nil},
	} {
		t.Run(sentence, func(t *testing.T) {
			o, _ := withLedger(t, "team", newLibrary())
			var before, after any
			for record, c := range map[*any]change[*appsv1.StatefulSet]{&before: tc.sets[0], &after: tc.sets[1]} {
				if c != nil {
					*record = must(trimZone(newSet("zone-a", c)))
				}
			}
			var notified []string
			h := o.mirrorEvents(func(key plan.Key) { notified = append(notified, key.Name) })
			for _, there := range []any{
				must(trimZone(newSet("zone-b", web(5), inGroup("second")))), must(trimZone(newSet("zone-d", web(5)))),
				must(trimZone(newSet("zone-c", mirrors("other"), replicas(5), inGroup("third")))), before,
			} {
				if there != nil {
					h.OnAdd(there, true)
				}
			}
			notified = nil
			switch {
			case before == nil:
				h.OnAdd(after, false)
			case after == nil:
				h.OnDelete(cache.DeletedFinalStateUnknown{Obj: before})
			default:
				h.OnUpdate(before, after)
			}
			slices.Sort(notified)
			if diff := cmp.Diff(tc.want, notified); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// If many groups follow one number, a change enqueues each of them once.
func TestGroupsThatScaleUpTogetherAreEnqueuedOnce(t *testing.T) {
	const groups = 100
	o, _ := withLedger(t, "team", newLibrary())
	notified := 0
	h := o.mirrorEvents(func(plan.Key) { notified++ })
	set := func(group int, size int32) any {
		return must(trimZone(newSet(fmt.Sprintf("zone-%d", group), mirrors("web"), replicas(size), inGroup(fmt.Sprint(group)))))
	}
	for group := range groups {
		h.OnAdd(set(group, 2), true)
	}
	notified = 0
	for group := range groups {
		h.OnUpdate(set(group, 2), set(group, 3))
	}
	if notified != groups-1 {
		t.Errorf("%d groups were notified, want %d: all except the last one to scale up", notified, groups-1)
	}
}
