package loop

import (
	"sync"
	"time"
)

// fair is a workqueue.Queue in which namespaces take turns, and the keys of one
// namespace come in their order. A namespace that no worker works for goes first,
// and the last free worker is kept for such a one: so a namespace is served the
// moment its first key comes, whatever the others do, unless there are more busy
// ones than workers.
//
// Push and Pop cost the same however many keys and namespaces wait; a namespace
// without waiting keys and without work costs nothing.
//
//	last ─┐
//	      ▼
//	┌▶ lane c ─▶ lane a ─▶ lane b ─┐    the lane behind last is next;
//	└──────────────────────────────┘    served, it becomes last itself
type fair[K comparable] struct {
	namespace func(K) string
	workers   int
	waited    func(namespace string, took time.Duration) // may be nil

	mu      sync.Mutex          // the queue's own lock does not cover finished and count
	lanes   map[string]*lane[K] // those with waiting keys, so none is empty
	last    *lane[K]            // nil when nothing waits
	waiting int
	working map[string]int // workers by namespace, where there are any
	busy    int            // all of them
}

// lane is what waits of one namespace; lanes form a ring.
type lane[K comparable] struct {
	name string
	keys []waiting[K]
	next *lane[K]
}

// waiting is a key, and since when it waits.
type waiting[K comparable] struct {
	key   K
	since time.Time
}

func newFair[K comparable](namespace func(K) string, workers int, waited func(string, time.Duration)) *fair[K] {
	return &fair[K]{namespace: namespace, workers: workers, waited: waited, lanes: map[string]*lane[K]{}, working: map[string]int{}}
}

// Touch implements workqueue.Queue: asking twice changes no turn.
func (f *fair[K]) Touch(K) {}

// Len implements workqueue.Queue, which takes 0 as: nothing to do for one more
// worker. So it counts only if a key may be served now.
func (f *fair[K]) Len() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.beforeNext() == nil {
		return 0
	}
	return f.waiting
}

// count returns how many keys wait.
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

// Pop implements workqueue.Queue, which calls it only when a key may be served.
// The caller works on the key until finished.
func (f *fair[K]) Pop() K {
	f.mu.Lock()
	defer f.mu.Unlock()
	before := f.beforeNext()
	l := before.next
	first := l.keys[0]
	l.keys[0] = waiting[K]{} // the array lives on; what the key refers to need not
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

// finished says that a worker is free again. It comes before the queue's Done,
// which may push the key anew.
func (f *fair[K]) finished(key K) {
	f.mu.Lock()
	defer f.mu.Unlock()
	name := f.namespace(key)
	f.busy--
	if f.working[name]--; f.working[name] == 0 {
		delete(f.working, name)
	}
}

// beforeNext returns the lane before the one to serve next, nil if there is
// none. It passes over as many lanes as there are busy workers at most.
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

// join puts a lane at the end of the ring.
func (f *fair[K]) join(l *lane[K]) {
	if f.last == nil {
		l.next = l
	} else {
		l.next, f.last.next = f.last.next, l
	}
	f.last = l
}

// leave takes a lane out of the ring.
func (f *fair[K]) leave(l, before *lane[K]) {
	switch {
	case l == before:
		f.last = nil
	case l == f.last:
		f.last = before
	}
	before.next = l.next
}
