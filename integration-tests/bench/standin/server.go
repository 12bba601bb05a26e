package standin

import (
	"net/http"
	"strings"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Server is the API server. Make one with New; its methods may be called from any
// goroutine.
type Server struct {
	world               World
	managed, bystanders []Group

	mu          sync.Mutex
	version     uint64
	namespaces  *collection
	sets        *collection
	pods        *collection
	leases      *collection
	definitions *collection // always empty: nothing is installed
	writes      []Write
	settling    sync.WaitGroup // pods that are on their way back
}

// Write is a request that changed something, or was to.
type Write struct {
	At                              time.Time // when it came
	Verb, Resource, Namespace, Name string
}

// New returns a server of a world.
func New(w World) *Server {
	s := &Server{
		world: w,
		namespaces: newCollection(kind{corev1.SchemeGroupVersion,
			func() runtime.Object { return &corev1.Namespace{} }, func() runtime.Object { return &corev1.NamespaceList{} }}),
		sets: newCollection(kind{appsv1.SchemeGroupVersion,
			func() runtime.Object { return &appsv1.StatefulSet{} }, func() runtime.Object { return &appsv1.StatefulSetList{} }}),
		pods: newCollection(kind{corev1.SchemeGroupVersion,
			func() runtime.Object { return &corev1.Pod{} }, func() runtime.Object { return &corev1.PodList{} }}),
		leases: newCollection(kind{coordinationv1.SchemeGroupVersion,
			func() runtime.Object { return &coordinationv1.Lease{} }, func() runtime.Object { return &coordinationv1.LeaseList{} }}),
		definitions: newCollection(kind{metav1.SchemeGroupVersion,
			func() runtime.Object { return &metav1.PartialObjectMetadata{} }, func() runtime.Object { return &metav1.PartialObjectMetadataList{} }}),
	}
	s.populate()
	return s
}

// Managed returns the groups of namespaces that opted in.
func (s *Server) Managed() []Group { return s.managed }

// Bystanders returns the groups of the namespace that did not.
func (s *Server) Bystanders() []Group { return s.bystanders }

// FirstWrite returns the first request to change something in a namespace since then,
// Events apart: they tell, and change nothing.
func (s *Server) FirstWrite(namespace string, since time.Time) (Write, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.writes {
		if w.Namespace == namespace && w.Resource != "events" && !w.At.Before(since) {
			return w, true
		}
	}
	return Write{}, false
}

// next returns a version that nothing has yet. Call it locked, or before the server
// is known to anybody.
func (s *Server) next() uint64 {
	s.version++
	return s.version
}

// collections are by group, version and resource.
func (s *Server) collection(q target) (*collection, bool) {
	c, known := map[schema.GroupVersionResource]*collection{
		corev1.SchemeGroupVersion.WithResource("namespaces"):                                  s.namespaces,
		corev1.SchemeGroupVersion.WithResource("pods"):                                        s.pods,
		appsv1.SchemeGroupVersion.WithResource("statefulsets"):                                s.sets,
		coordinationv1.SchemeGroupVersion.WithResource("leases"):                              s.leases,
		{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}: s.definitions,
	}[q.resource]
	return c, known
}

// target is what the path of a request names.
type target struct {
	resource                     schema.GroupVersionResource
	namespace, name, subresource string
}

func (t target) plain() schema.GroupResource { return t.resource.GroupResource() }

// targetOf reads /api/v1/..., /apis/GROUP/VERSION/..., with and without a namespace.
func targetOf(path string) (target, bool) {
	words := strings.Split(strings.Trim(path, "/"), "/")
	var t target
	switch {
	case len(words) >= 3 && words[0] == "api":
		t.resource.Version, words = words[1], words[2:]
	case len(words) >= 4 && words[0] == "apis":
		t.resource.Group, t.resource.Version, words = words[1], words[2], words[3:]
	default:
		return t, false
	}
	if words[0] == "namespaces" && len(words) >= 3 {
		t.namespace, words = words[1], words[2:]
	}
	words = append(words, "", "")
	t.resource.Resource, t.name, t.subresource = words[0], words[1], words[2]
	return t, true
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	t, ok := targetOf(r.URL.Path)
	if !ok {
		http.NotFound(w, r)
		return
	}
	s.note(r, t)
	c, known := s.collection(t)
	if r.Method == http.MethodGet && known && t.name == "" {
		s.read(w, r, t, c)
		return
	}
	object, err := s.answer(r, t, c)
	if err != nil {
		refuse(w, r, err)
		return
	}
	reply(w, r, http.StatusOK, object)
}

func (s *Server) note(r *http.Request, t target) {
	if r.Method == http.MethodGet {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writes = append(s.writes, Write{time.Now(), r.Method, t.resource.Resource, t.namespace, t.name})
}

// answer does what is asked about one object.
func (s *Server) answer(r *http.Request, t target, c *collection) (runtime.Object, error) {
	switch {
	case t.resource.Resource == "selfsubjectaccessreviews" && r.Method == http.MethodPost:
		return granted(r)
	case t.resource.Resource == "events" && r.Method == http.MethodPost:
		return decode(r)
	case c == s.leases && r.Method == http.MethodPost:
		return s.createLease(r, t)
	case c == s.leases && r.Method == http.MethodPut:
		return s.updateLease(r, t)
	case c == s.leases && r.Method == http.MethodDelete:
		return s.deleteLease(r, t)
	case c == s.pods && r.Method == http.MethodDelete:
		return s.deletePod(r, t)
	case c == s.pods && r.Method == http.MethodPatch:
		return s.touchPod(r, t)
	case c == s.sets && r.Method == http.MethodPatch:
		return s.patchZone(r, t)
	case c != nil && r.Method == http.MethodGet:
		s.mu.Lock()
		defer s.mu.Unlock()
		it, err := s.find(c, t)
		if err != nil {
			return nil, err
		}
		return it.runtimeObject(), nil
	}
	return nil, apierrors.NewNotFound(t.plain(), t.name)
}

// find returns what is named, or an error that says so. Call it locked.
func (s *Server) find(c *collection, t target) (thing, error) {
	it, exists := c.get(t.namespace, t.name)
	if !exists {
		return thing{}, apierrors.NewNotFound(t.plain(), t.name)
	}
	return it, nil
}
