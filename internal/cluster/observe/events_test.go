package observe

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/lock/hold"
	"github.com/lockstep-dev/lockstep/internal/lock/lease"
	"github.com/lockstep-dev/lockstep/internal/lock/record"
	"github.com/lockstep-dev/lockstep/internal/plan"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// unreachable is the API server of tests that make no request.
var unreachable = kubernetes.NewForConfigOrDie(&rest.Config{Host: "http://127.0.0.1:1"})

// newObserver returns an observer of the cluster. Its caches contain the objects that the
// test adds.
func newObserver(tb testing.TB, client kubernetes.Interface) *Observer {
	tb.Helper()
	o, err := New(client, lease.NewStore(client, "", "test"), Options{Selector: labels.SelectorFromSet(labels.Set{"lockstep.dev/enabled": "true"})})
	if err != nil {
		tb.Fatal(err)
	}
	o.now = func() time.Time { return noon.Add(time.Hour) }
	return o
}

// newHold returns the Lease of a group.
func newHold(name, holder string, intents ...plan.Intent) *coordinationv1.Lease {
	return &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "team", Name: hold.LeaseName(plan.Key{Name: name}), UID: "uid-of-hold", ResourceVersion: "8",
			Labels:      map[string]string{contract.HoldLabel: contract.HoldLabelOf(plan.KindGroup)},
			Annotations: map[string]string{contract.NameAnnotation(plan.KindGroup): name, contract.IntentsAnnotation: record.FormatIntents(intents, nil)},
		},
		Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder},
	}
}

func showHold(o *Observer, l *coordinationv1.Lease) {
	if err := o.holds.Informer().GetStore().Add(l); err != nil {
		panic(err)
	}
}

// enqueued returns the groups that a handler enqueues.
func enqueued(happens func(enqueue func(plan.Key))) []string {
	var groups []string
	happens(func(key plan.Key) { groups = append(groups, key.Name) })
	return groups
}

func TestWhatAPodEventEnqueues(t *testing.T) {
	const was, is = "zone-a", "zone-b"
	busy := func(o *Observer) { showHold(o, newHold("store", "rollout/zone-a")) }
	idle := func(*Observer) {}
	type pods = []change[*corev1.Pod] // before, after
	orphan := ownedBy()
	moved := func(p *corev1.Pod) { p.OwnerReferences[0].UID = "uid-of-" + is }
	for sentence, tc := range map[string]struct {
		world func(*Observer)
		pods  pods
		want  []string
	}{
		"nothing changed":                            {idle, pods{nil, nil}, nil},
		"no relevant field changed":                  {idle, pods{nil, func(p *corev1.Pod) { version10(p) }}, nil},
		"only the version changed, while it is busy": {busy, pods{nil, func(p *corev1.Pod) { version10(p) }}, []string{"store"}},
		"it begins to terminate":                     {idle, pods{nil, terminating}, []string{"store"}},
		"it is no longer Ready":                      {idle, pods{nil, notReady()}, []string{"store"}},
		"it becomes Ready":                           {idle, pods{notReady(), nil}, []string{"store"}},
		"it was replaced unseen":                     {idle, pods{nil, func(p *corev1.Pod) { p.UID = "other" }}, []string{"store"}},
		"it has lost its owner":                      {idle, pods{nil, orphan}, []string{"store"}},
		"it has found its owner":                     {idle, pods{orphan, nil}, []string{"store"}},
		"its owner is another one":                   {idle, pods{nil, moved}, []string{"store", "other"}},
		"it has no owner":                            {busy, pods{orphan, func(p *corev1.Pod) { orphan(p); version10(p) }}, nil},
		"it is added":                                {idle, pods{nil}, []string{"store"}},
		"it has no owner, and is added":              {idle, pods{orphan}, nil},
		"it is added before its StatefulSet":         {idle, pods{func(p *corev1.Pod) { p.OwnerReferences[0].UID = "unknown" }}, nil},
		"its StatefulSet has no group":               {idle, pods{func(p *corev1.Pod) { p.OwnerReferences[0].UID = "uid-of-alone" }}, nil},
	} {
		t.Run(sentence, func(t *testing.T) {
			o := newObserver(t, unreachable)
			show(o, newSet(was))
			show(o, newSet(is, inGroup("other")))
			show(o, newSet("alone", ungrouped))
			tc.world(o)
			var records []any
			for _, c := range tc.pods {
				pod := newPod(was, 0)
				if c != nil {
					c(pod)
				}
				records = append(records, must(trimPod(pod)))
			}
			got := enqueued(func(enqueue func(plan.Key)) {
				h := o.podEvents(enqueue)
				if len(records) == 1 {
					h.OnAdd(records[0], false)
				} else {
					h.OnUpdate(records[0], records[1])
				}
			})
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if len(records) == 1 {
				for way, gone := range map[string]any{"seen": records[0], "missed": cache.DeletedFinalStateUnknown{Obj: records[0]}} {
					got := enqueued(func(enqueue func(plan.Key)) { o.podEvents(enqueue).OnDelete(gone) })
					if diff := cmp.Diff(tc.want, got); diff != "" {
						t.Errorf("its deletion, %s (-want +got):\n%s", way, diff)
					}
				}
			}
		})
	}
}

func TestWhatAStatefulSetEventEnqueues(t *testing.T) {
	busy := func(o *Observer) { showHold(o, newHold("store", "", plan.Intent{Zone: "z", Pod: "z-0", UID: "u"})) }
	free := func(o *Observer) { showHold(o, newHold("store", "")) }
	idle := func(*Observer) {}
	type sets = []change[*appsv1.StatefulSet] // before, after
	counted := func(s *appsv1.StatefulSet) { version10(s); s.Status.CurrentReplicas = 1 }
	counting := func(s *appsv1.StatefulSet) { s.Status.ReadyReplicas = 1 }
	for sentence, tc := range map[string]struct {
		world func(*Observer)
		sets  sets
		want  []string
	}{
		"nothing changed":                             {idle, sets{nil, nil}, nil},
		"no relevant field changed":                   {idle, sets{nil, counted}, nil},
		"only the version changed, while it is free":  {free, sets{nil, counted}, nil},
		"only the version changed, while it is busy":  {busy, sets{nil, counted}, []string{"store"}},
		"its last pod is counted as Ready":            {idle, sets{counting, nil}, []string{"store"}},
		"it is paused":                                {idle, sets{nil, annotated(contract.PausedAnnotation, "true")}, []string{"store"}},
		"it moves to another group":                   {idle, sets{nil, inGroup("other")}, []string{"store", "other"}},
		"it joins the group":                          {idle, sets{ungrouped, nil}, []string{"store"}},
		"it is removed from the group":                {idle, sets{nil, ungrouped}, []string{"store"}},
		"an annotation moves it to another group":     {idle, sets{nil, annotatedInto("other")}, []string{"store", "other"}},
		"an annotation names its group":               {idle, sets{nil, annotatedInto("store")}, nil},
		"it is ignored":                               {idle, sets{nil, ignored}, []string{"store"}},
		"it is no longer ignored":                     {idle, sets{ignored, nil}, []string{"store"}},
		"it moves to the group without a name":        {idle, sets{nil, inGroup("")}, []string{"store", ""}},
		"it is removed from the group without a name": {idle, sets{inGroup(""), ungrouped}, []string{""}},
		"a StatefulSet without a group changes":       {busy, sets{ungrouped, func(s *appsv1.StatefulSet) { ungrouped(s); version10(s); s.Generation++ }}, nil},
		"it is added":                                 {idle, sets{nil}, []string{"store"}},
		"a StatefulSet without a group is added":      {idle, sets{ungrouped}, nil},
	} {
		t.Run(sentence, func(t *testing.T) {
			o := newObserver(t, unreachable)
			tc.world(o)
			var records []any
			for _, c := range tc.sets {
				set := newSet("zone-a")
				if c != nil {
					c(set)
				}
				records = append(records, must(trimZone(set)))
			}
			var all [][]string
			if len(records) == 1 {
				all = append(all,
					enqueued(func(enqueue func(plan.Key)) { o.zoneEvents(enqueue).OnAdd(records[0], true) }),
					enqueued(func(enqueue func(plan.Key)) { o.zoneEvents(enqueue).OnDelete(records[0]) }),
					enqueued(func(enqueue func(plan.Key)) {
						o.zoneEvents(enqueue).OnDelete(cache.DeletedFinalStateUnknown{Obj: records[0]})
					}))
			} else {
				all = append(all, enqueued(func(enqueue func(plan.Key)) { o.zoneEvents(enqueue).OnUpdate(records[0], records[1]) }))
			}
			for _, got := range all {
				if diff := cmp.Diff(tc.want, got); diff != "" {
					t.Errorf("-want +got:\n%s", diff)
				}
			}
		})
	}
}

func TestWhatAHoldEventEnqueues(t *testing.T) {
	for sentence, tc := range map[string]struct {
		object any
		want   []string
	}{
		"a hold":                     {newHold("store", "rollout/zone-a"), []string{"store"}},
		"a hold of an unnamed group": {newHold("", ""), []string{""}},
		"a deletion that was missed": {cache.DeletedFinalStateUnknown{Obj: newHold("store", "")}, []string{"store"}},
		"a Lease that pretends":      {&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "x", Annotations: map[string]string{contract.NameAnnotation(plan.KindGroup): "store"}}}, nil},
		"something else":             {cache.DeletedFinalStateUnknown{Obj: "nonsense"}, nil},
	} {
		t.Run(sentence, func(t *testing.T) {
			for _, handle := range []func(cache.ResourceEventHandler){
				func(h cache.ResourceEventHandler) { h.OnAdd(tc.object, false) },
				func(h cache.ResourceEventHandler) { h.OnUpdate(nil, tc.object) },
				func(h cache.ResourceEventHandler) { h.OnDelete(tc.object) },
			} {
				got := enqueued(func(enqueue func(plan.Key)) { handle(holdEvents(enqueue)) })
				if diff := cmp.Diff(tc.want, got); diff != "" {
					t.Errorf("-want +got:\n%s", diff)
				}
			}
		})
	}
}

func TestARenewalByThisProcessEnqueuesNothing(t *testing.T) {
	recordedIntent := plan.Intent{Zone: "zone-a", Pod: "zone-a-0", UID: "u", Version: 7}
	for sentence, tc := range map[string]struct {
		holder string
		change func(*coordinationv1.Lease)
		want   []string
	}{
		"renewed by the same process":   {"rollout/zone-a", func(*coordinationv1.Lease) {}, nil},
		"renewed by another process":    {"rollout/zone-a", func(l *coordinationv1.Lease) { l.Annotations[contract.ActorAnnotation] = "other" }, []string{"store"}},
		"renewed by a person":           {"manual/maintenance", func(*coordinationv1.Lease) {}, []string{"store"}},
		"another holder":                {"rollout/zone-a", func(l *coordinationv1.Lease) { l.Spec.HolderIdentity = new("rollout/zone-b") }, []string{"store"}},
		"another intent":                {"rollout/zone-a", func(l *coordinationv1.Lease) { delete(l.Annotations, contract.IntentsAnnotation) }, []string{"store"}},
		"another duration":              {"rollout/zone-a", func(l *coordinationv1.Lease) { l.Spec.LeaseDurationSeconds = new(int32(1)) }, []string{"store"}},
		"deleted and created again":     {"rollout/zone-a", func(l *coordinationv1.Lease) { l.UID = "another" }, []string{"store"}},
		"a label that a person removed": {"rollout/zone-a", func(l *coordinationv1.Lease) { l.Labels = nil }, []string{"store"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			before := newHold("store", tc.holder, recordedIntent)
			before.Spec.RenewTime = &metav1.MicroTime{Time: noon.Time}
			after := before.DeepCopy()
			after.ResourceVersion, after.Spec.RenewTime = "9", &metav1.MicroTime{Time: noon.Add(time.Second)}
			tc.change(after)
			got := enqueued(func(enqueue func(plan.Key)) { holdEvents(enqueue).OnUpdate(before, after) })
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestWhichNamespacesAreManaged(t *testing.T) {
	namespace := func(deleting bool) *namespaceRecord {
		n := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team", ResourceVersion: "1"}}
		if deleting {
			n.DeletionTimestamp = &noon
		}
		return as[*namespaceRecord](must(trimNamespace(n)))
	}
	there, deleting := namespace(false), namespace(true)
	for sentence, tc := range map[string]struct {
		happens func(cache.ResourceEventHandler)
		want    []string
	}{
		"it opted in": {func(h cache.ResourceEventHandler) { h.OnAdd(there, false) }, []string{"team true"}},
		"it is being deleted when first observed": {func(h cache.ResourceEventHandler) { h.OnAdd(deleting, true) }, nil},
		"it changed in some way":                  {func(h cache.ResourceEventHandler) { h.OnUpdate(there, there) }, nil},
		"it begins to go":                         {func(h cache.ResourceEventHandler) { h.OnUpdate(there, deleting) }, []string{"team false"}},
		"it opted out":                            {func(h cache.ResourceEventHandler) { h.OnDelete(there) }, []string{"team false"}},
		"it had begun to go before":               {func(h cache.ResourceEventHandler) { h.OnDelete(deleting) }, nil},
		"it opted out, which was missed":          {func(h cache.ResourceEventHandler) { h.OnDelete(cache.DeletedFinalStateUnknown{Obj: there}) }, []string{"team false"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			var got []string
			tc.happens(newObserver(t, unreachable).namespaceEvents(func(name string, managed bool) { got = append(got, fmt.Sprint(name, " ", managed)) }))
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestManagedAndAll(t *testing.T) {
	o := newObserver(t, unreachable)
	show(o, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team"}})
	show(o, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "going", DeletionTimestamp: &noon}})
	for _, place := range []string{"team", "going", "elsewhere"} {
		show(o, newSet("zone-a", func(s *appsv1.StatefulSet) { s.Namespace = place }))
		show(o, newSet("zone-b", func(s *appsv1.StatefulSet) { s.Namespace = place }))
		show(o, newSet("alone", ungrouped, func(s *appsv1.StatefulSet) { s.Namespace = place }))
	}
	show(o, newSet("unnamed", inGroup("")))
	showHold(o, newHold("left", "rollout/zone-a"))
	for namespace, want := range map[string]bool{"team": true, "going": false, "elsewhere": false, "": false} {
		if got := o.Managed(namespace); got != want {
			t.Errorf("namespace %q: got %t, want %t", namespace, got, want)
		}
	}
	groups := func(keys []plan.Key) []string {
		var names []string
		for _, key := range keys {
			names = append(names, key.String())
		}
		slices.Sort(names)
		return names
	}
	if diff := cmp.Diff([]string{"team/", "team/left", "team/store"}, groups(o.Groups(""))); diff != "" {
		t.Errorf("all (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"elsewhere/store"}, groups(o.Groups("elsewhere"))); diff != "" {
		t.Errorf("groups of a namespace (-want +got):\n%s", diff)
	}
}

func TestInOneNamespaceNoOptInIsNeeded(t *testing.T) {
	o, err := New(unreachable, lease.NewStore(unreachable, "team", "test"), Options{Namespace: "team"})
	if err != nil {
		t.Fatal(err)
	}
	if !o.Managed("team") || o.Managed("other") || o.Managed("") || o.Namespaces() != 1 {
		t.Error("want exactly one namespace managed")
	}
}

// This tests all parts together, with a real watch: events enqueue groups, and all
// goroutines end.
func TestFromAWatchToTheQueueAndBackToRest(t *testing.T) {
	server := newLibrary(
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team", Labels: map[string]string{"lockstep.dev/enabled": "true"}}},
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "other"}},
		newSet("zone-a"), newPod("zone-a", 0), newPod("zone-a", 1, ownedBy()),
	)
	client := server.client(t)
	o, err := New(client, lease.NewStore(client, "", "test"), Options{Selector: labels.SelectorFromSet(labels.Set{"lockstep.dev/enabled": "true"})})
	if err != nil {
		t.Fatal(err)
	}
	received := make(chan string, 100)
	if err := o.Listen(Listener{
		Group:     func(key plan.Key) { received <- key.String() },
		Namespace: func(name string, managed bool) { received <- fmt.Sprint(name, " ", managed) },
	}); err != nil {
		t.Fatal(err)
	}
	all := map[string]bool{}
	expect := func(want string) {
		t.Helper()
		for !all[want] {
			select {
			case got := <-received:
				all[got] = true
			case <-time.After(10 * time.Second):
				t.Fatalf("no event of %q, only of %v", want, all)
			}
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	var watching sync.WaitGroup
	watching.Go(func() { o.Run(ctx) })
	expect("team true")
	expect("team/store")
	for !o.Synced() {
		time.Sleep(time.Millisecond)
	}
	if !o.Managed("team") || o.Managed("other") {
		t.Error("want the namespace managed that opted in, and no other")
	}
	for !server.watched("statefulsets") {
		time.Sleep(time.Millisecond)
	}
	server.add(newSet("zone-z", inGroup("late")))
	expect("team/late")
	s := o.Cached(plan.Key{Namespace: "team", Name: "store"})
	if len(s.Zones) != 1 || len(s.Zones[0].Pods) != 1 {
		t.Errorf("got %+v", s.Zones)
	}
	stop()
	watching.Wait()
}
