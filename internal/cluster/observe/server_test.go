package observe

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"

	"github.com/lockstep-dev/lockstep/internal/proof/apitest"
)

// library is an API server that can be read and watched. It records requests, and refuses those
// that a test selects.
type library struct {
	refuses string // the requests to refuse, as a prefix of their record

	mu        sync.Mutex
	objects   []runtime.Object
	requested []string
	at        string                           // the version of lists; empty: 100
	readers   apitest.Watchers[runtime.Object] // each is named by its resource
}

func newLibrary(objects ...runtime.Object) *library {
	return &library{objects: objects}
}

func (l *library) client(tb testing.TB) kubernetes.Interface {
	tb.Helper()
	return apitest.Client(tb, l)
}

// add creates an object and sends it to open watches.
func (l *library) add(object runtime.Object) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.objects = append(l.objects, object)
	l.readers.Tell(object, apitest.Event(watch.Added, object))
}

// watched reports whether a resource has an open watch.
func (l *library) watched(resource string) bool {
	return slices.Contains(l.readers.Names(), resource)
}

// requests returns the recorded requests, as in "list team/pods set=zone-a".
func (l *library) requests() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.requested)
}

// RoundTrip implements http.RoundTripper.
func (l *library) RoundTrip(q *http.Request) (*http.Response, error) {
	namespace, resource, name := parse(q.URL.Path)
	selector, err := labels.Parse(q.URL.Query().Get("labelSelector"))
	if err != nil {
		return nil, err
	}
	watches := q.URL.Query().Has("watch")
	verb, about := "list", selector.String()
	switch {
	case name != "":
		verb, about = "get", name
	case watches:
		verb = "watch"
	}
	what := strings.TrimSpace(verb + " " + namespace + "/" + resource + " " + about)

	l.mu.Lock()
	defer l.mu.Unlock()
	l.requested = append(l.requested, what)
	switch {
	case l.refuses != "" && strings.HasPrefix(what, l.refuses):
		return apitest.Refusal(http.StatusForbidden, metav1.StatusReasonForbidden), nil
	case q.URL.Query().Has("sendInitialEvents"): // so that the client lists first
		return apitest.Refusal(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid), nil
	case watches:
		return l.watch(q, resource, selector), nil
	}
	var found []any
	for _, object := range l.objects {
		m := metaOf(object)
		if resourceOf(object) == resource && (namespace == "" || m.GetNamespace() == namespace) &&
			(name == "" || m.GetName() == name) && selector.Matches(labelsOf(object)) {
			found = append(found, object)
		}
	}
	switch {
	case name == "":
		return apitest.Answer(http.StatusOK, map[string]any{"metadata": map[string]string{"resourceVersion": cmp.Or(l.at, "100")}, "items": found}), nil
	case len(found) == 0:
		return apitest.Refusal(http.StatusNotFound, metav1.StatusReasonNotFound), nil
	}
	return apitest.Answer(http.StatusOK, found[0]), nil
}

// watch sends added objects until the request ends.
func (l *library) watch(q *http.Request, resource string, selector labels.Selector) *http.Response {
	return l.readers.Watch(q, resource, func(o runtime.Object) bool { return resourceOf(o) == resource && selector.Matches(labelsOf(o)) })
}

// parse parses paths like /api/v1/namespaces/NAMESPACE/RESOURCE/NAME.
func parse(path string) (namespace, resource, name string) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	if parts = parts[2:]; path[:5] == "/apis" {
		parts = parts[1:]
	}
	if len(parts) > 2 && parts[0] == "namespaces" {
		namespace, parts = parts[1], parts[2:]
	}
	if len(parts) > 1 {
		name = parts[1]
	}
	return namespace, parts[0], name
}

func resourceOf(object runtime.Object) string {
	switch object.(type) {
	case *corev1.Pod:
		return "pods"
	case *corev1.Namespace:
		return "namespaces"
	case *appsv1.StatefulSet:
		return "statefulsets"
	case *coordinationv1.Lease:
		return "leases"
	}
	return ""
}

func metaOf(object runtime.Object) metav1.Object {
	m, err := meta.Accessor(object)
	if err != nil {
		panic(err)
	}
	return m
}

func labelsOf(object runtime.Object) labels.Set { return metaOf(object).GetLabels() }
