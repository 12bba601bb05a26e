package reference

import (
	"context"
	"sync"
	"time"

	"github.com/sirupsen/logrus"
	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/util/workqueue"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

const (
	// maxWatches is the maximum number of watched kinds, and maxKinds the maximum number of kinds
	// of one namespace.
	maxWatches, maxKinds = 50, 20
	// idleTimeout is how long a kind is kept after its last object is no longer wanted.
	idleTimeout = time.Minute
	// readers is the maximum number of concurrent reads of a kind's objects.
	readers = 4
	// requestTimeout limits every request.
	requestTimeout = 10 * time.Second
	// againFirst is the first pause after a failure. Further failures double it up to againMost.
	againFirst, againMost = 100 * time.Millisecond, 30 * time.Second
	// validFor is how long a number of replicas stays valid that may have changed and cannot be
	// read again.
	validFor = time.Minute
	// forbiddenFor is how long a watch that was forbidden before must last to count.
	forbiddenFor = time.Second
	// findsPerSecond limits discovery requests for API groups, and readsPerSecond limits the
	// reads of a single object.
	findsPerSecond, findsAtOnce = 10, 100
	readsPerSecond, readsAtOnce = 3, 5
)

// Options configure a Cache. All are required but Namespace.
type Options struct {
	Client    kubernetes.Interface
	Metadata  metadata.Interface
	Namespace string // the only namespace; if empty, all namespaces, and CRDs are watched
	Log       logrus.FieldLogger
}

// Cache contains the scales of wanted objects. Callers create it with New, set its listener and
// call Run. Its other methods are safe for concurrent use.
type Cache struct {
	options  Options
	listener func(namespace string, r group.Reference)
	turns    workqueue.TypedDelayingInterface[turn] // when kinds are due for discovery
	finds    *rate.Limiter
	backOff  workqueue.TypedRateLimiter[schema.GroupKind]
	asked    chan struct{} // closed when the first object is wanted
	begin    sync.Once
	running  sync.WaitGroup

	mu      sync.Mutex
	known   map[schema.GroupKind]*kind
	shares  map[string]*share
	watches int
}

// kind is the state of a kind. It exists while an object of the kind is wanted, and shortly
// afterwards.
type kind struct {
	trouble         plan.Refusal // why it is not watched; none if it is or will be
	watch           *watch
	wanted          map[types.NamespacedName]*entry
	paces           map[types.NamespacedName]*rate.Limiter // for the reads of objects
	namespace       string                                 // the namespace whose share contains it
	surplus         bool                                   // it exceeds the limit of its share
	scalesForbidden bool                                   // reading its scales was forbidden
	due             time.Time                              // the time of the next discovery; zero: none
	idle            time.Time                              // since when no object is wanted; zero: some are
	rediscoveries   int                                    // number of discoveries since the last change of a CRD
	redefined       bool                                   // its CRD has changed
}

// entry is the state of an object.
type entry struct {
	scale group.Scale
	read  string    // the resourceVersion of the last read; empty: it must be read
	newer time.Time // since when it may have changed; zero: it has not
}

var notRead = plan.Refusal{Code: reason.ReferenceNotRead}

// New returns a Cache without wanted objects.
func New(o Options) *Cache {
	return &Cache{
		options:  o,
		listener: func(string, group.Reference) {},
		turns:    fair(func(t turn) string { return t.namespace }),
		finds:    rate.NewLimiter(findsPerSecond, findsAtOnce),
		backOff:  backOff[schema.GroupKind](),
		asked:    make(chan struct{}),
		known:    map[schema.GroupKind]*kind{},
		shares:   map[string]*share{},
	}
}

// fair returns a queue in which namespaces take turns.
func fair[T comparable](namespace func(T) string) workqueue.TypedDelayingInterface[T] {
	return workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[T]{
		Queue: workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[T]{Queue: newFairQueue(namespace)}),
	})
}

func backOff[T comparable]() workqueue.TypedRateLimiter[T] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[T](againFirst, againMost)
}

// Listen registers a function that is called when a scale has changed. Call it before Run.
func (b *Cache) Listen(changed func(namespace string, r group.Reference)) { b.listener = changed }

// Versions returns the resourceVersions up to which the watched resources are known, by resource.
// An unknown version is empty.
func (b *Cache) Versions() map[string]string {
	b.mu.Lock()
	defer b.mu.Unlock()
	versions := map[string]string{}
	for _, k := range b.known {
		if k.watch != nil {
			versions[k.watch.resource.GroupResource().String()] = k.watch.informer.GetStore().LastStoreSyncResourceVersion()
		}
	}
	return versions
}

// Run discovers and watches wanted kinds until ctx ends. It returns after all goroutines that it
// started have ended.
func (b *Cache) Run(ctx context.Context) {
	b.running.Go(func() {
		for b.discoverNext(ctx) {
		}
	})
	if b.options.Namespace == "" {
		b.running.Go(func() { b.watchDefinitions(ctx) })
	}
	<-ctx.Done()
	b.turns.ShutDown()
	b.running.Wait()
}

// Want sets whether the replicas of an object are wanted from now on.
func (b *Cache) Want(namespace string, r group.Reference, wanted bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	name, object := kindOf(r), types.NamespacedName{Namespace: namespace, Name: r.Name}
	if wanted {
		b.begin.Do(func() { close(b.asked) })
		b.want(name, object)
	} else {
		b.drop(name, object)
	}
}

func (b *Cache) want(name schema.GroupKind, object types.NamespacedName) {
	k := b.known[name]
	if k == nil {
		k = &kind{
			wanted: map[types.NamespacedName]*entry{}, paces: map[types.NamespacedName]*rate.Limiter{},
			due: time.Now(), rediscoveries: len(rediscoveries),
		}
		b.known[name] = k
		b.share(name, k, object.Namespace)
	}
	if k.wanted[object] != nil {
		return
	}
	k.idle = time.Time{}
	k.wanted[object] = &entry{scale: group.Scale{Trouble: notRead}}
	b.adopt(name, k, object.Namespace)
	if k.watch != nil {
		k.watch.queue.Add(object)
	}
	b.remind(name, k)
}

func (b *Cache) drop(name schema.GroupKind, object types.NamespacedName) {
	k := b.known[name]
	if k == nil || k.wanted[object] == nil {
		return
	}
	delete(k.wanted, object)
	if len(k.wanted) == 0 {
		k.idle = time.Now()
		b.turns.AddAfter(turn{k.namespace, name.Group}, idleTimeout)
		return
	}
	b.leave(name, k, object.Namespace)
}

// remind queues the next discovery of a kind.
func (b *Cache) remind(name schema.GroupKind, k *kind) {
	if !k.due.IsZero() {
		b.turns.AddAfter(turn{k.namespace, name.Group}, time.Until(k.due))
	}
}

// end stops the watch of a kind, if it has one.
func (b *Cache) end(k *kind) {
	if k.watch != nil {
		k.watch.stop()
		k.watch = nil
		b.watches--
	}
}

// Scale returns the known scale of an object, and whether the status of the object can be
// written. It makes no request.
func (b *Cache) Scale(namespace string, r group.Reference) (scale group.Scale, reports bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	k, e := b.entry(namespace, r)
	if e == nil {
		return group.Scale{Trouble: notRead}, false
	}
	scale = e.scale
	if !k.trouble.None() {
		scale.Trouble = k.trouble
	}
	return scale, k.watch != nil && k.watch.resource.reports
}

// Resource returns the resource of a reference's kind.
func (b *Cache) Resource(r group.Reference) (schema.GroupVersionResource, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	k := b.known[kindOf(r)]
	if k == nil || k.watch == nil {
		return schema.GroupVersionResource{}, false
	}
	return k.watch.resource.GroupVersionResource, true
}

// Reported records a write of this process to the status of an object, or its failure. A write
// counts at once, unless a later version has been read.
func (b *Cache) Reported(namespace string, report group.ReportReplicas, written group.Report) {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, e := b.entry(namespace, report.Reference)
	if e == nil || e.scale.UID != report.UID {
		return
	}
	e.scale.Written = written
	if e.scale.Version == report.Version && !written.Failed {
		e.scale.Reported = written.Replicas
	}
}

func (b *Cache) entry(namespace string, r group.Reference) (*kind, *entry) {
	k := b.known[kindOf(r)]
	if k == nil {
		return nil, nil
	}
	return k, k.wanted[types.NamespacedName{Namespace: namespace, Name: r.Name}]
}

// notifyListener calls the listener for objects whose scale has changed. Callers do not hold the
// lock.
func (b *Cache) notifyListener(name schema.GroupKind, objects ...types.NamespacedName) {
	for _, object := range objects {
		b.listener(object.Namespace, referenceTo(name, object))
	}
}

func kindOf(r group.Reference) schema.GroupKind {
	return schema.GroupKind{Group: r.APIGroup, Kind: r.Kind}
}

func referenceTo(name schema.GroupKind, object types.NamespacedName) group.Reference {
	return group.Reference{APIGroup: name.Group, Kind: name.Kind, Name: object.Name}
}
