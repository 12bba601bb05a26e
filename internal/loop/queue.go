package loop

// fair is a workqueue.Queue that serves namespaces in turn, and the keys of one
// namespace in the order in which they came. Push and Pop cost the same however
// many keys and namespaces wait; a namespace without waiting keys costs nothing.
//
//	last ─┐
//	      ▼
//	┌▶ lane c ─▶ lane a ─▶ lane b ─┐    the lane behind last is next;
//	└──────────────────────────────┘    served, it becomes last itself
type fair[K comparable] struct {
	namespace func(K) string
	lanes     map[string]*lane[K] // those with waiting keys, so none is empty
	last      *lane[K]            // nil when nothing waits
	waiting   int
}

// lane is what waits of one namespace; lanes form a ring.
type lane[K comparable] struct {
	name string
	keys []K
	next *lane[K]
}

func newFair[K comparable](namespace func(K) string) *fair[K] {
	return &fair[K]{namespace: namespace, lanes: map[string]*lane[K]{}}
}

// Touch implements workqueue.Queue: asking twice changes no turn.
func (f *fair[K]) Touch(K) {}

// Len implements workqueue.Queue.
func (f *fair[K]) Len() int { return f.waiting }

// Push implements workqueue.Queue.
func (f *fair[K]) Push(key K) {
	name := f.namespace(key)
	l, waits := f.lanes[name]
	if !waits {
		l = &lane[K]{name: name}
		f.lanes[name] = l
		f.join(l)
	}
	l.keys = append(l.keys, key)
	f.waiting++
}

// Pop implements workqueue.Queue, which calls it only when something waits.
func (f *fair[K]) Pop() K {
	l := f.last.next
	key := l.keys[0]
	l.keys[0] = *new(K) // the array lives on; what the key refers to need not
	l.keys = l.keys[1:]
	f.waiting--
	if len(l.keys) > 0 {
		f.last = l
	} else {
		f.leave(l)
	}
	return key
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

// leave takes the first lane out of the ring.
func (f *fair[K]) leave(first *lane[K]) {
	delete(f.lanes, first.name)
	if first == f.last {
		f.last = nil
		return
	}
	f.last.next = first.next
}
