package reference

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"github.com/lockstep-dev/lockstep/internal/cluster/dynamicwatch"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// watch watches the metadata of one resource and reads the scales of wanted objects.
type watch struct {
	cache          *Cache
	kind           schema.GroupKind
	resource       resource
	informer       cache.SharedIndexInformer
	handler        cache.ResourceEventHandlerRegistration
	queue          workqueue.TypedDelayingInterface[types.NamespacedName] // to be read
	backOff        workqueue.TypedRateLimiter[types.NamespacedName]
	stop           context.CancelFunc
	began          time.Time
	heartbeatTimer *time.Timer // ends the watch after a time without heartbeats
	filled         atomic.Bool // the initial list is complete

	failing     atomic.Int64 // since when list and watch fail, in Unix nanoseconds; 0: they do not
	ownVersions atomic.Bool  // the versions of scales are not those of objects
}

// start watches a resource until it is stopped or ctx ends.
func (b *Cache) start(ctx context.Context, name schema.GroupKind, r resource) *watch {
	ctx, stop := context.WithCancel(ctx)
	w := &watch{
		cache: b, kind: name, resource: r, stop: stop, began: time.Now(),
		queue: fair(func(object types.NamespacedName) string { return object.Namespace }), backOff: backOff[types.NamespacedName](),
	}
	w.heartbeatTimer = time.AfterFunc(dynamicwatch.SilentFor, w.endSilent)
	w.informer = b.informer(r.GroupVersionResource, b.options.Namespace, w.listed, w.recordSuccess)
	w.handler = listen(w.informer, w.changed)
	must(w.informer.SetWatchErrorHandlerWithContext(w.failed))
	b.running.Go(func() { w.run(ctx) })
	return w
}

func (w *watch) run(ctx context.Context) {
	var parts sync.WaitGroup
	parts.Go(func() { w.informer.RunWithContext(ctx) })
	parts.Go(func() {
		if cache.WaitFor(ctx, "", w.handler.HasSyncedChecker()) && w.cache.waitUntilStable(ctx, w) {
			w.complete()
		}
	})
	for range readers {
		parts.Go(func() {
			for w.readNext(ctx) {
			}
		})
	}
	<-ctx.Done()
	w.heartbeatTimer.Stop()
	w.queue.ShutDown()
	parts.Wait()
}

// complete queues all wanted objects after the initial list.
func (w *watch) complete() {
	w.filled.Store(true)
	for _, object := range w.cache.complete(w) {
		w.queue.Add(object)
	}
}

// recordSuccess records that the watch follows the API server.
func (w *watch) recordSuccess() {
	w.failing.Store(0)
	w.heartbeatTimer.Reset(dynamicwatch.SilentFor)
}

// endSilent ends a watch without heartbeats. client-go retries some failures without calling the error
// handler.
func (w *watch) endSilent() {
	because := fmt.Sprintf("the API server has sent nothing about %s for %s", w.resource.GroupResource(), dynamicwatch.SilentFor)
	w.cache.lost(w, plan.Refusal{Code: reason.RequestFailing, Detail: because})
}

func (w *watch) listed() {
	w.recordSuccess()
	w.ownVersions.Store(false)
	w.cache.listed(w)
}

func (w *watch) changed(r *record) {
	if object := r.object(); w.cache.isWanted(w, object) {
		w.queue.Add(object)
	}
}

// failed handles the error that ended or refused the watch.
func (w *watch) failed(ctx context.Context, _ *cache.Reflector, err error) {
	w.failing.CompareAndSwap(0, time.Now().UnixNano())
	switch {
	case ctx.Err() != nil:
	case apierrors.IsNotFound(err):
		w.cache.lost(w, unknown(w.kind, "it is no longer served"))
	case apierrors.IsForbidden(err), !w.filled.Load(), time.Since(time.Unix(0, w.failing.Load())) >= validFor:
		w.cache.lost(w, failing(err, "list and watch "+w.resource.GroupResource().String()))
	default: // the known scales stay valid
		w.cache.options.Log.WithError(err).Debug("a watch goes on after an error")
	}
}

// informer returns an informer that caches only the version of each object. It calls listed after
// each complete list, and heartbeat for each heartbeat of a watch.
func (b *Cache) informer(r schema.GroupVersionResource, namespace string, listed, heartbeat func()) cache.SharedIndexInformer {
	objects := b.options.Metadata.Resource(r).Namespace(namespace)
	informer := cache.NewSharedIndexInformer(cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			list, err := objects.List(ctx, o)
			if err == nil {
				listed()
			}
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (apiwatch.Interface, error) {
			events, err := objects.Watch(ctx, dynamicwatch.ShortWatch(o))
			if err != nil {
				return nil, err
			}
			return dynamicwatch.WithHeartbeats(events, o, listed, heartbeat), nil
		},
	}, b.options.Metadata), &metav1.PartialObjectMetadata{}, 0, cache.Indexers{})
	must(informer.SetTransform(trim))
	return informer
}

// listen calls a function for each object that is added, changed or deleted.
func listen(informer cache.SharedIndexInformer, changed func(*record)) cache.ResourceEventHandlerRegistration {
	concern := func(object any) {
		if r, ok := final(object).(*record); ok {
			changed(r)
		}
	}
	registration, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: concern, UpdateFunc: func(_, after any) { concern(after) }, DeleteFunc: concern,
	})
	must(err)
	return registration
}

// final returns the last known state of a deleted object.
func final(object any) any {
	if gone, ok := object.(cache.DeletedFinalStateUnknown); ok {
		return gone.Obj
	}
	return object
}

// must panics on errors that only running informers return.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

// record is the cached part of an object.
type record struct{ namespace, name, uid, version string }

func (r *record) object() types.NamespacedName {
	return types.NamespacedName{Namespace: r.namespace, Name: r.name}
}

// GetObjectMeta implements metav1.ObjectMetaAccessor, which the cache requires of its
// objects.
func (r *record) GetObjectMeta() metav1.Object {
	return &metav1.ObjectMeta{Namespace: r.namespace, Name: r.name, UID: types.UID(r.uid), ResourceVersion: r.version}
}

func trim(object any) (any, error) {
	switch o := object.(type) {
	case *metav1.PartialObjectMetadata:
		return &record{o.Namespace, o.Name, string(o.UID), o.ResourceVersion}, nil
	case *record, cache.DeletedFinalStateUnknown:
		return object, nil
	}
	return nil, fmt.Errorf("trim metadata: unexpected %T", object)
}
