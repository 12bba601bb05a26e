package rolloutgroup

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"

	"github.com/lockstep-dev/lockstep/internal/contract"
)

// What fails is tried again after againFirst, then ever more seldom.
const againFirst, againMost = 100 * time.Millisecond, time.Minute

var definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// follow watches the objects until ctx ends, whatever becomes of their kind.
func (b *Book) follow(ctx context.Context) {
	reflector, pause := b.reflector(), againFirst
	for ctx.Err() == nil {
		began := time.Now()
		err := reflector.ListAndWatchWithContext(ctx)
		if ctx.Err() == nil && b.lost(err) {
			reflector = b.reflector() // whose first list asks for no version of what was before
		}
		if time.Since(began) > 2*againMost {
			pause = againFirst // it had gone well
		}
		if b.rest(ctx, pause) {
			pause = againFirst
		} else {
			pause = min(2*pause, againMost)
		}
	}
}

// rest waits until it is time to try again, and returns whether the CRD has changed
// meanwhile.
func (b *Book) rest(ctx context.Context, pause time.Duration) (poked bool) {
	const spread = 0.2
	rest := time.NewTimer(wait.Jitter(pause, spread))
	defer rest.Stop()
	select {
	case <-rest.C:
	case <-b.poked:
		return true
	case <-ctx.Done():
	}
	return false
}

func (b *Book) reflector() *cache.Reflector {
	objects := b.options.Client.Resource(Resource).Namespace(b.options.Namespace)
	selector := labels.Set{contract.ManagedByLabel: contract.ManagedBy}.String()
	source := cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			o.LabelSelector = selector
			return objects.List(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (apiwatch.Interface, error) {
			o.LabelSelector = selector
			return objects.Watch(ctx, o)
		},
	}, b.options.Client)
	return cache.NewReflectorWithOptions(source, &unstructured.Unstructured{}, store{b}, cache.ReflectorOptions{Name: "rolloutgroups"})
}

// lost hears why the objects are not watched any more, and returns whether that is
// since there is no such kind, or it is not shown: then nothing is known of any.
func (b *Book) lost(err error) bool {
	absent, hidden := apierrors.IsNotFound(err), apierrors.IsForbidden(err)
	if !absent && !hidden {
		return false // it is watched again at once
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.present = false
	clear(b.objects)
	switch {
	case absent:
		b.say("absent", func() { b.options.Log.Info("there is no kind RolloutGroup, so no group is shown in one") })
	case hidden:
		b.say("hidden", func() { b.options.Log.WithError(err).Warn("RolloutGroups cannot be read, so no group is shown in one") })
	}
	return true
}

// say logs what is another state than the one before. Call it locked.
func (b *Book) say(what string, log func()) {
	if b.said != what {
		b.said = what
		log()
	}
}

// watchDefinition lets the objects be looked for at once when their CRD comes,
// changes or goes.
func (b *Book) watchDefinition(ctx context.Context) {
	informer := metadatainformer.NewFilteredMetadataInformer(
		b.options.Metadata, definitions, "", 0, cache.Indexers{},
		func(l *metav1.ListOptions) {
			l.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, Resource.GroupResource().String()).String()
		},
	).Informer()
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { b.poke() }, UpdateFunc: func(_, _ any) { b.poke() }, DeleteFunc: func(any) { b.poke() },
	})
	if err != nil {
		b.options.Log.WithError(err).Error("the CRD of RolloutGroups cannot be watched") // only an informer says so that runs already
		return
	}
	informer.RunWithContext(ctx)
}

func (b *Book) poke() {
	select {
	case b.poked <- struct{}{}:
	default: // it is
	}
}
