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
	errNotRead = errors.New("the budgets for evictions are not read yet")
	errSilent  = fmt.Errorf("the budgets for evictions are not known: the API server has told nothing of them for %s", dynamicwatch.SilentFor)
)

// Run watches until ctx ends, whatever becomes of the kind, and returns when everything
// that it began has stopped.
func (b *Cache) Run(ctx context.Context) {
	follower := dynamicwatch.Follower{
		Resource: Resource.GroupResource(), Most: againMost, Log: b.options.Log, Reads: b.reflector,
		Ended: func(err error) bool { return apierrors.IsNotFound(err) && b.gone() },
	}
	if b.options.Namespace == "" {
		follower.Metadata = b.options.Metadata
	}
	b.mu.Lock()
	b.asked = time.Now()
	b.mu.Unlock()
	var telling sync.WaitGroup
	telling.Go(func() { b.tell(ctx) })
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
			return dynamicwatch.WithHeartbeats(events, o, func() {}, b.heard), nil // the store hears of all
		},
	}, b.options.Client)
	reads := cache.NewReflectorWithOptions(source, &unstructured.Unstructured{}, store{b}, cache.ReflectorOptions{Name: "budgets"})
	b.mu.Lock()
	defer b.mu.Unlock()
	b.reads = reads
	return reads
}

// listed hears what became of a list. One that is answered proves little: a right to
// list is none to watch.
func (b *Cache) listed(ctx context.Context, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.streams = false
	if err != nil && ctx.Err() == nil {
		b.fails(err)
	}
}

// watched hears what became of the beginning of a watch. One that begins with all
// that exists is no failure where it fails: a list is asked for instead.
func (b *Cache) watched(ctx context.Context, err error, fromTheBeginning bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case ctx.Err() != nil:
	case fromTheBeginning:
		b.streams = err == nil
	case err != nil:
		b.fails(err)
	case b.followed.IsZero():
		b.works() // later on, not before something is heard from it
	}
}

// heard hears a sign of life from a watch.
func (b *Cache) heard() {
	b.mu.Lock()
	again := b.knownAgain()
	b.works()
	b.mu.Unlock()
	for _, namespace := range again {
		b.news.add(namespace, true)
	}
}

// knownAgain returns the namespaces whose budgets are known from now on and were not a
// moment ago, though they were read. Call it locked, before works.
func (b *Cache) knownAgain() []string {
	if !b.filled || b.stands() {
		return nil
	}
	return slices.Collect(maps.Keys(b.namespaces))
}

// works hears that what is known follows the API server. Call it locked.
func (b *Cache) works() {
	b.failing, b.missing, b.trouble, b.followed = time.Time{}, time.Time{}, nil, time.Now()
	b.say("watched", func() { b.options.Log.Info("the budgets for evictions are watched") })
}

// fails hears why it does not. Call it locked.
func (b *Cache) fails(err error) {
	if b.failing.IsZero() {
		b.failing = time.Now()
	}
	b.trouble = err
	b.answered = b.answered || apierrors.IsForbidden(err)
	if apierrors.IsNotFound(err) {
		if b.missing.IsZero() {
			b.missing = time.Now()
		}
		return // see gone
	}
	b.missing = time.Time{}
	b.say("failing: "+string(apierrors.ReasonForError(err)), func() {
		b.options.Log.WithError(err).Warn("the budgets for evictions cannot be read, which is tried again")
	})
}

// say logs what is another state than the one before. Call it locked.
func (b *Cache) say(what string, log func()) {
	if b.said != what {
		b.said = what
		log()
	}
}

// gone hears that there is no such kind, and returns whether that is to be believed:
// then nothing is left of its objects.
func (b *Cache) gone() bool {
	b.mu.Lock()
	if len(b.namespaces) > 0 && time.Since(b.missing) < goneAfter {
		b.mu.Unlock()
		return false
	}
	b.say("absent", func() {
		b.options.Log.Info("there is no kind ZoneAwarePodDisruptionBudget, so there are no budgets for evictions")
	})
	left := b.namespaces
	b.namespaces = map[string]*namespaceBudgets{}
	b.filled, b.absent, b.answered = false, true, true
	b.failing, b.trouble, b.followed = time.Time{}, nil, time.Now()
	b.mu.Unlock()
	for namespace := range left {
		b.news.add(namespace, true)
	}
	return true
}
