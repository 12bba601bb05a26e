package budgets_test

import (
	"context"
	"io"
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
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/lockstep-dev/lockstep/internal/cluster/budgets"
	"github.com/lockstep-dev/lockstep/internal/proof/apitest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	kind  = "zoneawarepoddisruptionbudgets"
	crd   = kind + ".rollout-operator.grafana.com"
	crds  = "customresourcedefinitions"
	first = 100 // version
)

// server is an API server with budgets. Their kind can be created and deleted. It records
// requests, and refuses those that a test selects.
type server struct {
	mu        sync.Mutex
	requested []string
	version   int
	served    bool
	defined   *metav1.PartialObjectMetadata
	objects   map[string]map[string]any // by namespace/name
	readers   apitest.Watchers[place]
	refuses   map[string]int32 // codes by verb and resource: list zoneawarepoddisruptionbudgets
	streams   bool             // a watch may begin with all existing objects
	mute      bool             // watches stay open and send nothing, not even bookmarks
	cut       bool             // initial events of a watch never end
}

// unanswered is a code for a broken connection.
const unanswered = -1

// place is the namespace and the name of an object.
type place struct{ resource, namespace string }

func newServer() *server {
	return &server{version: first, objects: map[string]map[string]any{}, refuses: map[string]int32{}}
}

// withKind returns a server with the kind.
func withKind() *server {
	s := newServer()
	s.install()
	return s
}

// define sends an event that the CRD was created or changed.
func (s *server) define() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version++
	what := watch.Modified
	if s.defined == nil {
		what = watch.Added
	}
	s.defined = &metav1.PartialObjectMetadata{
		TypeMeta:   metav1.TypeMeta{Kind: "PartialObjectMetadata", APIVersion: "meta.k8s.io/v1"},
		ObjectMeta: metav1.ObjectMeta{Name: crd, UID: types.UID(strconv.Itoa(s.version)), ResourceVersion: strconv.Itoa(s.version)},
	}
	s.notifyListeners(what, crds, "", s.defined)
}

func (s *server) serve() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.served = true
}

// install defines the kind and serves it.
func (s *server) install() {
	s.serve()
	s.define()
}

// remove deletes the kind and all of its objects.
func (s *server) remove() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.served, s.objects = false, map[string]map[string]any{}
	s.end(kind)
	s.version++
	s.defined.ResourceVersion = strconv.Itoa(s.version)
	s.notifyListeners(watch.Deleted, crds, "", s.defined)
	s.defined = nil
}

// hide stops serving the kind, like an API server that does not know it yet.
func (s *server) hide() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.served = false
	s.end(kind)
}

// interrupt ends all watches of budgets.
func (s *server) interrupt() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.end(kind)
}

func (s *server) end(resource string) {
	s.readers.End(func(name string) bool { return name == resource })
}

// put creates or changes a budget.
func (s *server) put(namespace, name string, spec map[string]any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version++
	o, exists := s.objects[namespace+"/"+name]
	generation := int64(1)
	uid := "uid-" + strconv.Itoa(s.version)
	what := watch.Added
	if exists {
		u := unstructured.Unstructured{Object: o}
		generation, uid, what = u.GetGeneration()+1, string(u.GetUID()), watch.Modified
	}
	s.store(what, namespace, name, map[string]any{
		"apiVersion": "rollout-operator.grafana.com/v1", "kind": "ZoneAwarePodDisruptionBudget", "spec": spec,
		"metadata": map[string]any{"namespace": namespace, "name": name, "uid": uid, "generation": generation, "resourceVersion": strconv.Itoa(s.version)},
	})
}

// touch changes the budget "a" of a namespace, but not its spec.
func (s *server) touch(namespace string) {
	const name = "a"
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version++
	o := runtime.DeepCopyJSON(s.objects[namespace+"/"+name])
	o["status"] = map[string]any{"disruptionsAllowed": int64(s.version)}
	(&unstructured.Unstructured{Object: o}).SetResourceVersion(strconv.Itoa(s.version))
	s.store(watch.Modified, namespace, name, o)
}

func (s *server) store(what watch.EventType, namespace, name string, o map[string]any) {
	s.objects[namespace+"/"+name] = o
	s.notifyListeners(what, kind, namespace, &unstructured.Unstructured{Object: o})
}

func (s *server) take(namespace, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version++
	u := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(s.objects[namespace+"/"+name])}
	u.SetResourceVersion(strconv.Itoa(s.version))
	delete(s.objects, namespace+"/"+name)
	s.notifyListeners(watch.Deleted, kind, namespace, u)
}

func (s *server) notifyListeners(what watch.EventType, resource, namespace string, object runtime.Object) {
	s.readers.Tell(place{resource, namespace}, apitest.Event(what, object))
}

// bookmark sends a bookmark to the watches of budgets, of one namespace or of
// all.
func (s *server) bookmark(namespace string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mute {
		return
	}
	s.notifyListeners(watch.Bookmark, kind, namespace, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "rollout-operator.grafana.com/v1", "kind": "ZoneAwarePodDisruptionBudget",
		"metadata": map[string]any{"resourceVersion": strconv.Itoa(s.version)},
	}})
}

// silence keeps open watches from sending anything, or ends that.
func (s *server) silence(mute bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mute = mute
}

// cutShort ends streams before the end of the initial list, or ends that.
func (s *server) cutShort(cut bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cut, s.mute = cut, cut
}

// refuse answers a verb on the budgets with a code; 0 ends that.
func (s *server) refuse(code int32, verbs ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, verb := range verbs {
		s.refuses[verb+" "+kind] = code
	}
}

// questions returns the requests since the last call.
func (s *server) questions() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer func() { s.requested = nil }()
	return s.requested
}

// RoundTrip implements http.RoundTripper.
func (s *server) RoundTrip(q *http.Request) (*http.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	resource, namespace := parse(q.URL.Path)
	verb := "list"
	if q.URL.Query().Has("watch") {
		verb = "watch"
	}
	stream := q.URL.Query().Has("sendInitialEvents")
	what := verb + " " + resource
	requested := what
	if namespace != "" {
		requested += " in " + namespace
	}
	if stream {
		requested += " from the beginning"
	}
	if selector := q.URL.Query().Get("fieldSelector"); selector != "" {
		requested += " with " + selector
	}
	s.requested = append(s.requested, requested)
	code := s.refuses[what]
	switch {
	case code == unanswered:
		return nil, io.EOF
	case code != 0:
		return apitest.Refusal(code, whys[code]), nil
	case resource == kind && !s.served:
		return apitest.Refusal(http.StatusNotFound, metav1.StatusReasonNotFound), nil
	case stream && (!s.streams || resource == crds):
		return apitest.Refusal(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid), nil
	case verb == "watch":
		return s.watch(q, resource, namespace, stream), nil
	case resource == crds:
		list := &metav1.PartialObjectMetadataList{
			TypeMeta: metav1.TypeMeta{Kind: "PartialObjectMetadataList", APIVersion: "meta.k8s.io/v1"},
			ListMeta: metav1.ListMeta{ResourceVersion: strconv.Itoa(s.version)},
		}
		if s.defined != nil {
			list.Items = append(list.Items, *s.defined)
		}
		return apitest.Answer(http.StatusOK, list), nil
	}
	items := []any{}
	for _, o := range s.of(namespace) {
		items = append(items, o)
	}
	return apitest.Answer(http.StatusOK, map[string]any{
		"apiVersion": "rollout-operator.grafana.com/v1", "kind": "ZoneAwarePodDisruptionBudgetList",
		"metadata": map[string]any{"resourceVersion": strconv.Itoa(s.version)}, "items": items,
	}), nil
}

var whys = map[int32]metav1.StatusReason{
	http.StatusForbidden: metav1.StatusReasonForbidden, http.StatusServiceUnavailable: metav1.StatusReasonServiceUnavailable,
	http.StatusTooManyRequests: metav1.StatusReasonTooManyRequests, http.StatusInternalServerError: metav1.StatusReasonInternalError,
}

// of returns the budgets of a namespace, or of all.
func (s *server) of(namespace string) []map[string]any {
	var some []map[string]any
	for name, o := range s.objects {
		if namespace == "" || strings.HasPrefix(name, namespace+"/") {
			some = append(some, o)
		}
	}
	return some
}

// parse parses the path /apis/GROUP/VERSION[/namespaces/NAMESPACE]/RESOURCE.
func parse(path string) (resource, namespace string) {
	parts := strings.Split(path, "/")
	if len(parts) > 6 && parts[4] == "namespaces" {
		return parts[6], parts[5]
	}
	return parts[len(parts)-1], ""
}

func (s *server) watch(q *http.Request, resource, namespace string, stream bool) *http.Response {
	var first []metav1.WatchEvent
	if stream {
		for _, o := range s.of(namespace) {
			first = append(first, apitest.Event(watch.Added, &unstructured.Unstructured{Object: o}))
		}
		if s.cut {
			return s.readers.Watch(q, resource, func(place) bool { return false }, first...)
		}
		first = append(first, apitest.Event(watch.Bookmark, &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "rollout-operator.grafana.com/v1", "kind": "ZoneAwarePodDisruptionBudget", "metadata": map[string]any{
				"resourceVersion": strconv.Itoa(s.version), "annotations": map[string]any{metav1.InitialEventsAnnotationKey: "true"},
			},
		}}))
	}
	within := func(p place) bool { return p.resource == resource && (namespace == "" || p.namespace == namespace) }
	return s.readers.Watch(q, resource, within, first...)
}

// running is a running Cache.
type running struct {
	t *testing.T
	*server
	*budgets.Cache
	log *logtest.Hook

	mu  sync.Mutex
	hit []string // notified namespaces since the last call of notifications
	all []string // the same for touched

	slow map[string]chan struct{} // by namespace: blocks the listener
}

// inRunning runs a test with a running Cache, of one namespace or of all.
func inRunning(t *testing.T, namespace string, s *server, test func(*running)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		config := &rest.Config{Host: "http://api", Transport: s, QPS: -1, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}
		client, err := dynamic.NewForConfig(config)
		if err != nil {
			t.Fatal(err)
		}
		meta, err := metadata.NewForConfig(config)
		if err != nil {
			t.Fatal(err)
		}
		log, lines := logtest.NewNullLogger()
		log.Level = logrus.DebugLevel
		d := &running{t: t, server: s, log: lines}
		d.Cache = budgets.New(budgets.Options{Client: client, Metadata: meta, Namespace: namespace, Log: log})
		d.Listen(func(namespace string) {
			d.mu.Lock()
			d.hit = append(d.hit, namespace)
			slow := d.slow[namespace]
			d.mu.Unlock()
			if slow != nil {
				<-slow
			}
		})
		d.ListenToAll(func(namespace string) {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.all = append(d.all, namespace)
		})
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { d.Run(ctx) })
		running.Go(func() {
			minutes := time.NewTicker(time.Minute)
			defer minutes.Stop()
			for ctx.Err() == nil {
				select {
				case <-minutes.C:
					s.bookmark(namespace)
				case <-ctx.Done():
				}
			}
		})
		test(d)
		stop()
		running.Wait()
	})
}

// keep blocks the listener for a namespace until the returned function is called.
func (d *running) keep(namespace string) (goOn func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	slow := make(chan struct{})
	d.slow = map[string]chan struct{}{namespace: slow}
	return sync.OnceFunc(func() { close(slow) })
}

// notifications returns the namespaces of which listeners were notified since the last call,
// sorted.
func (d *running) notifications() []string {
	synctest.Wait()
	d.mu.Lock()
	defer d.mu.Unlock()
	defer func() { d.hit = nil }()
	slices.Sort(d.hit)
	return d.hit
}

// touched returns the namespaces with any change of a budget since the last
// call.
func (d *running) touched() []string {
	synctest.Wait()
	d.mu.Lock()
	defer d.mu.Unlock()
	defer func() { d.all = nil }()
	return d.all
}

// names returns the budgets of a namespace: valid ones by their names, others with
// a question mark.
func (d *running) names(namespace string) string {
	synctest.Wait()
	var names []string
	for _, b := range d.Budgets(namespace) {
		if b.Invalid != "" {
			b.Name += "?"
		}
		names = append(names, b.Name)
	}
	return strings.Join(names, " ")
}

// want checks the budgets of the namespace team, and whether budgets are
// known.
func (d *running) want(names string, known bool) {
	d.t.Helper()
	if got := d.names("team"); got != names {
		d.t.Errorf("budgets %q, want %q", got, names)
	}
	if d.Known() != known {
		d.t.Errorf("known: %t, want %t (%v)", !known, known, d.Trouble())
	}
}

func (d *running) wantAnswered(want bool) {
	d.t.Helper()
	if got := d.Answered(); got != want {
		d.t.Errorf("answered: %t, want %t (%v)", got, want, d.Trouble())
	}
}

// loggedState counts the log lines that contain a text.
func (d *running) loggedState(text string) (n int) {
	for _, line := range d.log.AllEntries() {
		if strings.Contains(line.Message, text) {
			n++
		}
	}
	return n
}

func seconds(n int) { time.Sleep(time.Duration(n) * time.Second) }
