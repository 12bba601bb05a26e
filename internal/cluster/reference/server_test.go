package reference_test

import (
	"cmp"
	"context"
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
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/lockstep-dev/lockstep/internal/cluster/reference"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
	"github.com/lockstep-dev/lockstep/internal/proof/apitest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// server is an API server with objects that have replicas. Their kinds can be created and
// deleted. It records requests, and refuses those that a test selects.
type server struct {
	mu        sync.Mutex
	requested []string
	version   int
	kinds     map[string][]metav1.APIResource // by the path of their API version
	groups    map[string][]string             // versions, the preferred one first
	objects   map[string]object               // by their path, without namespaces
	readers   apitest.Watchers[string]        // of paths; each is named by the path of its resource
	refuses   map[string]int32                // codes by the request or a prefix of it
	says      string                          // the message of a refusal
	behind    map[string]object               // is returned once in place of an object
	slow      map[string]chan struct{}        // requests wait until their channel is closed
	takes     time.Duration                   // the duration of a response about one scale
	counts    string                          // the version of every scale if it is not that of its object
}

type object struct {
	uid, version     string
	replicas, status int32
}

func newServer() *server {
	return &server{
		version: 100, kinds: map[string][]metav1.APIResource{}, groups: map[string][]string{}, objects: map[string]object{},
		refuses: map[string]int32{}, behind: map[string]object{},
	}
}

// scaled returns a kind with replicas as discovery shows it.
func scaled(kind, resource string) []metav1.APIResource {
	return []metav1.APIResource{
		{Name: resource, Kind: kind, Namespaced: true, Verbs: metav1.Verbs{"get", "list", "patch", "watch"}},
		{Name: resource + "/status", Kind: kind, Namespaced: true, Verbs: metav1.Verbs{"get", "patch"}},
		{Name: resource + "/scale", Kind: "Scale", Group: "autoscaling", Version: "v1", Namespaced: true, Verbs: metav1.Verbs{"get", "patch"}},
	}
}

// install serves kinds in some versions of their API group, and sends an event of a CRD.
func (s *server) install(versions []string, kinds ...metav1.APIResource) {
	s.serve(versions, kinds...)
	s.define(kinds[0].Name + "." + apiGroup)
}

func (s *server) serve(versions []string, kinds ...metav1.APIResource) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.groups[apiGroup] = versions
	for _, v := range versions {
		s.kinds["/apis/"+apiGroup+"/"+v] = kinds
	}
}

// define sends an event that a CRD has changed.
func (s *server) define(name string) { s.put(crds+"//"+name, object{uid: name}) }

// remove stops serving the API group: watches end, and the CRD is deleted.
func (s *server) remove() {
	s.mu.Lock()
	for _, v := range s.groups[apiGroup] {
		delete(s.kinds, "/apis/"+apiGroup+"/"+v)
	}
	s.readers.End(func(path string) bool { return strings.HasPrefix(path, "/apis/"+apiGroup+"/") })
	delete(s.groups, apiGroup)
	s.mu.Unlock()
	s.take(crds + "//templates." + apiGroup)
}

const apiGroup = "example.com"

const crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

// interrupt ends all watches, at a version of the server's choice.
func (s *server) interrupt(version int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version = version
	s.readers.End(func(string) bool { return true })
}

// reread changes the number of replicas of an object without a change of its version.
func (s *server) reread(path string, replicas int32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.objects[path]
	o.replicas = replicas
	s.objects[path] = o
}

// put creates or changes an object at a path like /apis/GROUP/VERSION/RESOURCE/NAMESPACE/NAME.
func (s *server) put(path string, o object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version++
	o.version = strconv.Itoa(s.version)
	_, exists := s.objects[path]
	s.objects[path] = o
	what := watch.Added
	if exists {
		what = watch.Modified
	}
	s.notifyListener(what, path, o)
}

// take deletes an object.
func (s *server) take(path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version++
	o := s.objects[path]
	o.version = strconv.Itoa(s.version)
	delete(s.objects, path)
	s.notifyListener(watch.Deleted, path, o)
}

func (s *server) notifyListener(what watch.EventType, path string, o object) {
	s.readers.Tell(path, apitest.Event(what, metadataOf(path, o)))
}

func metadataOf(path string, o object) *metav1.PartialObjectMetadata {
	parts := strings.Split(path, "/")
	return &metav1.PartialObjectMetadata{
		TypeMeta: metav1.TypeMeta{Kind: "PartialObjectMetadata", APIVersion: "meta.k8s.io/v1"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: parts[len(parts)-2], Name: parts[len(parts)-1], UID: types.UID(o.uid), ResourceVersion: o.version,
			Annotations: map[string]string{"note": strings.Repeat("x", 100)},
		},
	}
}

// refuse answers requests with this prefix with a code; 0 ends that.
func (s *server) refuse(what string, code int32, says string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuses[what], s.says = code, says
}

// questions returns the requests since the last call, sorted.
func (s *server) questions() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer func() { s.requested = nil }()
	slices.Sort(s.requested)
	return s.requested
}

// reads returns these requests without watches, which restart after their end.
func (s *server) reads() []string {
	return slices.DeleteFunc(s.questions(), func(q string) bool { return strings.HasPrefix(q, "watch ") })
}

// RoundTrip implements http.RoundTripper.
func (s *server) RoundTrip(q *http.Request) (*http.Response, error) {
	verb := "get"
	if q.URL.Query().Has("watch") {
		verb = "watch"
	}
	what := verb + " " + q.URL.Path
	if slow := s.slow[what]; slow != nil {
		select {
		case <-slow:
		case <-q.Context().Done():
			return nil, q.Context().Err()
		}
	}
	if strings.HasSuffix(what, "/scale") {
		time.Sleep(s.takes)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if q.URL.Query().Has("sendInitialEvents") { // so that the client lists first
		return apitest.Refusal(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid), nil
	}
	s.requested = append(s.requested, what)
	for beginning, code := range s.refuses {
		if code != 0 && strings.HasPrefix(what, beginning) {
			return apitest.Refusal(code, whys[code], s.says), nil
		}
	}
	return s.answer(q, verb), nil
}

var whys = map[int32]metav1.StatusReason{
	http.StatusForbidden: metav1.StatusReasonForbidden, http.StatusInternalServerError: metav1.StatusReasonInternalError,
	http.StatusTooManyRequests: metav1.StatusReasonTooManyRequests, http.StatusServiceUnavailable: metav1.StatusReasonServiceUnavailable,
}

func (s *server) answer(q *http.Request, verb string) *http.Response {
	none := apitest.Refusal(http.StatusNotFound, metav1.StatusReasonNotFound)
	parts := strings.Split(q.URL.Path, "/")
	if parts[1] == "api" {
		parts = slices.Insert(parts, 2, "")
	}
	if len(parts) > 6 && parts[4] == "namespaces" {
		parts = slices.Concat(parts[:4], []string{parts[6], parts[5]}, parts[7:])
	}
	path := strings.Join(parts, "/") // /apis/GROUP/VERSION/RESOURCE/NAMESPACE/NAME/SUBRESOURCE
	version := strings.Join(parts[:min(4, len(parts))], "/")
	switch _, served := s.kinds[version]; {
	case len(parts) == 3 && s.groups[parts[2]] != nil:
		return apitest.Answer(http.StatusOK, groupOf(parts[2], s.groups[parts[2]]))
	case len(parts) == 4 && served:
		return apitest.Answer(http.StatusOK, &metav1.APIResourceList{GroupVersion: parts[2] + "/" + parts[3], APIResources: s.kinds[version]})
	case len(parts) < 5 || (!served && !strings.HasPrefix(path, crds)):
		return none
	case len(parts) == 8:
		return s.scale(strings.Join(parts[:7], "/"))
	case verb == "watch":
		return s.readers.Watch(q, path, func(at string) bool { return strings.HasPrefix(at, path+"/") })
	}
	list := &metav1.PartialObjectMetadataList{
		TypeMeta: metav1.TypeMeta{Kind: "PartialObjectMetadataList", APIVersion: "meta.k8s.io/v1"},
		ListMeta: metav1.ListMeta{ResourceVersion: strconv.Itoa(s.version)},
	}
	for at, o := range s.objects {
		if strings.HasPrefix(at, path+"/") {
			list.Items = append(list.Items, *metadataOf(at, o))
		}
	}
	return apitest.Answer(http.StatusOK, list)
}

func groupOf(name string, versions []string) *metav1.APIGroup {
	group := &metav1.APIGroup{Name: name, PreferredVersion: metav1.GroupVersionForDiscovery{Version: versions[0]}}
	for _, v := range slices.Sorted(slices.Values(versions)) {
		group.Versions = append(group.Versions, metav1.GroupVersionForDiscovery{Version: v})
	}
	return group
}

func (s *server) scale(path string) *http.Response {
	o, exists := s.objects[path]
	if late, is := s.behind[path]; is {
		o = late
		delete(s.behind, path)
	}
	if !exists {
		return apitest.Refusal(http.StatusNotFound, metav1.StatusReasonNotFound)
	}
	return apitest.Answer(http.StatusOK, &autoscalingv1.Scale{
		ObjectMeta: metav1.ObjectMeta{UID: types.UID(o.uid), ResourceVersion: cmp.Or(s.counts, o.version)},
		Spec:       autoscalingv1.ScaleSpec{Replicas: o.replicas}, Status: autoscalingv1.ScaleStatus{Replicas: o.status},
	})
}

// watched returns the watched paths, except for that of CRDs.
func (s *server) watched() []string {
	return slices.DeleteFunc(s.readers.Names(), func(path string) bool { return path == crds })
}

// running is a running Cache.
type running struct {
	t *testing.T
	*server
	*reference.Cache
	log *logtest.Hook

	mu  sync.Mutex
	hit []string // notified objects since the last call of news
}

// inRunning runs a test with a running Cache, of one namespace or of all.
func inRunning(t *testing.T, namespace string, s *server, test func(*running)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		config := &rest.Config{Host: "http://api", Transport: s, QPS: -1, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}
		client, err := metadata.NewForConfig(config)
		if err != nil {
			t.Fatal(err)
		}
		log, lines := logtest.NewNullLogger()
		log.Level = logrus.DebugLevel
		d := &running{t: t, server: s, log: lines}
		d.Cache = reference.New(reference.Options{Client: apitest.Client(t, s), Metadata: client, Namespace: namespace, Log: log})
		d.Listen(func(namespace string, r group.Reference) {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.hit = append(d.hit, namespace+"/"+r.String())
		})
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { d.Run(ctx) })
		test(d)
		stop()
		running.Wait()
	})
}

// news returns the objects of which the listener was notified since the last call.
func (d *running) notifications() []string {
	synctest.Wait()
	d.mu.Lock()
	defer d.mu.Unlock()
	defer func() { d.hit = nil }()
	slices.Sort(d.hit)
	return d.hit
}

// counted returns the number of requests with this prefix since the last call of
// questions.
func (d *running) counted(beginning string) (n int) {
	for _, q := range d.questions() {
		if strings.HasPrefix(q, beginning) {
			n++
		}
	}
	return n
}

// wantReplicas checks the known scale of an object.
func (d *running) wantReplicas(r group.Reference, want int) {
	d.t.Helper()
	synctest.Wait()
	if got, _ := d.Scale("team", r); !got.Trouble.None() || got.Replicas != want {
		d.t.Errorf("%s: got %+v, want %d replicas", r, got, want)
	}
}

// wantTrouble checks why the scale of an object is unknown.
func (d *running) wantTrouble(r group.Reference, code reason.Code, detail string) {
	d.t.Helper()
	synctest.Wait()
	if got, _ := d.Scale("team", r); got.Trouble.Code != code || got.Trouble.Detail != detail {
		d.t.Errorf("%s: got %+v, want %s (%s)", r, got, code, detail)
	}
}
