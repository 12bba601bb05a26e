package loop

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/client-go/util/workqueue"
)

const (
	againFirst, againMost = 50 * time.Millisecond, time.Minute

	// Retries after errors, of all keys together, have this limit. A thousand keys that always
	// fail need 17 retries a second.
	retriesPerSecond, retriesAtOnce = 50, 200
)

// retries decide when failed keys are retried: each key after its own back-off, and all keys
// together at a limited rate. If an event queues a key before the end of its back-off and the key
// fails again, the back-off does not change. So each back-off uses one retry of the limit,
// however often events arrive. The limit never delays a key by more than its maximum back-off.
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

// when returns the delay of a key that has just failed.
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

// turn returns the time until the limit allows another retry, at most againMost.
func (r *retries[K]) turn() time.Duration {
	reserved := r.all.Reserve()
	wait := reserved.Delay()
	if wait > againMost {
		reserved.Cancel()
		return againMost
	}
	return wait
}

// forget resets the back-off of a key after a success.
func (r *retries[K]) forget(key K) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.own.Forget(key)
	delete(r.due, key)
}
