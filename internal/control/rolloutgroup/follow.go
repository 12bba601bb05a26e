package rolloutgroup

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"github.com/lockstep-dev/lockstep/internal/cluster/dynamicwatch"
	"github.com/lockstep-dev/lockstep/internal/contract"
)

// againMost is the longest pause before what fails is tried again.
const againMost = time.Minute

// Run watches until ctx ends, whatever becomes of the kind, and returns when everything
// that it began has stopped.
func (b *Cache) Run(ctx context.Context) {
	follower := dynamicwatch.Follower{Resource: Resource.GroupResource(), Most: againMost, Log: b.options.Log, Reads: b.reflector, Ended: b.lost}
	if b.options.Namespace == "" {
		follower.Metadata = b.options.Metadata
	}
	follower.Run(ctx)
}

func (b *Cache) reflector() *cache.Reflector {
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
func (b *Cache) lost(err error) bool {
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
func (b *Cache) say(what string, log func()) {
	if b.said != what {
		b.said = what
		log()
	}
}
