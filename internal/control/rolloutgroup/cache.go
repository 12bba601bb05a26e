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

// Resource is what serves the objects.
var Resource = schema.GroupVersionResource{Group: v1alpha1.GroupName, Version: "v1alpha1", Resource: "rolloutgroups"}

// Name is that of an object in its namespace.
type Name struct{ Namespace, Object string }

// String returns namespace/name.
func (n Name) String() string { return n.Namespace + "/" + n.Object }

// object is what is kept of a RolloutGroup.
type object struct {
	uid        types.UID
	version    plan.Version
	generation int64
	group      string
	leaving    bool
	status     v1alpha1.RolloutGroupStatus
}

// CacheOptions say what is watched. All are required but Namespace.
type CacheOptions struct {
	Client    dynamic.Interface  // nobody is alarmed by what it is refused
	Metadata  metadata.Interface // the same, for the CRD
	Namespace string             // the only one that counts; empty: all, and the CRD is watched
	Log       logrus.FieldLogger
}

// Cache knows the RolloutGroups that lockstep made. Make one with NewCache and run it;
// its other methods may be called from any goroutine.
type Cache struct {
	options CacheOptions
	changed func(Name) // an object is another one, or gone
	filled  func()     // all that exist are known

	mu      sync.Mutex
	objects map[Name]object
	present bool // the kind exists, and what exists of it has been read
	said    string
}

// NewCache returns a Cache that knows nothing yet.
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

// In returns the objects that are known of a namespace, to be looked at once it opts in.
func (b *Cache) In(namespace string) []Name {
	return slices.DeleteFunc(b.names(), func(n Name) bool { return n.Namespace != namespace })
}

func nameOf(u *unstructured.Unstructured) Name { return Name{u.GetNamespace(), u.GetName()} }

func objectOf(u *unstructured.Unstructured) object {
	version, _ := plan.ParseVersion(u.GetResourceVersion())
	group, _, _ := unstructured.NestedString(u.Object, "spec", "group")
	return object{
		uid: u.GetUID(), version: version, generation: u.GetGeneration(), group: group, leaving: u.GetDeletionTimestamp() != nil,
		status: statusIn(u.Object["status"]), // at once, since what it was decoded to takes much more memory
	}
}

// statusIn reads a status. One that cannot be read is none: it is written anew.
func statusIn(it any) v1alpha1.RolloutGroupStatus {
	var status v1alpha1.RolloutGroupStatus
	fields, is := it.(map[string]any)
	if !is || runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &status) != nil {
		return v1alpha1.RolloutGroupStatus{}
	}
	return status
}
