package podcalls

import (
	"cmp"
	"context"
	"slices"
	"sync"
)

// slots decide which call may begin. They limit the calls for each pod to one, and the calls for each
// namespace and for the process. A free slot goes to the namespace with the fewest calls in progress. The
// last slots are reserved for namespaces without calls, so that a namespace whose pods never answer delays
// only itself.
type slots struct {
	mu       sync.Mutex
	quota    quota
	arrivals int
	lanes    map[string]*lane // by namespace, without empty lanes
}

// lane contains the calls of one namespace.
type lane struct {
	called  map[string]bool // pods with a call in progress
	waiting []*waiter       // in the order of arrival
}

type waiter struct {
	pod     string
	arrival int
	begin   chan struct{} // closed when the call may begin
}

func newSlots(perNamespace, perProcess int) *slots {
	return &slots{quota: newQuota(perNamespace, perProcess), lanes: map[string]*lane{}}
}

// take waits for a slot. After success, the caller must call give.
func (s *slots) take(ctx context.Context, namespace, pod string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	w := s.enter(namespace, pod)
	select {
	case <-w.begin:
		return nil
	case <-ctx.Done():
	}
	if !s.leave(namespace, w) {
		s.give(namespace, pod) // it got the slot at the same moment
	}
	return ctx.Err()
}

func (s *slots) enter(namespace, pod string) *waiter {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.lanes[namespace]
	if l == nil {
		l = &lane{called: map[string]bool{}}
		s.lanes[namespace] = l
	}
	s.arrivals++
	w := &waiter{pod: pod, arrival: s.arrivals, begin: make(chan struct{})}
	l.waiting = append(l.waiting, w)
	s.hand()
	return w
}

// leave cancels a wait. It returns false if the wait has already ended.
func (s *slots) leave(namespace string, w *waiter) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.lanes[namespace]
	if l == nil {
		return false
	}
	i := slices.Index(l.waiting, w)
	if i < 0 {
		return false
	}
	l.waiting = slices.Delete(l.waiting, i, i+1)
	s.forget(namespace)
	return true
}

func (s *slots) give(namespace, pod string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.quota.give(namespace)
	delete(s.lanes[namespace].called, pod)
	s.forget(namespace)
	s.hand()
}

func (s *slots) forget(namespace string) {
	if l := s.lanes[namespace]; len(l.called) == 0 && len(l.waiting) == 0 {
		delete(s.lanes, namespace)
	}
}

// hand gives free slots to waiting calls.
func (s *slots) hand() {
	for {
		namespace, i := s.next()
		if i < 0 {
			return
		}
		l := s.lanes[namespace]
		w := l.waiting[i]
		l.waiting = slices.Delete(l.waiting, i, i+1)
		l.called[w.pod] = true
		s.quota.take(namespace)
		close(w.begin)
	}
}

// next returns the namespace and index of the call that may begin now: the first to arrive, of the namespaces
// with the fewest calls in progress. It returns -1 if no call may begin.
func (s *slots) next() (string, int) {
	best, at := "", -1
	for namespace, l := range s.lanes {
		if !s.quota.allows(namespace, false) {
			continue
		}
		i := slices.IndexFunc(l.waiting, func(w *waiter) bool { return !l.called[w.pod] })
		if i >= 0 && (at < 0 || s.before(namespace, i, best, at)) {
			best, at = namespace, i
		}
	}
	return best, at
}

// before reports whether a waiting call in one namespace comes before a waiting call in another.
func (s *slots) before(a string, i int, b string, j int) bool {
	return cmp.Or(
		cmp.Compare(s.quota.inNamespace[a], s.quota.inNamespace[b]),
		cmp.Compare(s.lanes[a].waiting[i].arrival, s.lanes[b].waiting[j].arrival),
	) < 0
}
