package rolloutgroup

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"
	logtest "github.com/sirupsen/logrus/hooks/test"
	"go.uber.org/goleak"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/lockstep-dev/lockstep/internal/cluster/dynamicwatch"
	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/control/loop"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/proof/apitest"
	"github.com/lockstep-dev/lockstep/internal/proof/fixture"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// server is an API server with RolloutGroups. Their kind can be created and deleted. It
// records writes, and refuses the requests that a test selects.
type server struct {
	mu      sync.Mutex
	version int
	served  bool
	objects map[Name]*unstructured.Unstructured
	readers map[*reader]bool
	last    []last           // all changes of objects, for watches that begin later
	refuses map[string]int32 // codes by HTTP method
	writes  []string
	reads   int
	refused int // requests to change something
	slow    time.Duration
	prunes  bool // it does not store the percentage
}

// last is a change of an object, as watches send it.
type last struct {
	version int
	event   metav1.WatchEvent
}

// reader is a watch of RolloutGroups or of the CRD.
type reader struct {
	definition   bool
	describeWait chan metav1.WatchEvent
	end          context.CancelFunc
}

func newServer(served bool) *server {
	return &server{version: 100, served: served, objects: map[Name]*unstructured.Unstructured{}, readers: map[*reader]bool{}, refuses: map[string]int32{}}
}

// serve creates the kind, or deletes it with all objects.
func (s *server) serve(served bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.served = served
	s.version++
	what := watch.Added
	if !served {
		s.objects, what = map[Name]*unstructured.Unstructured{}, watch.Deleted
	}
	for r := range s.readers {
		if r.definition {
			r.describeWait <- apitest.Event(what, &metav1.PartialObjectMetadata{
				TypeMeta:   metav1.TypeMeta{Kind: "PartialObjectMetadata", APIVersion: "meta.k8s.io/v1"},
				ObjectMeta: metav1.ObjectMeta{Name: Resource.GroupResource().String(), ResourceVersion: strconv.Itoa(s.version)},
			})
		} else {
			r.end()
		}
	}
}

// cut ends all watches of objects.
func (s *server) cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for r := range s.readers {
		if !r.definition {
			r.end()
		}
	}
}

// put creates an object as another client, or as an operator that has ended.
func (s *server) put(n Name, group string, labels map[string]any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.store(watch.Added, n, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "lockstep.dev/v1alpha1", "kind": "RolloutGroup", "spec": map[string]any{"group": group},
		"metadata": map[string]any{"namespace": n.Namespace, "name": n.Object, "labels": labels, "uid": fmt.Sprint("uid-", s.version), "generation": int64(1)},
	}})
}

var ours = map[string]any{contract.ManagedByLabel: contract.ManagedBy}

func (s *server) take(n Name) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remove(n)
}

// remove deletes an object. Callers hold the lock.
func (s *server) remove(n Name) {
	o := s.objects[n]
	delete(s.objects, n)
	s.version++
	o.SetResourceVersion(strconv.Itoa(s.version))
	s.describeWait(watch.Deleted, o)
}

// store stores a state of an object. Callers hold the lock.
func (s *server) store(what watch.EventType, n Name, o *unstructured.Unstructured) {
	s.version++
	o.SetResourceVersion(strconv.Itoa(s.version))
	s.objects[n] = o
	s.describeWait(what, o)
}

func (s *server) describeWait(what watch.EventType, o *unstructured.Unstructured) {
	if o.GetLabels()[contract.ManagedByLabel] != contract.ManagedBy {
		return
	}
	event := apitest.Event(what, o.DeepCopy())
	s.last = append(s.last, last{s.version, event})
	for r := range s.readers {
		if !r.definition {
			r.describeWait <- event
		}
	}
}

// refuse answers a method with a code; 0 ends that.
func (s *server) refuse(code int32, methods ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, method := range methods {
		s.refuses[method] = code
	}
}

// wrote returns the writes since the last call, sorted.
func (s *server) wrote() []string {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	defer func() { s.writes = nil }()
	slices.Sort(s.writes)
	return s.writes
}

// requests returns the number of lists and watches since the last call.
func (s *server) requests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer func() { s.reads = 0 }()
	return s.reads
}

// says returns a field of an object's status as text.
func (s *server) says(n Name, fields ...string) string {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.objects[n]
	if o == nil {
		return "there is none"
	}
	text, _, _ := unstructured.NestedString(o.Object, append([]string{"status"}, fields...)...)
	return text
}

// RoundTrip implements http.RoundTripper.
func (s *server) RoundTrip(q *http.Request) (*http.Response, error) {
	if q.Method != http.MethodGet {
		time.Sleep(s.slow)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	definition := strings.Contains(q.URL.Path, dynamicwatch.Definitions.Resource)
	if code := s.refuses[q.Method]; code != 0 && !definition {
		s.refused++
		return apitest.Refusal(code, whys[code]), nil
	}
	switch {
	case q.URL.Query().Has("sendInitialEvents"):
		return apitest.Refusal(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid), nil
	case definition && !q.URL.Query().Has("watch"):
		return apitest.Answer(http.StatusOK, &metav1.PartialObjectMetadataList{
			TypeMeta: metav1.TypeMeta{Kind: "PartialObjectMetadataList", APIVersion: "meta.k8s.io/v1"},
			ListMeta: metav1.ListMeta{ResourceVersion: strconv.Itoa(s.version)},
		}), nil
	case definition:
		return s.watch(q, true), nil
	}
	switch {
	case q.Method == http.MethodGet:
		s.reads++
	case !s.served:
		s.refused++
	}
	switch {
	case !s.served:
		return apitest.Refusal(http.StatusNotFound, metav1.StatusReasonNotFound), nil
	case q.Method == http.MethodGet && q.URL.Query().Get("labelSelector") != contract.ManagedByLabel+"="+contract.ManagedBy:
		panic("other objects are requested")
	case q.URL.Query().Has("watch"):
		return s.watch(q, false), nil
	case q.Method == http.MethodGet:
		return s.list(), nil
	}
	return s.change(q)
}

func (s *server) list() *http.Response {
	items := []any{}
	for _, o := range s.objects {
		if o.GetLabels()[contract.ManagedByLabel] == contract.ManagedBy {
			items = append(items, o.Object)
		}
	}
	return apitest.Answer(http.StatusOK, map[string]any{
		"apiVersion": "lockstep.dev/v1alpha1", "kind": "RolloutGroupList",
		"metadata": map[string]any{"resourceVersion": strconv.Itoa(s.version)}, "items": items,
	})
}

func (s *server) watch(q *http.Request, definition bool) *http.Response {
	ctx, end := context.WithCancel(q.Context())
	r := &reader{definition, make(chan metav1.WatchEvent, 1000), end}
	s.readers[r] = true
	if from, err := strconv.Atoi(q.URL.Query().Get("resourceVersion")); err == nil && !definition {
		for _, change := range s.last {
			if change.version > from {
				r.describeWait <- change.event
			}
		}
	}
	return apitest.Watch(ctx, r.describeWait, func() {
		end()
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.readers, r)
	})
}

// change is a create, a patch of a status, or a delete.
func (s *server) change(q *http.Request) (*http.Response, error) {
	text, err := io.ReadAll(q.Body)
	if err != nil {
		return nil, err
	}
	parts := strings.Split(q.URL.Path, "/") // /apis/GROUP/VERSION/namespaces/NAMESPACE/RESOURCE[/NAME[/status]]
	n := Name{Namespace: parts[5]}
	if len(parts) > 7 {
		n.Object = parts[7]
	}
	s.writes = append(s.writes, strings.TrimSpace(q.Method+" "+n.String()+" "+strings.Join(parts[min(8, len(parts)):], "")))
	switch q.Method {
	case http.MethodPost:
		return s.create(text)
	case http.MethodDelete:
		var o metav1.DeleteOptions
		switch err := json.Unmarshal(text, &o); {
		case err != nil:
			return nil, err
		case s.objects[n] == nil:
			return apitest.Refusal(http.StatusNotFound, metav1.StatusReasonNotFound), nil
		case o.Preconditions == nil || *o.Preconditions.UID != s.objects[n].GetUID():
			return apitest.Refusal(http.StatusConflict, metav1.StatusReasonConflict), nil
		}
		s.remove(n)
		return apitest.Answer(http.StatusOK, map[string]any{"apiVersion": "v1", "kind": "Status", "status": "Success"}), nil
	}
	return s.patch(n, text)
}

func (s *server) create(text []byte) (*http.Response, error) {
	o := &unstructured.Unstructured{}
	if err := o.UnmarshalJSON(text); err != nil {
		return nil, err
	}
	n := Name{"team", o.GetName()}
	if s.objects[n] != nil {
		return apitest.Refusal(http.StatusConflict, metav1.StatusReasonAlreadyExists), nil
	}
	o.SetNamespace(n.Namespace)
	o.SetGeneration(1)
	if err := unstructured.SetNestedField(o.Object, fmt.Sprint("uid-", s.version), "metadata", "uid"); err != nil {
		return nil, err
	}
	s.store(watch.Added, n, o)
	return apitest.Answer(http.StatusCreated, o.Object), nil
}

func (s *server) patch(n Name, text []byte) (*http.Response, error) {
	var steps []struct {
		Op, Path string
		Value    any
	}
	if err := json.Unmarshal(text, &steps); err != nil {
		return nil, err
	}
	o := s.objects[n]
	switch {
	case o == nil:
		return apitest.Refusal(http.StatusNotFound, metav1.StatusReasonNotFound), nil
	case len(steps) != 2 || steps[0].Op != "test" || steps[0].Value != string(o.GetUID()):
		return apitest.Refusal(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid), nil
	}
	next := &unstructured.Unstructured{Object: maps.Clone(runtime.DeepCopyJSON(o.Object))}
	next.Object["status"] = steps[1].Value
	if s.prunes {
		unstructured.RemoveNestedField(next.Object, "status", "percent")
	}
	s.store(watch.Modified, n, next)
	return apitest.Answer(http.StatusOK, next.Object), nil
}

var whys = map[int32]metav1.StatusReason{
	http.StatusForbidden: metav1.StatusReasonForbidden, http.StatusServiceUnavailable: metav1.StatusReasonServiceUnavailable,
}

// running is a running Controller with its caches.
type running struct {
	t *testing.T
	*server
	controller *Controller
	log        *logtest.Hook
	cancel     context.CancelFunc
	running    *sync.WaitGroup

	mutex   sync.Mutex
	groups  map[plan.Key]group.Snapshot
	foreign bool // the namespace did not opt in
}

// Managed implements observer.
func (g *running) Managed(string) bool {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	return !g.foreign
}

// Cached implements observer.
func (g *running) Cached(key plan.Key) group.Snapshot {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	return g.groups[key]
}

// inRunning runs a test with a running Controller whose caches contain some groups.
func inRunning(t *testing.T, s *server, test func(*running), groups ...string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		g := &running{t: t, server: s, groups: map[plan.Key]group.Snapshot{}}
		log, lines := logtest.NewNullLogger()
		log.Level = logrus.InfoLevel
		g.log = lines
		for _, group := range groups {
			g.groups[keyOf(group)] = fixture.MustParse(complete)
		}
		g.start(log)
		test(g)
		g.stop()
	})
}

// start makes the Controller lead.
func (g *running) start(log *logrus.Logger) {
	config := &rest.Config{Host: "http://api", Transport: g.server, QPS: -1, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		g.t.Fatal(err)
	}
	meta, err := metadata.NewForConfig(config)
	if err != nil {
		g.t.Fatal(err)
	}
	cache := NewCache(CacheOptions{Client: client, Metadata: meta, Log: log})
	var l *loop.Loop[Name]
	g.controller = New(Options{Cache: cache, Observer: g, Client: client, Log: log, Soon: func(n Name, d time.Duration) { l.AddAfter(n, d) }})
	l = loop.New(loop.Options[Name]{Name: "test", Workers: 2, Reconcile: g.controller.Reconcile, Log: log})
	ctx, stop := context.WithCancel(g.t.Context())
	g.cancel, g.running = stop, &sync.WaitGroup{}
	g.running.Go(func() { cache.Run(ctx) })
	g.running.Go(func() { l.Run(ctx) })
	synctest.Wait()
}

// stop ends leadership and drops the state of groups.
func (g *running) stop() {
	for key := range g.groups {
		g.controller.Forget(key)
	}
	g.cancel()
	g.running.Wait()
}

func keyOf(group string) plan.Key { return plan.Key{Namespace: "team", Name: group} }

// plans plans for a group and calls Take.
func (g *running) plans(name, groupState string) {
	s := fixture.MustParse(groupState)
	s.Key, s.Now = keyOf(name), time.Now()
	g.mutex.Lock()
	g.groups[s.Key] = s
	g.mutex.Unlock()
	g.controller.Take(s, group.Plan(s))
}

// ends deletes a group.
func (g *running) ends(group string) {
	g.mutex.Lock()
	delete(g.groups, keyOf(group))
	g.mutex.Unlock()
	g.controller.Forget(keyOf(group))
}

func called(group string) Name { return nameFor(keyOf(group)) }
