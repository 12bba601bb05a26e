package pools

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"github.com/lockstep-dev/lockstep/internal/cluster/dynamicwatch"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/pool"
)

// againMost is the longest pause before a failed watch is retried.
const againMost = 30 * time.Second

// follow watches the objects until ctx ends, also while the kind does not exist.
func (o *Observer) follow(ctx context.Context) {
	follower := dynamicwatch.Follower{Resource: Resource.GroupResource(), Most: againMost, Log: o.options.Log, Reads: o.reflector, Ended: o.ended}
	if o.options.Namespace == "" {
		follower.Metadata = o.options.Metadata
	}
	follower.Run(ctx)
}

func (o *Observer) reflector() *cache.Reflector {
	objects := o.options.Dynamic.Resource(Resource).Namespace(o.options.Namespace)
	source := cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, l metav1.ListOptions) (runtime.Object, error) { return objects.List(ctx, l) },
		WatchFuncWithContext: func(ctx context.Context, l metav1.ListOptions) (apiwatch.Interface, error) {
			return objects.Watch(ctx, l)
		},
	}, o.options.Dynamic)
	return cache.NewReflectorWithOptions(source, &unstructured.Unstructured{}, store{o}, cache.ReflectorOptions{Name: "statefulclusters"})
}

// ended handles the error that ended the watch. If the kind does not exist, no object exists: lockstep then creates no
// pods and deletes none.
func (o *Observer) ended(err error) (anew bool) {
	if !apierrors.IsNotFound(err) {
		return false
	}
	o.replace(map[plan.Key]pool.Object{}, "")
	return true
}

// replace replaces all objects by those of a list of that version, and returns the former ones. What checks have shown of
// objects that do not exist any more is forgotten.
func (o *Observer) replace(objects map[plan.Key]pool.Object, version string) map[plan.Key]pool.Object {
	o.mu.Lock()
	former := o.objects
	o.objects, o.listed = objects, true
	if at, is := plan.ParseVersion(version); is {
		o.at = at
	}
	o.mu.Unlock()
	for key := range former {
		if objects[key].UID != former[key].UID {
			o.checks.forget(key)
		}
	}
	return former
}

// store writes the objects of the watch into the Observer.
type store struct{ observer *Observer }

// Add implements cache.ReflectorStore.
func (s store) Add(it any) error { return s.put(it) }

// Update implements cache.ReflectorStore.
func (s store) Update(it any) error { return s.put(it) }

// Resync implements cache.ReflectorStore.
func (store) Resync() error { return nil }

func (s store) put(it any) error {
	key, o, err := s.read(it)
	if err != nil {
		return err
	}
	s.observer.mu.Lock()
	s.observer.objects[key], s.observer.at = o, max(s.observer.at, o.Version)
	s.observer.mu.Unlock()
	s.observer.options.Changed(key)
	return nil
}

// Delete implements cache.ReflectorStore.
func (s store) Delete(it any) error {
	key, o, err := s.read(it)
	if err != nil {
		return err
	}
	s.observer.mu.Lock()
	delete(s.observer.objects, key)
	s.observer.at = max(s.observer.at, o.Version)
	s.observer.mu.Unlock()
	s.observer.checks.forget(key)
	s.observer.options.Changed(key)
	return nil
}

// Replace implements cache.ReflectorStore with the list of all objects.
func (s store) Replace(all []any, version string) error {
	objects := map[plan.Key]pool.Object{}
	for _, it := range all {
		key, o, err := s.read(it)
		if err != nil {
			return err
		}
		objects[key] = o
	}
	former := s.observer.replace(objects, version)
	for _, keys := range []map[plan.Key]pool.Object{former, objects} {
		for key := range keys {
			s.observer.options.Changed(key)
		}
	}
	return nil
}

func (s store) read(it any) (plan.Key, pool.Object, error) {
	u, is := it.(*unstructured.Unstructured)
	if !is {
		return plan.Key{}, pool.Object{}, fmt.Errorf("cache StatefulCluster: unexpected %T", it)
	}
	return KeyOf(u.GetNamespace(), u.GetName()), objectOf(u), nil
}

// arrange puts pods and claims in the order of their names.
func arrange(s *pool.Snapshot) {
	slices.SortFunc(s.Pods, func(a, b pool.Pod) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(s.Claims, func(a, b pool.Claim) int { return cmp.Compare(a.Name, b.Name) })
}
