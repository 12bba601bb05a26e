package pools

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/pool"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
	"github.com/lockstep-dev/lockstep/internal/proof/apitest"
)

// server is an API server with one StatefulCluster, which has one pod with one claim. It records requests.
type server struct {
	mu        sync.Mutex
	requested []string
	missing   bool     // the object does not exist
	node      string   // of the pod
	mounts    []string // claims of the pod
	deleting  bool     // the claims that are read alone are being deleted
	takes     time.Duration
	began     func(resource string) // called with each request; nil: not
}

// begins records a request, which takes its time.
func (s *server) begins(resource string) {
	s.mu.Lock()
	s.requested = append(s.requested, resource)
	if s.began != nil {
		s.began(resource)
	}
	s.mu.Unlock()
	time.Sleep(s.takes)
}

func (s *server) RoundTrip(q *http.Request) (*http.Response, error) {
	resource := q.URL.Path[strings.LastIndexByte(q.URL.Path, '/')+1:]
	s.begins(resource)
	labels := map[string]any{contract.PoolLabel: "db", contract.InstanceIDLabel: "a", contract.ClaimLabel: "data", contract.PoolUIDLabel: "u"}
	list := func(kind, version string, items ...any) (*http.Response, error) {
		return apitest.Answer(http.StatusOK, map[string]any{"kind": kind + "List", "apiVersion": version, "metadata": map[string]any{"resourceVersion": "30"}, "items": items}), nil
	}
	switch {
	case resource == "pods":
		volumes := []any{}
		for _, claim := range s.mounts {
			volumes = append(volumes, map[string]any{"name": strings.TrimSuffix(strings.TrimPrefix(claim, "db-"), "-a"), "persistentVolumeClaim": map[string]any{"claimName": claim}})
		}
		return list("Pod", "v1", map[string]any{
			"metadata": map[string]any{"name": "db-a", "namespace": "team", "uid": "p", "resourceVersion": "9", "labels": labels},
			"spec":     map[string]any{"nodeName": s.node, "volumes": volumes},
		})
	case resource == "persistentvolumeclaims":
		return list("PartialObjectMetadata", "meta.k8s.io/v1", map[string]any{"metadata": map[string]any{"name": "db-data-a", "namespace": "team", "uid": "c", "resourceVersion": "8", "labels": labels}})
	case strings.HasPrefix(resource, "db-"): // a claim
		claim := map[string]any{"name": resource, "namespace": "team"}
		if s.deleting {
			claim["deletionTimestamp"] = "2026-01-05T12:00:00Z"
		}
		return apitest.Answer(http.StatusOK, map[string]any{"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": claim}), nil
	case resource == "db" && !s.missing:
		return apitest.Answer(http.StatusOK, newObject(3).Object), nil
	case resource == "db":
		return apitest.Answer(http.StatusNotFound, metav1.Status{Status: metav1.StatusFailure, Code: http.StatusNotFound, Reason: metav1.StatusReasonNotFound}), nil
	}
	return list("StatefulCluster", "lockstep.dev/v1alpha1")
}

// kept returns an object as the caches keep it.
func kept(t *testing.T, object any) any {
	t.Helper()
	is, err := recorded(object)
	if err != nil {
		t.Fatal(err)
	}
	return is
}

func newObject(replicas int64) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "lockstep.dev/v1alpha1", "kind": "StatefulCluster",
		"metadata": map[string]any{"name": "db", "namespace": "team", "uid": "u", "resourceVersion": "7", "generation": int64(2)},
		"spec": map[string]any{
			"replicas": replicas, "selector": map[string]any{"matchLabels": map[string]any{"app": "db"}}, "minReadySeconds": int64(5), "serviceName": "db",
			"template":             map[string]any{"spec": map[string]any{"future": "field"}},
			"volumeClaimTemplates": []any{map[string]any{"metadata": map[string]any{"name": "data"}}},
		},
	}}
}

type noHolds struct{}

func (noHolds) Cached(plan.Key) plan.Record { return plan.Record{} }

func (noHolds) Read(context.Context, plan.Key) (plan.Record, error) { return plan.Record{}, nil }

// slowHolds reads a free hold, which takes as long as a request to the server.
type slowHolds struct{ s *server }

func (slowHolds) Cached(plan.Key) plan.Record { return plan.Record{} }

func (h slowHolds) Read(context.Context, plan.Key) (plan.Record, error) {
	h.s.begins("Lease")
	return plan.Record{}, nil
}

var start = time.Date(2026, time.January, 5, 12, 0, 0, 0, time.UTC)

func newObserver(t *testing.T, s http.RoundTripper) *Observer {
	t.Helper()
	config := &rest.Config{Host: "http://api", Transport: s, QPS: -1}
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	claims, err := metadata.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	o, err := New(Options{
		Client: apitest.Client(t, s), Dynamic: objects, Metadata: claims, Holds: noHolds{}, Now: func() time.Time { return start }, Changed: func(plan.Key) {},
	})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

var key = KeyOf("team", "db")

// The end of an intent shows in pods and claims that are not older than the record of it. Claims are created after their pod, so
// a list of pods that is older than that of the claims, or as old, would show claims without a pod.
func TestALiveReadListsPodsAndTheObjectAfterClaims(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const each = time.Second
		s, began := &server{takes: each}, time.Now()
		o, at := newObserver(t, s), map[string]time.Duration{}
		s.began = func(resource string) {
			if _, again := at[resource]; !again { // the Lease is read once more at the end
				at[resource] = time.Since(began)
			}
		}
		o.options.Holds = slowHolds{s}
		live, err := o.Live(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]time.Duration{"Lease": 0, "persistentvolumeclaims": each, "pods": 2 * each, "db": 2 * each}
		if diff := cmp.Diff(want, at); diff != "" {
			t.Errorf("requests began at other times (-want +got):\n%s", diff)
		}
		if !live.Live || live.Object.Replicas != 3 || len(live.Pods) != 1 || len(live.Claims) != 1 || live.PodsAt != 30 || live.ClaimsAt != 30 || live.ObjectsAt != 30 {
			t.Errorf("the read shows %+v", live)
		}
		isClaim := pool.Claim{Name: "db-data-a", UID: "c", Version: 8, ID: "a", Template: "data", Pool: "u"}
		if diff := cmp.Diff(isClaim, live.Claims[0]); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
}

func TestALiveReadShowsThatAnObjectDoesNotExist(t *testing.T) {
	live, err := newObserver(t, &server{missing: true}).Live(t.Context(), key)
	if err != nil || live.Object.Exists() || live.ObjectsAt != 30 {
		t.Errorf("error %v, the read shows %+v", err, live.Object)
	}
}

func TestSameDesiredStateComparesWhatDisruptionsDependOn(t *testing.T) {
	for sentence, tc := range map[string]struct {
		change func(*pool.Object)
		want   bool
	}{
		"nothing":     {func(*pool.Object) {}, true},
		"a status":    {func(o *pool.Object) { o.Version = 5 }, true},
		"replicas":    {func(o *pool.Object) { o.Replicas = 4 }, false},
		"a deletion":  {func(o *pool.Object) { o.Deleting = true }, false},
		"a template":  {func(o *pool.Object) { o.Hash = "other" }, false},
		"a pause":     {func(o *pool.Object) { o.Paused = true }, false},
		"its end":     {func(o *pool.Object) { o.PausedUntil.Time = time.Unix(9, 0) }, false},
		"a policy":    {func(o *pool.Object) { o.Keep.OnEviction = true }, false},
		"a partition": {func(o *pool.Object) { o.Strategy.Partition.Pods = 2 }, false},
		"its UID":     {func(o *pool.Object) { o.UID = "other" }, false},

		"a deadline":             {func(o *pool.Object) { o.Deadline = time.Hour }, false},
		"liveness":               {func(o *pool.Object) { o.Liveness.NodeLost = time.Hour }, false},
		"a time for hand-overs":  {func(o *pool.Object) { o.HandoverTimeout = time.Hour }, false},
		"a time to be available": {func(o *pool.Object) { o.MinReady = time.Hour }, false},
		"a limit of births":      {func(o *pool.Object) { o.ScaleMaxUnavailable.Pods = 2 }, false},
		"the order":              {func(o *pool.Object) { o.Ordered = true }, false},
		"pods that are to leave": {func(o *pool.Object) { o.PodsToDelete = []string{"db-a"} }, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			object := objectOf(newObject(3))
			tc.change(&object)
			same, err := newObserver(t, &server{}).SameDesiredState(t.Context(), pool.Snapshot{Key: key, Object: object})
			if err != nil || same != tc.want {
				t.Errorf("got %t, %v, want %t", same, err, tc.want)
			}
		})
	}
}

func TestAnObjectIsConvertedWithItsTemplatesAsTheyAre(t *testing.T) {
	o := objectOf(newObject(3))
	want := pool.Object{
		UID: "u", Version: 7, Generation: 2, Replicas: 3, MinReady: 5 * time.Second, Hash: o.Hash, RevisionHistory: 10, Service: "db",
		HandoverTimeout: 10 * time.Minute, Deadline: 10 * time.Minute,
		Liveness: pool.Liveness{NodeLost: 5 * time.Minute, Startup: 10 * time.Minute, CrashLoop: time.Hour, MaxUnhealthy: pool.Share{Percent: 40}},
		Strategy: pool.Strategy{MaxUnavailable: pool.Share{Pods: 1}, Policy: pool.InPlaceIfPossible},
		Templates: pool.Templates{
			Pod: []byte(`{"spec":{"future":"field"}}`), Claims: []pool.ClaimTemplate{{Name: "data", Template: []byte(`{"metadata":{"name":"data"}}`)}},
		},
		Labels: map[string]string{"app": "db"}, Selector: "app=db",
	}
	if diff := cmp.Diff(want, o); diff != "" || o.Hash == "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	without := newObject(3)
	unstructured.RemoveNestedField(without.Object, "spec", "replicas")
	if o := objectOf(without); o.Replicas != 1 {
		t.Errorf("without replicas: got %d, want 1", o.Replicas)
	}
}

func TestThePauseAndTheAnnotationsOfAnObjectAreConverted(t *testing.T) {
	const until = "2026-01-05T12:00:00Z"
	end := plan.Moment{Time: time.Date(2026, time.January, 5, 12, 0, 0, 0, time.UTC)}
	for sentence, tc := range map[string]struct {
		spec        map[string]any
		annotations map[string]string
		until       plan.Moment
		effect      string
	}{
		"a pause":             {map[string]any{"paused": true}, nil, plan.Moment{}, ""},
		"a pause with an end": {map[string]any{"paused": true}, map[string]string{contract.PausedUntilAnnotation: until}, end, ""},
		"a paused strategy":   {map[string]any{"updateStrategy": map[string]any{"rollingUpdate": map[string]any{"paused": true}}}, map[string]string{contract.PausedUntilAnnotation: until}, end, ""},
		"the end of no pause": {nil, map[string]string{contract.PausedUntilAnnotation: until}, plan.Moment{}, "annotation lockstep.dev/paused-until has no effect without spec.paused"},
	} {
		t.Run(sentence, func(t *testing.T) {
			u := newObject(3)
			u.SetAnnotations(tc.annotations)
			for field, value := range tc.spec {
				_ = unstructured.SetNestedField(u.Object, value, "spec", field)
			}
			o := objectOf(u)
			if o.PausedUntil != tc.until || o.WithoutEffect != tc.effect || o.Paused != (tc.spec != nil) {
				t.Errorf("paused %t until %v, without effect: %q", o.Paused, o.PausedUntil, o.WithoutEffect)
			}
		})
	}
}

// A claim template's size or class never rolls a pod, so only its name counts.
// Pods that the selector does not match would be counted by nothing that uses it, such as an autoscaler.
func TestASelectorThatExcludesTheTemplateMakesItInvalid(t *testing.T) {
	for sentence, tc := range map[string]struct {
		operator, label string
		excludes        bool
	}{
		"a label that the template has":      {"Exists", "tier", false},
		"a label that the template has not":  {"Exists", "zone", true},
		"a label that the template must not": {"DoesNotExist", "tier", true},
		"an unknown operator":                {"Near", "tier", true},
		"the label that lockstep gives pods": {"DoesNotExist", "controller-revision-hash", true},
	} {
		t.Run(sentence, func(t *testing.T) {
			u := newObject(3)
			expression := map[string]any{"key": tc.label, "operator": tc.operator}
			for _, err := range []error{
				unstructured.SetNestedField(u.Object, []any{expression}, "spec", "selector", "matchExpressions"),
				unstructured.SetNestedField(u.Object, "db", "spec", "template", "metadata", "labels", "tier"),
			} {
				if err != nil {
					t.Fatal(err)
				}
			}
			o := objectOf(u)
			if invalid := o.Unreadable + o.InvalidTemplate; (invalid != "") != tc.excludes || invalid != "" && o.Hash != "" {
				t.Errorf("it is invalid because of %q, and has the hash %q", invalid, o.Hash)
			}
		})
	}
}

func TestASelectorWithTheLabelOfTheRevisionMakesTheTemplateInvalid(t *testing.T) {
	u := newObject(3)
	if err := unstructured.SetNestedField(u.Object, "db-1", "spec", "selector", "matchLabels", "controller-revision-hash"); err != nil {
		t.Fatal(err)
	}
	const want = "spec.selector has the label controller-revision-hash, which lockstep gives each pod; create the StatefulCluster with another selector"
	if o := objectOf(u); o.InvalidTemplate != want || o.Hash != "" {
		t.Errorf("it is invalid because of %q, and has the hash %q", o.InvalidTemplate, o.Hash)
	}
}

func TestTheRevisionDependsOnTheTemplateAndTheNamesOfClaims(t *testing.T) {
	revision := func(change func(spec map[string]any)) string {
		u := newObject(3)
		spec, is := u.Object["spec"].(map[string]any)
		if !is {
			t.Fatal("no spec")
		}
		change(spec)
		return objectOf(u).Hash
	}
	same := revision(func(map[string]any) {})
	for sentence, tc := range map[string]struct {
		change func(map[string]any)
		same   bool
	}{
		"replicas": {func(s map[string]any) { s["replicas"] = int64(9) }, true},
		"a claim's size": {func(s map[string]any) {
			s["volumeClaimTemplates"] = []any{map[string]any{"metadata": map[string]any{"name": "data"}, "spec": map[string]any{"size": "2Gi"}}}
		}, true},
		"a claim's name": {func(s map[string]any) {
			s["volumeClaimTemplates"] = []any{map[string]any{"metadata": map[string]any{"name": "logs"}}}
		}, false},
		"the template": {func(s map[string]any) { s["template"] = map[string]any{} }, false},
	} {
		if got := revision(tc.change); (got == same) != tc.same {
			t.Errorf("after a change of %s the revision is %s, before %s", sentence, got, same)
		}
	}
}

func TestAPodIsConverted(t *testing.T) {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: "db-a", UID: "p", ResourceVersion: "9", Labels: map[string]string{contract.InstanceIDLabel: "a"},
			Annotations:     map[string]string{contract.DeletionCostAnnotation: "-3"},
			OwnerReferences: []metav1.OwnerReference{{UID: "u", Controller: new(true)}},
		},
		Spec:   corev1.PodSpec{NodeName: "n", SchedulingGates: []corev1.PodSchedulingGate{{Name: contract.ClaimsGate}}},
		Status: corev1.PodStatus{Phase: corev1.PodFailed, ContainerStatuses: []corev1.ContainerStatus{{RestartCount: 2}, {RestartCount: 1}}},
	}
	p.Generation, p.Status.ObservedGeneration = 3, 2
	p.Annotations[contract.WithdrawnAnnotation] = contract.FormatWithdrawn(8, "mark")
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.DisruptionTarget, Status: corev1.ConditionFalse}}
	got := podOf(p)
	if got.Generation != 3 || got.Observed != 2 || got.Withdrawn != 8 || got.Disrupted {
		t.Errorf("got %+v", got)
	}
	p.Status.Conditions[0].Status = corev1.ConditionTrue
	if !podOf(p).Disrupted {
		t.Error("an evicted pod does not count as one")
	}
	if got.ID != "a" || got.Owner != "u" || got.Cost != -3 || got.Restarts != 3 || !got.Gated || !got.Scheduled || !got.Finished || got.Version != 9 {
		t.Errorf("got %+v", got)
	}
	if !got.Ran {
		t.Error("a pod whose containers have restarted seems never to have run")
	}
	for sentence, status := range map[string]corev1.ContainerStatus{
		"a container runs":           {State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}},
		"a container has ended":      {State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}},
		"a container had ended once": {LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}},
		"a container waits":          {State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{}}},
	} {
		p.Status.ContainerStatuses = []corev1.ContainerStatus{status}
		if got, want := podOf(p).Ran, status.State.Waiting == nil; got != want {
			t.Errorf("%s: the pod has run: %t, want %t", sentence, got, want)
		}
	}
	p.Annotations[contract.DeletionCostAnnotation] = "much"
	if got := podOf(p); got.Cost != 0 {
		t.Errorf("a cost that cannot be read counts %d, want 0", got.Cost)
	}
}

// A pod that its node rejects has no containers in its status, and often no conditions. The last write of its phase ended it.
func TestThePhaseOfAPodSaysWhenItEnded(t *testing.T) {
	writes := func(fields string, second int64) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Manager: "m" + fields, Time: new(metav1.Unix(second, 0)), FieldsV1: metav1.NewFieldsV1(fields)}
	}
	const phase, readiness, label = `{"f:status": {"f:phase": {}, "f:reason": {}}}`, `{"f:status": {"f:conditions": {}}}`, `{"f:metadata": {"f:labels": {"f:phase": {}}}}`
	withoutTime := writes(phase, 0)
	withoutTime.Time = nil
	for sentence, c := range map[string]struct {
		phase   corev1.PodPhase
		entries []metav1.ManagedFieldsEntry
		want    plan.UnixTime
	}{
		"the kubelet has rejected it":           {corev1.PodFailed, []metav1.ManagedFieldsEntry{writes(label, 5), writes(phase, 7), writes(readiness, 9)}, 7},
		"two managers have written its phase":   {corev1.PodFailed, []metav1.ManagedFieldsEntry{writes(phase, 8), writes(phase, 7)}, 8},
		"its phase is that of a pod that runs":  {corev1.PodRunning, []metav1.ManagedFieldsEntry{writes(phase, 7)}, 0},
		"a tool has removed the field managers": {corev1.PodFailed, nil, 0},
		"fields are missing or damaged":         {corev1.PodFailed, []metav1.ManagedFieldsEntry{withoutTime, {Time: new(metav1.Unix(7, 0))}, writes("{", 7)}, 0},
	} {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{ManagedFields: c.entries}, Status: corev1.PodStatus{Phase: c.phase}}
		if got := podOf(p).Ended; got != c.want {
			t.Errorf("%s: it ended at %d, want %d", sentence, got, c.want)
		}
	}
}

// A refusal is about one template. A corrected one is checked at once.
func TestARefusalIsAboutOneTemplate(t *testing.T) {
	o := newObserver(t, &server{})
	o.Refused(key, "refused", "no such field")
	for hash, want := range map[string]reason.Code{"refused": reason.TemplateInvalid, "corrected": ""} {
		s := pool.Snapshot{Key: key, Object: pool.Object{Hash: hash}}
		if o.checks.fill(&s); s.Refused.Code != want {
			t.Errorf("the template %s is refused because of %q, want %q", hash, s.Refused.Code, want)
		}
	}
}

// The pods that exist need nothing of a template that cannot be used.
func TestAnInvalidTemplateIsRefusedAndNothingElse(t *testing.T) {
	u := newObject(3)
	without := []any{map[string]any{"key": "app", "operator": "DoesNotExist"}}
	if err := unstructured.SetNestedField(u.Object, without, "spec", "selector", "matchExpressions"); err != nil {
		t.Fatal(err)
	}
	s := pool.Snapshot{Key: key, Object: objectOf(u), Revisions: []pool.Revision{{Name: "damaged"}}}
	newObserver(t, &server{}).checks.fill(&s)
	if s.Object.Unreadable != "" || s.Object.Replicas != 3 || s.Refused.Code != reason.TemplateInvalid || s.Newest().Name != "" {
		t.Errorf("it is refused because of %q (%q), unreadable because of %q, has %d replicas and the newest revision %q",
			s.Refused.Code, s.Refused.Detail, s.Object.Unreadable, s.Object.Replicas, s.Newest().Name)
	}
}

func TestPodsThatTheSelectorDoesNotMatch(t *testing.T) {
	o := newObserver(t, &server{})
	for name, label := range map[string]string{"db-a": "db", "db-b": "other"} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name, Labels: map[string]string{contract.PoolLabel: "db", "app": label}}}
		if err := o.pods.GetStore().Add(kept(t, pod)); err != nil {
			t.Fatal(err)
		}
	}
	for selector, unmatched := range map[string]string{"app=db": "db-b", "app notin (db)": "db-a", "": ""} {
		o.objects[key] = pool.Object{UID: "u", Selector: selector}
		found := ""
		for _, p := range o.Cached(key).Pods {
			if p.Unmatched {
				found += p.Name
			}
		}
		if found != unmatched {
			t.Errorf("the selector %q does not match %q, want %q", selector, found, unmatched)
		}
	}
}

// A client that takes the name of every claim must not fill the memory.
func TestATakenClaimIsForgottenWithItsPod(t *testing.T) {
	o := newObserver(t, &server{})
	for _, id := range []pool.ID{"a", "b"} {
		if err := o.pods.GetStore().Add(kept(t, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: pool.PodName("db", id)}})); err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range []pool.ID{"gone", "a", "b"} {
		o.ClaimTaken(key, id)
	}
	s := pool.Snapshot{Key: key}
	o.checks.fill(&s)
	if diff := cmp.Diff(map[pool.ID]bool{"a": true, "b": true}, s.Taken); diff != "" {
		t.Errorf("taken (-want +got):\n%s", diff)
	}
}

// A refusal of more storage counts until the API server is asked again. Refusals for other claims stay for that long.
func TestARefusedGrowthIsKeptUntilItIsAskedForAgain(t *testing.T) {
	o := newObserver(t, &server{})
	now := start
	o.options.Now = func() time.Time { return now }
	refuse := func(after time.Duration, claim, to string) {
		now = start.Add(after)
		o.GrowthRefused(key, claim, storageOf(to), "class")
	}
	known := func() []string {
		s := pool.Snapshot{Key: key}
		o.checks.fill(&s)
		var known []string
		for _, r := range s.RefusedGrowths {
			known = append(known, r.Claim+" to "+r.To.Text+" until "+r.Because.Until.Sub(start).String())
		}
		return known
	}
	refuse(0, "a", "1Gi")
	refuse(20*time.Second, "b", "1Gi")
	if diff := cmp.Diff([]string{"b to 1Gi until 1m20s", "a to 1Gi until 1m0s"}, known()); diff != "" {
		t.Errorf("two claims (-want +got):\n%s", diff)
	}
	refuse(40*time.Second, "b", "2Gi")
	if diff := cmp.Diff([]string{"b to 2Gi until 1m40s", "a to 1Gi until 1m0s"}, known()); diff != "" {
		t.Errorf("one claim twice (-want +got):\n%s", diff)
	}
	refuse(checkAgain, "c", "1Gi")
	if diff := cmp.Diff([]string{"c to 1Gi until 2m0s", "b to 2Gi until 1m40s"}, known()); diff != "" {
		t.Errorf("after a while (-want +got):\n%s", diff)
	}
}

// What a comparison has shown counts for one newest revision.
func TestComparisonsAreKeptForTheNewestRevision(t *testing.T) {
	o := newObserver(t, &server{})
	changes := func(newest string) map[string]pool.Change {
		s := pool.Snapshot{Key: key, Object: pool.Object{Hash: newest}, Revisions: []pool.Revision{{Name: newest, Hash: newest}}}
		o.checks.fill(&s)
		return s.Changes
	}
	o.Compared(key, "db-3", "db-1", pool.Change{Equal: true})
	o.Compared(key, "db-3", "db-2", pool.Change{InPlace: true})
	if diff := cmp.Diff(map[string]pool.Change{"db-1": {Equal: true}, "db-2": {InPlace: true}}, changes("db-3")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if known := changes("db-4"); known != nil {
		t.Errorf("of another newest revision: %v", known)
	}
	o.Compared(key, "db-4", "db-3", pool.Change{InPlace: true})
	if diff := cmp.Diff(map[string]pool.Change{"db-3": {InPlace: true}}, changes("db-4")); diff != "" {
		t.Errorf("after another comparison (-want +got):\n%s", diff)
	}
}

// What checks have shown is forgotten with the object, also if the watch did not see how the object went.
func TestLossesCountForAnHour(t *testing.T) {
	o := newObserver(t, &server{})
	o.Lost(key, 2)
	o.Lost(key, 20)
	for after, want := range map[time.Duration]int{0: mostLosses, pool.LossesCountFor: 0} {
		s := pool.Snapshot{Key: key, Now: o.options.Now().Add(after)}
		if o.checks.fill(&s); s.Lost != want {
			t.Errorf("%d identities were lost %s ago, want %d", s.Lost, after, want)
		}
	}
}

func TestChecksAreForgottenWithTheirObject(t *testing.T) {
	again := newObject(3)
	again.SetUID("again")
	for sentence, tc := range map[string]struct {
		happens   func(store) error
		forgotten bool
	}{
		"nothing":                                {func(s store) error { return s.Replace([]any{newObject(3)}, "26") }, false},
		"it changes":                             {func(s store) error { return s.Update(newObject(4)) }, false},
		"it is deleted":                          {func(s store) error { return s.Delete(newObject(3)) }, true},
		"it is no longer in the list":            {func(s store) error { return s.Replace(nil, "26") }, true},
		"another one of its name is in the list": {func(s store) error { return s.Replace([]any{again}, "26") }, true},
		"its kind is deleted": {func(s store) error {
			if !s.observer.ended(apierrors.NewNotFound(Resource.GroupResource(), "")) {
				t.Error("the watch does not begin anew")
			}
			return nil
		}, true},
	} {
		t.Run(sentence, func(t *testing.T) {
			o := newObserver(t, &server{})
			if err := (store{o}).Replace([]any{newObject(3)}, "25"); err != nil {
				t.Fatal(err)
			}
			o.FoundOrphans(key, pool.Orphans{At: start})
			if err := tc.happens(store{o}); err != nil {
				t.Fatal(err)
			}
			s := pool.Snapshot{Key: key}
			if o.checks.fill(&s); s.Orphans.At.IsZero() != tc.forgotten {
				t.Errorf("forgotten: %t, want %t", s.Orphans.At.IsZero(), tc.forgotten)
			}
		})
	}
}

func TestAClaimIsConverted(t *testing.T) {
	m := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Name: "db-data-a", UID: "c", ResourceVersion: "8", OwnerReferences: []metav1.OwnerReference{{UID: "u", Controller: new(true)}},
		Labels: map[string]string{contract.InstanceIDLabel: "a", contract.ClaimLabel: "data", contract.PoolUIDLabel: "u"},
		Annotations: map[string]string{
			contract.StorageAnnotation: "2Gi", contract.SiblingsAnnotation: "data,logs", contract.HandoverAnnotation: "p", contract.RetainIdentityLabel: "true",
			contract.KeepAnnotation: "true", contract.RetiredAtAnnotation: "2026-01-05T12:00:00Z", contract.RetiredReasonAnnotation: string(reason.ScaledDown),
			bindCompleted: "yes",
		},
	}}
	want := pool.Claim{
		Name: "db-data-a", UID: "c", Version: 8, ID: "a", Template: "data", Pool: "u", Siblings: []string{"data", "logs"}, From: "p", Retain: true,
		Storage: pool.Storage{Text: "2Gi", Bytes: 2 << 30}, Retired: true, Owned: true, Keep: true, Bound: true, Ended: start, Because: reason.ScaledDown,
	}
	if diff := cmp.Diff(want, claimOf(m)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	m.DeletionTimestamp = new(metav1.NewTime(start))
	m.Annotations[contract.StorageAnnotation], m.Annotations[contract.RetiredReasonAnnotation] = "much", "other"
	want.Deleting, want.Storage, want.Because = true, pool.Storage{}, ""
	if diff := cmp.Diff(want, claimOf(m)); diff != "" {
		t.Errorf("texts that cannot be read (-want +got):\n%s", diff)
	}
}

func TestIdentitiesAreDrawnAtRandom(t *testing.T) {
	drawn := map[pool.ID]bool{}
	for range 10_000 {
		id := draw()
		if !id.Drawn() || drawn[id] {
			t.Fatalf("drew %s", id)
		}
		drawn[id] = true
	}
}

// An object that cannot be read must not keep those of other namespaces from being read.
func TestAnObjectThatCannotBeReadHarmsNoOther(t *testing.T) {
	damaged := newObject(3)
	damaged.SetName("damaged")
	if err := unstructured.SetNestedField(damaged.Object, int64(3_000_000_000), "spec", "updateStrategy", "rollingUpdate", "partition"); err != nil {
		t.Fatal(err)
	}
	o := newObserver(t, &server{})
	if err := (store{o}).Replace([]any{damaged, newObject(3)}, "25"); err != nil {
		t.Fatal(err)
	}
	if s := o.Cached(key); s.Object.Replicas != 3 || s.Object.Unreadable != "" {
		t.Errorf("the cache shows %+v", s.Object)
	}
	if s := o.Cached(KeyOf("team", "damaged")); s.Object.Unreadable == "" || s.Object.UID != "u" {
		t.Errorf("the cache shows %+v", s.Object)
	}
	if err := (store{o}).Delete(damaged); err != nil || o.Has(KeyOf("team", "damaged")) {
		t.Errorf("error %v, or the cache shows a deleted object", err)
	}
}

func TestTheCacheShowsThePoolsOfItsWatch(t *testing.T) {
	var changed []plan.Key
	o := newObserver(t, &server{})
	o.options.Changed = func(key plan.Key) { changed = append(changed, key) }
	if err := (store{o}).Replace([]any{newObject(3)}, "25"); err != nil {
		t.Fatal(err)
	}
	if s := o.Cached(key); s.Object.Replicas != 3 || s.ObjectsAt != 25 || !o.Has(key) {
		t.Errorf("the cache shows %+v", s)
	}
	relisted := newObject(5)
	relisted.SetResourceVersion("26")
	if err := (store{o}).Replace([]any{relisted}, "26"); err != nil {
		t.Fatal(err)
	}
	if s := o.Cached(key); s.Object.Replicas != 5 || s.ObjectsAt != 26 {
		t.Errorf("the cache shows %+v", s)
	}
	next := newObject(4)
	next.SetResourceVersion("27")
	if err := (store{o}).Update(next); err != nil {
		t.Fatal(err)
	}
	if s := o.Cached(key); s.Object.Replicas != 4 || s.ObjectsAt != 27 {
		t.Errorf("the cache shows %+v", s)
	}
	if err := (store{o}).Delete(next); err != nil {
		t.Fatal(err)
	}
	if o.Has(key) || len(o.Keys("")) > 0 {
		t.Error("the cache shows a deleted object")
	}
	if want := slices.Repeat([]plan.Key{key}, 5); !slices.Equal(changed, want) { // a list enqueues former objects as well
		t.Errorf("enqueued %v, want %v", changed, want)
	}
}

// A pod whose label changes is missing in the pool that it had before.
func TestBothPoolsOfARelabelledObjectAreEnqueued(t *testing.T) {
	labelled := func(pool string) any {
		return kept(t, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "db-a", Namespace: "team", Labels: map[string]string{contract.PoolLabel: pool}}})
	}
	for sentence, tc := range map[string]struct {
		former, latest string
		want           []plan.Key
	}{
		"it goes to another pool": {"db", "other", []plan.Key{key, KeyOf("team", "other")}},
		"it stays":                {"db", "db", []plan.Key{key}},
	} {
		t.Run(sentence, func(t *testing.T) {
			o := newObserver(t, &server{})
			var enqueued []plan.Key
			o.options.Changed = func(key plan.Key) { enqueued = append(enqueued, key) }
			o.changed(labelled(tc.former), labelled(tc.latest))
			if diff := cmp.Diff(tc.want, enqueued); diff != "" {
				t.Errorf("enqueued (-want +got):\n%s", diff)
			}
		})
	}
}

// What a claim belongs to may delete it, unless it is the object itself.
func TestWhatAClaimWithoutLabelsBelongsTo(t *testing.T) {
	set := metav1.OwnerReference{Kind: "StatefulSet", Name: "db", UID: "s"}
	object := metav1.OwnerReference{Kind: "StatefulCluster", Name: "db", UID: "u"}
	former := metav1.OwnerReference{Kind: "StatefulCluster", Name: "db", UID: "former"}
	for sentence, tc := range map[string]struct {
		owners []metav1.OwnerReference
		want   string
	}{
		"to nothing":                         {nil, ""},
		"to the object":                      {[]metav1.OwnerReference{object}, ""},
		"to a StatefulSet":                   {[]metav1.OwnerReference{set}, "StatefulSet/db"},
		"to a StatefulSet and to the object": {[]metav1.OwnerReference{set, object}, "StatefulSet/db"},
		"to an earlier object of its name":   {[]metav1.OwnerReference{former}, "StatefulCluster/db"},
	} {
		t.Run(sentence, func(t *testing.T) {
			m := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "data-db-0", UID: "c", ResourceVersion: "9", OwnerReferences: tc.owners}}
			want := &pool.UnlabelledClaim{Name: "data-db-0", Template: "data", UID: "c", Version: 9, Owner: tc.want}
			if diff := cmp.Diff(want, unlabelledOf(m, "data", "u")); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// changingHolds reads a hold that another process has written again before each of the next reads.
type changingHolds struct{ writes *int }

func (changingHolds) Cached(plan.Key) plan.Record { return plan.Record{} }

func (h changingHolds) Read(context.Context, plan.Key) (plan.Record, error) {
	record := plan.Record{}
	record.Exists, record.Version = true, plan.Version(10+*h.writes)
	*h.writes--
	if *h.writes < 0 {
		record.Version, *h.writes = 10, 0
	}
	return record, nil
}

// A pod that is gone may be one whose hand-over the Lease has recorded meanwhile.
func TestALiveReadIsMadeAgainIfTheHoldChanges(t *testing.T) {
	for writes, want := range map[int]struct {
		reads int
		fails bool
	}{0: {1, false}, 1: {2, false}, 100: {3, true}} {
		s := &server{}
		o := newObserver(t, s)
		o.options.Holds = changingHolds{&writes}
		_, err := o.Live(t.Context(), key)
		reads := 0
		for _, resource := range s.requested {
			reads += map[bool]int{true: 1}[resource == "pods"]
		}
		if reads != want.reads || (err != nil) != want.fails {
			t.Errorf("pods were read %d times, error %v, want %+v", reads, err, want)
		}
	}
}
