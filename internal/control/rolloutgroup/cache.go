package rolloutgroup

import (
	"maps"
	"slices"
	"sync"

	"github.com/sirupsen/logrus"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"

	"github.com/lockstep-dev/lockstep/internal/api/lockstep/v1alpha1"
	"github.com/lockstep-dev/lockstep/internal/plan"
)

// Resource is the resource of RolloutGroups.
var Resource = schema.GroupVersionResource{Group: v1alpha1.GroupName, Version: "v1alpha1", Resource: "rolloutgroups"}

// Name is the name of a RolloutGroup with its namespace.
type Name struct{ Namespace, Object string }

// String returns namespace/name.
func (n Name) String() string { return n.Namespace + "/" + n.Object }

// object is the cached part of a RolloutGroup.
type object struct {
	uid        types.UID
	version    plan.Version
	generation int64
	group      string
	leaving    bool
	status     v1alpha1.RolloutGroupStatus
}

// CacheOptions configure a Cache. All are required but Namespace.
type CacheOptions struct {
	Client    dynamic.Interface  // its refusals raise no alarm
	Metadata  metadata.Interface // likewise; reads the CRD
	Namespace string             // the only managed namespace; if empty, all namespaces and the CRD are watched
	Log       logrus.FieldLogger
}

// Cache contains the RolloutGroups that lockstep created. Callers create it with NewCache and call
// Run. Its other methods are safe for concurrent use.
type Cache struct {
	options CacheOptions
	changed func(Name) // called after an object has changed or was deleted
	filled  func()     // called after all objects have been listed

	mu          sync.Mutex
	objects     map[Name]object
	present     bool // the kind exists, and its objects have been listed
	loggedState string
}

// NewCache returns an empty Cache.
func NewCache(o CacheOptions) *Cache {
	return &Cache{
		options: o, changed: func(Name) {}, filled: func() {}, objects: map[Name]object{},
	}
}

// Present reports whether the kind exists and can be read.
func (b *Cache) Present() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.present
}

func (b *Cache) object(n Name) (object, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	o, exists := b.objects[n]
	return o, exists
}

func (b *Cache) names() []Name {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Collect(maps.Keys(b.objects))
}

// In returns the known objects of a namespace. They are reconciled when the namespace opts in.
func (b *Cache) In(namespace string) []Name {
	return slices.DeleteFunc(b.names(), func(n Name) bool { return n.Namespace != namespace })
}

func nameOf(u *unstructured.Unstructured) Name { return Name{u.GetNamespace(), u.GetName()} }

func objectOf(u *unstructured.Unstructured) object {
	version, _ := plan.ParseVersion(u.GetResourceVersion())
	group, _, _ := unstructured.NestedString(u.Object, "spec", "group")
	return object{
		uid: u.GetUID(), version: version, generation: u.GetGeneration(), group: group, leaving: u.GetDeletionTimestamp() != nil,
		status: statusIn(u.Object["status"]), // decoded at once, because the unstructured form takes much more memory
	}
}

// statusIn decodes a status. An invalid status counts as an empty one, so that it is overwritten.
func statusIn(it any) v1alpha1.RolloutGroupStatus {
	var status v1alpha1.RolloutGroupStatus
	fields, is := it.(map[string]any)
	if !is || runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &status) != nil {
		return v1alpha1.RolloutGroupStatus{}
	}
	return status
}
