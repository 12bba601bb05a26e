package loop

import (
	"sync"
	"time"
)

// timers queues keys later, with at most one timer for each key. The delaying queue of client-go
// cannot remove an entry: if an event ended a wait early, the wait would stay in that queue until
// its end.
type timers[K comparable] struct {
	wake func(K)

	mu      sync.Mutex
	pending map[K]*timer
	stopped bool
}

type timer struct {
	at time.Time
	*time.Timer
}

func newTimers[K comparable](wake func(K)) *timers[K] {
	return &timers[K]{wake: wake, pending: map[K]*timer{}}
}

// set queues the key after a duration, or earlier if an earlier timer is set.
func (t *timers[K]) set(key K, after time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	at := time.Now().Add(after)
	before, set := t.pending[key]
	if t.stopped || set && !at.Before(before.at) {
		return
	}
	if set {
		before.Stop()
	}
	next := &timer{at: at}
	next.Timer = time.AfterFunc(after, func() { t.fire(key, next) })
	t.pending[key] = next
}

// fire queues the key unless the timer was cleared at the same moment.
func (t *timers[K]) fire(key K, fired *timer) {
	t.mu.Lock()
	valid := t.pending[key] == fired
	if valid {
		delete(t.pending, key)
	}
	t.mu.Unlock()
	if valid {
		t.wake(key)
	}
}

// clear removes the timer of the key.
func (t *timers[K]) clear(key K) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if set, ok := t.pending[key]; ok {
		set.Stop()
		delete(t.pending, key)
	}
}

// stop removes all timers and accepts no others.
func (t *timers[K]) stop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stopped = true
	for _, set := range t.pending {
		set.Stop()
	}
	clear(t.pending)
}
