package budgets

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"github.com/lockstep-dev/lockstep/internal/cluster/dynamicwatch"
)

var (
	errNotRead = errors.New("the budgets for evictions have not been read yet")
	errSilent  = fmt.Errorf("the budgets for evictions are not known: the API server has sent nothing about them for %s", dynamicwatch.SilentFor)
)

// Run watches until ctx ends, even while the kind does not exist. It returns after all goroutines
// that it started have ended.
func (b *Cache) Run(ctx context.Context) {
	follower := dynamicwatch.Follower{
		Resource: Resource.GroupResource(), Most: againMost, Log: b.options.Log, Reads: b.reflector,
		Ended: func(err error) bool { return apierrors.IsNotFound(err) && b.kindMissing() },
	}
	if b.options.Namespace == "" {
		follower.Metadata = b.options.Metadata
	}
	b.mu.Lock()
	b.asked = time.Now()
	b.mu.Unlock()
	var telling sync.WaitGroup
	telling.Go(func() { b.notifyListeners(ctx) })
	follower.Run(ctx)
	telling.Wait()
}

func (b *Cache) reflector() *cache.Reflector {
	objects := b.options.Client.Resource(Resource).Namespace(b.options.Namespace)
	source := cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			list, err := objects.List(ctx, o)
			b.listed(ctx, err)
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (apiwatch.Interface, error) {
			events, err := objects.Watch(ctx, dynamicwatch.ShortWatch(o))
			b.watched(ctx, err, o.SendInitialEvents != nil)
			if err != nil {
				return nil, err
			}
			return dynamicwatch.WithHeartbeats(events, o, func() {}, b.heartbeat), nil // store.Replace handles the initial list
		},
	}, b.options.Client)
	reads := cache.NewReflectorWithOptions(source, &unstructured.Unstructured{}, store{b}, cache.ReflectorOptions{Name: "budgets"})
	b.mu.Lock()
	defer b.mu.Unlock()
	b.reads = reads
	return reads
}

// listed handles the result of a list. A successful list proves little, because the permission to
// list does not include the permission to watch.
func (b *Cache) listed(ctx context.Context, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.streams = false
	if err != nil && ctx.Err() == nil {
		b.recordFailure(err)
	}
}

// watched handles the result of a watch request. If a watch with initial events fails, that is no
// failure, because client-go lists instead.
func (b *Cache) watched(ctx context.Context, err error, fromTheBeginning bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case ctx.Err() != nil:
	case fromTheBeginning:
		b.streams = err == nil
	case err != nil:
		b.recordFailure(err)
	case b.lastContact.IsZero():
		b.recordSuccess() // only at first; later, a heartbeat is required
	}
}

// heartbeat handles a heartbeat of a watch.
func (b *Cache) heartbeat() {
	b.mu.Lock()
	again := b.refreshed()
	b.recordSuccess()
	b.mu.Unlock()
	for _, namespace := range again {
		b.notifications.add(namespace, true)
	}
}

// refreshed returns the namespaces whose budgets become known again if the current request succeeds. Callers hold the
// lock.
func (b *Cache) refreshed() []string {
	if !b.filled || b.isFresh() {
		return nil
	}
	return slices.Collect(maps.Keys(b.namespaces))
}

// recordSuccess records that the cache follows the API server. Callers hold the lock.
func (b *Cache) recordSuccess() {
	b.failing, b.missing, b.lastErr, b.lastContact = time.Time{}, time.Time{}, nil, time.Now()
	b.logState("watched", func() { b.options.Log.Info("the budgets for evictions are watched") })
}

// recordFailure records why a request failed. Callers hold the lock.
func (b *Cache) recordFailure(err error) {
	if b.failing.IsZero() {
		b.failing = time.Now()
	}
	b.lastErr = err
	b.answered = b.answered || apierrors.IsForbidden(err)
	if apierrors.IsNotFound(err) {
		if b.missing.IsZero() {
			b.missing = time.Now()
		}
		return // kindMissing decides
	}
	b.missing = time.Time{}
	b.logState("failing: "+string(apierrors.ReasonForError(err)), func() {
		b.options.Log.WithError(err).Warn("the budgets for evictions cannot be read; retrying")
	})
}

// logState logs a new state of the watch. Callers hold the lock.
func (b *Cache) logState(what string, log func()) {
	if b.loggedState != what {
		b.loggedState = what
		log()
	}
}

// kindMissing handles a missing kind. If it has been missing for long enough, kindMissing drops all budgets and
// returns true.
func (b *Cache) kindMissing() bool {
	b.mu.Lock()
	if len(b.namespaces) > 0 && time.Since(b.missing) < missingFor {
		b.mu.Unlock()
		return false
	}
	b.logState("absent", func() {
		b.options.Log.Info("the kind ZoneAwarePodDisruptionBudget does not exist, so there are no budgets for evictions")
	})
	left := b.namespaces
	b.namespaces = map[string]*namespaceBudgets{}
	b.filled, b.absent, b.answered = false, true, true
	b.failing, b.lastErr, b.lastContact = time.Time{}, nil, time.Now()
	b.mu.Unlock()
	for namespace := range left {
		b.notifications.add(namespace, true)
	}
	return true
}
