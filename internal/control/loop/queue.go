package loop

import (
	"sync"
	"time"
)

// fair is a workqueue.Queue in which namespaces take turns. The keys of one namespace keep
// their order. A namespace without a worker goes first, and the last free worker is reserved
// for such a namespace. So a namespace is served as soon as its first key arrives, whatever the
// others do, unless busy namespaces outnumber the workers.
//
// The cost of Push and Pop does not depend on the number of waiting keys and namespaces. A
// namespace without waiting keys and workers costs nothing.
//
//	last ─┐
//	      ▼
//	┌▶ lane c ─▶ lane a ─▶ lane b ─┐    the lane after last is next;
//	└──────────────────────────────┘    once served, it becomes last
type fair[K comparable] struct {
	namespace func(K) string
	workers   int
	waited    func(namespace string, took time.Duration) // may be nil

	mu      sync.Mutex          // the queue's own lock does not cover finished and count
	lanes   map[string]*lane[K] // lanes with waiting keys; none is empty
	last    *lane[K]            // nil when nothing waits
	waiting int
	working map[string]int // number of workers by namespace; none is 0
	busy    int            // number of all busy workers
}

// lane contains the waiting keys of one namespace. Lanes form a ring.
type lane[K comparable] struct {
	name string
	keys []waiting[K]
	next *lane[K]
}

// waiting is a key and the time since when it waits.
type waiting[K comparable] struct {
	key   K
	since time.Time
}

func newFair[K comparable](namespace func(K) string, workers int, waited func(string, time.Duration)) *fair[K] {
	return &fair[K]{namespace: namespace, workers: workers, waited: waited, lanes: map[string]*lane[K]{}, working: map[string]int{}}
}

// Touch implements workqueue.Queue. Adding a key twice changes no turn.
func (f *fair[K]) Touch(K) {}

// Len implements workqueue.Queue. The workqueue treats 0 as: no key for another worker. So Len
// returns 0 if no key may be served now.
func (f *fair[K]) Len() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.beforeNext() == nil {
		return 0
	}
	return f.waiting
}

// count returns the number of waiting keys.
func (f *fair[K]) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.waiting
}

// Push implements workqueue.Queue.
func (f *fair[K]) Push(key K) {
	f.mu.Lock()
	defer f.mu.Unlock()
	name := f.namespace(key)
	l, waits := f.lanes[name]
	if !waits {
		l = &lane[K]{name: name}
		f.lanes[name] = l
		f.join(l)
	}
	l.keys = append(l.keys, waiting[K]{key, time.Now()})
	f.waiting++
}

// Pop implements workqueue.Queue. The workqueue calls it only if a key may be served. The
// caller works on the key until it calls finished.
func (f *fair[K]) Pop() K {
	f.mu.Lock()
	defer f.mu.Unlock()
	before := f.beforeNext()
	l := before.next
	first := l.keys[0]
	l.keys[0] = waiting[K]{} // the array outlives the key, and must not keep its memory
	l.keys = l.keys[1:]
	f.waiting--
	f.leave(l, before)
	if len(l.keys) > 0 {
		f.join(l)
	} else {
		delete(f.lanes, l.name)
	}
	f.working[l.name]++
	f.busy++
	if f.waited != nil {
		f.waited(l.name, time.Since(first.since))
	}
	return first.key
}

// finished releases a worker. It is called before the queue's Done, because Done may push the
// key again.
func (f *fair[K]) finished(key K) {
	f.mu.Lock()
	defer f.mu.Unlock()
	name := f.namespace(key)
	f.busy--
	if f.working[name]--; f.working[name] == 0 {
		delete(f.working, name)
	}
}

// beforeNext returns the lane before the next one to serve, or nil if there is none. It skips at
// most as many lanes as there are busy workers.
func (f *fair[K]) beforeNext() *lane[K] {
	if f.last == nil {
		return nil
	}
	for before := f.last; ; before = before.next {
		if f.working[before.next.name] == 0 {
			return before
		}
		if before.next == f.last {
			break
		}
	}
	if f.workers-f.busy > 1 {
		return f.last
	}
	return nil
}

// join adds a lane at the end of the ring.
func (f *fair[K]) join(l *lane[K]) {
	if f.last == nil {
		l.next = l
	} else {
		l.next, f.last.next = f.last.next, l
	}
	f.last = l
}

// leave removes a lane from the ring.
func (f *fair[K]) leave(l, before *lane[K]) {
	switch {
	case l == before:
		f.last = nil
	case l == f.last:
		f.last = before
	}
	before.next = l.next
}
