package loop

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/client-go/util/workqueue"
)

const (
	againFirst, againMost = 50 * time.Millisecond, time.Minute

	// Retries after errors, of all keys together, as long as nobody has to wait for a
	// minute for that. A thousand keys that fail for good need 17 a second.
	retriesPerSecond, retriesAtOnce = 50, 200
)

// retries say when keys that failed come again: each after its own back-off, and all
// together not too often. A key that an event wakes before its back-off is over, and that
// fails again, keeps it: however often events come, it takes one retry from the others for
// each. And nobody waits longer for the others than for himself at most.
type retries[K comparable] struct {
	own workqueue.TypedRateLimiter[K]
	all *rate.Limiter

	mu  sync.Mutex
	due map[K]time.Time
}

func newRetries[K comparable]() *retries[K] {
	return &retries[K]{
		own: workqueue.NewTypedItemExponentialFailureRateLimiter[K](againFirst, againMost),
		all: rate.NewLimiter(retriesPerSecond, retriesAtOnce),
		due: map[K]time.Time{},
	}
}

// when returns for how long a key rests that has just failed.
func (r *retries[K]) when(key K) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if left := time.Until(r.due[key]); left > 0 {
		return left
	}
	after := max(r.own.When(key), r.turn())
	r.due[key] = time.Now().Add(after)
	return after
}

// turn returns how long it takes until all keys together may try once more, againMost at most.
func (r *retries[K]) turn() time.Duration {
	reserved := r.all.Reserve()
	wait := reserved.Delay()
	if wait > againMost {
		reserved.Cancel()
		return againMost
	}
	return wait
}

// forget begins anew with a key, since it has succeeded.
func (r *retries[K]) forget(key K) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.own.Forget(key)
	delete(r.due, key)
}
