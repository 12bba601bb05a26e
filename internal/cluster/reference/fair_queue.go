package reference

// fairQueue is a workqueue.Queue in which namespaces take turns. The items of one namespace keep
// their order. The workqueue locks it.
type fairQueue[T comparable] struct {
	namespace func(T) string
	waiting   map[string][]T // by namespace; none is empty
	order     []string       // the waiting namespaces, the next one first
	count     int
}

func newFairQueue[T comparable](namespace func(T) string) *fairQueue[T] {
	return &fairQueue[T]{namespace: namespace, waiting: map[string][]T{}}
}

// Touch implements workqueue.Queue. Adding an item twice changes no turn.
func (*fairQueue[T]) Touch(T) {}

// Len implements workqueue.Queue.
func (q *fairQueue[T]) Len() int { return q.count }

// Push implements workqueue.Queue.
func (q *fairQueue[T]) Push(item T) {
	namespace := q.namespace(item)
	if len(q.waiting[namespace]) == 0 {
		q.order = append(q.order, namespace)
	}
	q.waiting[namespace] = append(q.waiting[namespace], item)
	q.count++
}

// Pop implements workqueue.Queue. The workqueue calls it only if an item waits.
func (q *fairQueue[T]) Pop() T {
	namespace := q.order[0]
	q.order = q.order[1:]
	items := q.waiting[namespace]
	if len(items) > 1 {
		q.waiting[namespace] = items[1:]
		q.order = append(q.order, namespace)
	} else {
		delete(q.waiting, namespace)
	}
	q.count--
	return items[0]
}
