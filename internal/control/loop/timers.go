package loop

import (
	"sync"
	"time"
)

// timers wakes keys later, and keeps one timer for each at most. client-go's
// delaying queue cannot take a time back, so every wait that an event cut short
// would stay in it until it is over.
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

// set wakes the key after a while, or earlier if that was asked for before.
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
	next.Timer = time.AfterFunc(after, func() { t.ring(key, next) })
	t.pending[key] = next
}

// ring wakes the key unless the timer was taken back in the same moment.
func (t *timers[K]) ring(key K, rung *timer) {
	t.mu.Lock()
	valid := t.pending[key] == rung
	if valid {
		delete(t.pending, key)
	}
	t.mu.Unlock()
	if valid {
		t.wake(key)
	}
}

// clear takes back what was set for the key.
func (t *timers[K]) clear(key K) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if set, ok := t.pending[key]; ok {
		set.Stop()
		delete(t.pending, key)
	}
}

// stop takes back everything, for good.
func (t *timers[K]) stop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stopped = true
	for _, set := range t.pending {
		set.Stop()
	}
	clear(t.pending)
}
