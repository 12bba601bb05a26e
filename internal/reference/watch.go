package reference

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

// watch follows the metadata of one resource and reads the scales of those of its
// objects that are wanted.
type watch struct {
	book     *Book
	kind     schema.GroupKind
	resource resource
	informer cache.SharedIndexInformer
	handler  cache.ResourceEventHandlerRegistration
	queue    workqueue.TypedRateLimitingInterface[types.NamespacedName] // to be read
	stop     context.CancelFunc
	began    time.Time
	filled   atomic.Bool // what the informer does not show does not exist
}

// start begins to watch a resource, until it is stopped or ctx ends.
func (b *Book) start(ctx context.Context, name schema.GroupKind, r resource) *watch {
	ctx, stop := context.WithCancel(ctx)
	w := &watch{
		book: b, kind: name, resource: r, stop: stop, began: time.Now(),
		informer: b.informer(r.GroupVersionResource, b.options.Namespace),
		queue:    workqueue.NewTypedRateLimitingQueue(backOff[types.NamespacedName]()),
	}
	w.handler = listen(w.informer, w.changed)
	must(w.informer.SetWatchErrorHandlerWithContext(w.failed))
	b.running.Go(func() { w.run(ctx) })
	return w
}

func (w *watch) run(ctx context.Context) {
	var parts sync.WaitGroup
	parts.Go(func() { w.informer.RunWithContext(ctx) })
	parts.Go(func() {
		if cache.WaitFor(ctx, "", w.handler.HasSyncedChecker()) && w.book.lasts(ctx, w) {
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
	w.queue.ShutDown()
	parts.Wait()
}

// complete looks at everything that is wanted, once all that exists has been seen.
func (w *watch) complete() {
	w.filled.Store(true)
	for _, object := range w.book.complete(w) {
		w.queue.Add(object)
	}
}

func (w *watch) changed(r *record) {
	if object := r.object(); w.book.isWanted(w, object) {
		w.queue.Add(object)
	}
}

// failed hears why the API server ended or refused the watch.
func (w *watch) failed(ctx context.Context, r *cache.Reflector, err error) {
	switch {
	case ctx.Err() != nil:
	case apierrors.IsNotFound(err):
		w.book.lost(w, unknown(w.kind, "it is served no more"))
	case apierrors.IsForbidden(err), !w.filled.Load():
		w.book.lost(w, failing(err, "list and watch "+w.resource.GroupResource().String()))
	default: // what is known goes on
		cache.DefaultWatchErrorHandler(ctx, r, err)
	}
}

// informer returns one that keeps of each object of a resource that it exists, and
// at which version.
func (b *Book) informer(r schema.GroupVersionResource, namespace string) cache.SharedIndexInformer {
	informer := metadatainformer.NewFilteredMetadataInformer(b.options.Metadata, r, namespace, 0, cache.Indexers{}, nil).Informer()
	must(informer.SetTransform(trim))
	return informer
}

// listen calls a function with each object that comes, changes or goes.
func listen(informer cache.SharedIndexInformer, changed func(*record)) cache.ResourceEventHandlerRegistration {
	concern := func(object any) {
		if gone, ok := object.(cache.DeletedFinalStateUnknown); ok {
			object = gone.Obj
		}
		if r, ok := object.(*record); ok {
			changed(r)
		}
	}
	registration, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: concern, UpdateFunc: func(_, after any) { concern(after) }, DeleteFunc: concern,
	})
	must(err)
	return registration
}

// must is for what only an informer refuses that runs already.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

// record is what is kept of an object.
type record struct{ namespace, name, uid, version string }

func (r *record) object() types.NamespacedName {
	return types.NamespacedName{Namespace: r.namespace, Name: r.name}
}

// GetObjectMeta implements metav1.ObjectMetaAccessor, which is what a cache asks of
// its objects.
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
