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

// againMost is the longest pause before a failed watch is retried.
const againMost = time.Minute

// Run watches until ctx ends, even while the kind does not exist. It returns after all goroutines
// that it started have ended.
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

// lost handles the error that ended the watch. If the kind does not exist or cannot be read, it
// drops all objects and returns true.
func (b *Cache) lost(err error) bool {
	absent, hidden := apierrors.IsNotFound(err), apierrors.IsForbidden(err)
	if !absent && !hidden {
		return false // the watch is restarted at once
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.present = false
	clear(b.objects)
	switch {
	case absent:
		b.logState("absent", func() { b.options.Log.Info("the kind RolloutGroup does not exist, so no group is shown in one") })
	case hidden:
		b.logState("hidden", func() { b.options.Log.WithError(err).Warn("RolloutGroups cannot be read, so no group is shown in one") })
	}
	return true
}

// logState logs a new state of the watch. Callers hold the lock.
func (b *Cache) logState(what string, log func()) {
	if b.loggedState != what {
		b.loggedState = what
		log()
	}
}
