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

// Server is the stand-in. New returns one. Its methods may be called concurrently.
type Server struct {
	world              World
	managed, unmanaged []Group

	mu          sync.Mutex
	version     uint64
	namespaces  *collection
	sets        *collection
	pods        *collection
	leases      *collection
	definitions *collection // always empty
	writes      []Write
	replacing   sync.WaitGroup // pods that are being replaced
}

// Write is a request to change something.
type Write struct {
	At                              time.Time // when it arrived
	Verb, Resource, Namespace, Name string
}

// New returns a server with the objects of a world.
func New(w World) *Server {
	s := &Server{
		world: w,
		namespaces: newCollection(resource{corev1.SchemeGroupVersion,
			func() runtime.Object { return &corev1.Namespace{} }, func() runtime.Object { return &corev1.NamespaceList{} }}),
		sets: newCollection(resource{appsv1.SchemeGroupVersion,
			func() runtime.Object { return &appsv1.StatefulSet{} }, func() runtime.Object { return &appsv1.StatefulSetList{} }}),
		pods: newCollection(resource{corev1.SchemeGroupVersion,
			func() runtime.Object { return &corev1.Pod{} }, func() runtime.Object { return &corev1.PodList{} }}),
		leases: newCollection(resource{coordinationv1.SchemeGroupVersion,
			func() runtime.Object { return &coordinationv1.Lease{} }, func() runtime.Object { return &coordinationv1.LeaseList{} }}),
		definitions: newCollection(resource{metav1.SchemeGroupVersion,
			func() runtime.Object { return &metav1.PartialObjectMetadata{} }, func() runtime.Object { return &metav1.PartialObjectMetadataList{} }}),
	}
	s.populate()
	return s
}

// Managed returns the groups in namespaces that opted in.
func (s *Server) Managed() []Group { return s.managed }

// Unmanaged returns the groups in the namespace that did not opt in.
func (s *Server) Unmanaged() []Group { return s.unmanaged }

// FirstWrite returns the first write in a namespace since a time. Events do not count.
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

// nextVersion returns a new version. The caller holds the lock, or no request is served yet.
func (s *Server) nextVersion() uint64 {
	s.version++
	return s.version
}

// collection returns the collection of a resource.
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

// target is the resource or object in the path of a request.
type target struct {
	resource                     schema.GroupVersionResource
	namespace, name, subresource string
}

func (t target) groupResource() schema.GroupResource { return t.resource.GroupResource() }

// targetOf parses /api/v1/... and /apis/GROUP/VERSION/..., with and without a namespace.
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
	s.recordWrite(r, t)
	c, known := s.collection(t)
	if r.Method == http.MethodGet && known && t.name == "" {
		s.read(w, r, t, c)
		return
	}
	object, err := s.handleObject(r, t, c)
	if err != nil {
		replyError(w, r, err)
		return
	}
	reply(w, r, http.StatusOK, object)
}

func (s *Server) recordWrite(r *http.Request, t target) {
	if r.Method == http.MethodGet {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writes = append(s.writes, Write{time.Now(), r.Method, t.resource.Resource, t.namespace, t.name})
}

// handleObject handles a request for one object.
func (s *Server) handleObject(r *http.Request, t target, c *collection) (runtime.Object, error) {
	switch {
	case t.resource.Resource == "selfsubjectaccessreviews" && r.Method == http.MethodPost:
		return allowAccess(r)
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
		return s.patchPod(r, t)
	case c == s.sets && r.Method == http.MethodPatch:
		return s.patchStatefulSet(r, t)
	case c != nil && r.Method == http.MethodGet:
		s.mu.Lock()
		defer s.mu.Unlock()
		object, err := s.find(c, t)
		if err != nil {
			return nil, err
		}
		return object.runtimeObject(), nil
	}
	return nil, apierrors.NewNotFound(t.groupResource(), t.name)
}

// find returns the object of a target, or a NotFound error. The caller holds the lock.
func (s *Server) find(c *collection, t target) (storedObject, error) {
	object, exists := c.get(t.namespace, t.name)
	if !exists {
		return storedObject{}, apierrors.NewNotFound(t.groupResource(), t.name)
	}
	return object, nil
}
