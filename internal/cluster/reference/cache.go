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
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

const (
	// mostWatches bounds how many kinds are watched at a time, and mostKinds how many
	// of those that are looked for belong to one namespace.
	mostWatches, mostKinds = 50, 20
	// lingers is for how long a kind is known after the last wish for it.
	lingers = time.Minute
	// readers bounds how many objects of a kind are read at a time.
	readers = 4
	// requestTimeout bounds every single question.
	requestTimeout = 10 * time.Second
	// What fails is tried again after againFirst, then ever more seldom.
	againFirst, againMost = 100 * time.Millisecond, 30 * time.Second
	// keptFor is for how long a number stands that cannot be read again although it
	// may be another one.
	keptFor = time.Minute
	// forbiddenFor is for how long a watch has to last that was forbidden before.
	forbiddenFor = time.Second
	// findsPerSecond bounds how often API groups are asked for their kinds, and
	// readsPerSecond how often a single object is read.
	findsPerSecond, findsAtOnce = 10, 100
	readsPerSecond, readsAtOnce = 3, 5
)

// Options say what can be asked for. All are required but Namespace.
type Options struct {
	Client    kubernetes.Interface
	Metadata  metadata.Interface
	Namespace string // the only one in which anything is wanted; empty: anywhere, and CRDs are watched
	Log       logrus.FieldLogger
}

// Cache knows what is wanted. Make one with New, give it its listener, run it; its
// other methods may be called from any goroutine.
type Cache struct {
	options  Options
	listener func(namespace string, r plan.Reference)
	turns    workqueue.TypedDelayingInterface[turn] // to look for kinds that are due
	finds    *rate.Limiter
	backOff  workqueue.TypedRateLimiter[schema.GroupKind]
	asked    chan struct{} // closed once anything is wanted
	begin    sync.Once
	running  sync.WaitGroup

	mu      sync.Mutex
	known   map[schema.GroupKind]*kind
	shares  map[string]*share
	watches int
}

// kind is what is known of a kind of which objects are wanted, or were until a
// moment ago.
type kind struct {
	trouble   plan.Refusal // why it is not watched; none: it is, or will be
	watch     *watch
	wanted    map[types.NamespacedName]*entry
	paces     map[types.NamespacedName]*rate.Limiter // of objects that were read
	namespace string                                 // in whose share it is
	surplus   bool                                   // it is more than its share allows
	barred    bool                                   // its scales were forbidden
	due       time.Time                              // when to look for it; zero: never
	idle      time.Time                              // since when nobody wants it; zero: somebody does
	looks     int                                    // how many of the looks after a change are over
	redefined bool                                   // its CRD has changed
}

// entry is what is known of an object.
type entry struct {
	scale plan.Scale
	read  string    // the resourceVersion at which it was; empty: it has to be
	newer time.Time // since when it may be another one; zero: it is not
}

var unseen = plan.Refusal{Code: reason.ReferenceNotRead}

// New returns a Cache of which nothing is wanted.
func New(o Options) *Cache {
	return &Cache{
		options:  o,
		listener: func(string, plan.Reference) {},
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

// Listen registers who is told when a scale has changed. Call it before Run.
func (b *Cache) Listen(changed func(namespace string, r plan.Reference)) { b.listener = changed }

// Versions returns up to which version of the cluster the resources are known whose
// objects are wanted, by their names; empty for one that is not.
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

// Run finds and watches what is wanted until ctx ends, and returns when
// everything that it began has stopped.
func (b *Cache) Run(ctx context.Context) {
	b.running.Go(func() {
		for b.lookNext(ctx) {
		}
	})
	if b.options.Namespace == "" {
		b.running.Go(func() { b.watchDefinitions(ctx) })
	}
	<-ctx.Done()
	b.turns.ShutDown()
	b.running.Wait()
}

// Want says whether the replicas of an object are of interest from now on.
func (b *Cache) Want(namespace string, r plan.Reference, wanted bool) {
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
			due: time.Now(), looks: len(looks),
		}
		b.known[name] = k
		b.share(name, k, object.Namespace)
	}
	if k.wanted[object] != nil {
		return
	}
	k.idle = time.Time{}
	k.wanted[object] = &entry{scale: plan.Scale{Trouble: unseen}}
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
		b.turns.AddAfter(turn{k.namespace, name.Group}, lingers)
		return
	}
	b.leave(name, k, object.Namespace)
}

// remind lets a kind be looked for when it is due.
func (b *Cache) remind(name schema.GroupKind, k *kind) {
	if !k.due.IsZero() {
		b.turns.AddAfter(turn{k.namespace, name.Group}, time.Until(k.due))
	}
}

// end stops the watch of a kind, if there is one.
func (b *Cache) end(k *kind) {
	if k.watch != nil {
		k.watch.stop()
		k.watch = nil
		b.watches--
	}
}

// Scale returns what is known of an object, and whether its status can be told how
// many replicas there are. It makes no request.
func (b *Cache) Scale(namespace string, r plan.Reference) (scale plan.Scale, reports bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	k, e := b.entry(namespace, r)
	if e == nil {
		return plan.Scale{Trouble: unseen}, false
	}
	scale = e.scale
	if !k.trouble.None() {
		scale.Trouble = k.trouble
	}
	return scale, k.watch != nil && k.watch.resource.reports
}

// Resource returns what serves the kind of a reference.
func (b *Cache) Resource(r plan.Reference) (schema.GroupVersionResource, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	k := b.known[kindOf(r)]
	if k == nil || k.watch == nil {
		return schema.GroupVersionResource{}, false
	}
	return k.watch.resource.GroupVersionResource, true
}

// Reported remembers what this process wrote into the status of an object, or could
// not write. What was written counts at once, unless something later was read already.
func (b *Cache) Reported(namespace string, report plan.ReportReplicas, written plan.Report) {
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

func (b *Cache) entry(namespace string, r plan.Reference) (*kind, *entry) {
	k := b.known[kindOf(r)]
	if k == nil {
		return nil, nil
	}
	return k, k.wanted[types.NamespacedName{Namespace: namespace, Name: r.Name}]
}

// tell tells the listener of objects whose scale has changed. Nothing is locked
// meanwhile.
func (b *Cache) tell(name schema.GroupKind, objects ...types.NamespacedName) {
	for _, object := range objects {
		b.listener(object.Namespace, referenceTo(name, object))
	}
}

func kindOf(r plan.Reference) schema.GroupKind {
	return schema.GroupKind{Group: r.APIGroup, Kind: r.Kind}
}

func referenceTo(name schema.GroupKind, object types.NamespacedName) plan.Reference {
	return plan.Reference{APIGroup: name.Group, Kind: name.Kind, Name: object.Name}
}
