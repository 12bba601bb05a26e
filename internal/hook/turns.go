package hook

import (
	"context"
	"slices"
	"sync"
)

// turns says whose call may begin: one a pod, so many a namespace and so many a
// process. A free place goes to the namespace with the fewest calls under way,
// and the last ones are kept for namespaces that have none: whoever has pods that
// never answer waits for himself.
type turns struct {
	perNamespace int
	perProcess   int

	mu       sync.Mutex
	underway int
	arrivals int
	lanes    map[string]*lane // by namespace, only where there is something
}

// lane is one namespace.
type lane struct {
	underway int
	called   map[string]bool // pods that are being called
	waiting  []*waiter       // in the order of arrival
}

type waiter struct {
	pod     string
	arrival int
	begin   chan struct{} // closed when it may
}

func newTurns(perNamespace, perProcess int) *turns {
	return &turns{perNamespace: perNamespace, perProcess: perProcess, lanes: map[string]*lane{}}
}

// take waits for a turn. Whoever gets one gives it back.
func (t *turns) take(ctx context.Context, namespace, pod string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	w := t.enter(namespace, pod)
	select {
	case <-w.begin:
		return nil
	case <-ctx.Done():
	}
	if !t.leave(namespace, w) {
		t.give(namespace, pod) // it began at the same moment
	}
	return ctx.Err()
}

func (t *turns) enter(namespace, pod string) *waiter {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.lanes[namespace]
	if l == nil {
		l = &lane{called: map[string]bool{}}
		t.lanes[namespace] = l
	}
	t.arrivals++
	w := &waiter{pod: pod, arrival: t.arrivals, begin: make(chan struct{})}
	l.waiting = append(l.waiting, w)
	t.hand()
	return w
}

// leave takes back a wait. It returns false if that has ended already.
func (t *turns) leave(namespace string, w *waiter) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.lanes[namespace]
	if l == nil {
		return false
	}
	i := slices.Index(l.waiting, w)
	if i < 0 {
		return false
	}
	l.waiting = slices.Delete(l.waiting, i, i+1)
	t.forget(namespace)
	return true
}

func (t *turns) give(namespace, pod string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.lanes[namespace]
	l.underway--
	t.underway--
	delete(l.called, pod)
	t.forget(namespace)
	t.hand()
}

func (t *turns) forget(namespace string) {
	if l := t.lanes[namespace]; l.underway == 0 && len(l.waiting) == 0 {
		delete(t.lanes, namespace)
	}
}

// hand gives free places to those who wait.
func (t *turns) hand() {
	for {
		l, i := t.next()
		if l == nil {
			return
		}
		w := l.waiting[i]
		l.waiting = slices.Delete(l.waiting, i, i+1)
		l.called[w.pod] = true
		l.underway++
		t.underway++
		close(w.begin)
	}
}

// next returns who may begin now: of the namespaces with the fewest calls under
// way, whoever came first.
func (t *turns) next() (*lane, int) {
	var best *lane
	var at int
	for _, l := range t.lanes {
		if !t.room(l) || best != nil && l.underway > best.underway {
			continue
		}
		i := slices.IndexFunc(l.waiting, func(w *waiter) bool { return !l.called[w.pod] })
		if i < 0 {
			continue
		}
		if best == nil || l.underway < best.underway || l.waiting[i].arrival < best.waiting[at].arrival {
			best, at = l, i
		}
	}
	return best, at
}

func (t *turns) room(l *lane) bool {
	limit := t.perProcess
	if l.underway > 0 {
		limit -= kept(t.perProcess)
	}
	return t.underway < limit && l.underway < t.perNamespace
}
