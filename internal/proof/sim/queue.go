package sim

// queue contains the waiting operations in the order of their first refusal.
type queue [maxQueue]waiter

// waiter is an operation in a zone, as one number; zero: none.
type waiter uint8

func waiterOf(operation, holder uint8) waiter { return waiter(1 + operation*8 + holder) }

func (w waiter) operation() uint8 { return uint8(w-1) / 8 }
func (w waiter) holder() uint8    { return uint8(w-1) % 8 }

// loseQueuePlaces lets so much time pass that a waiting operation loses its place in the queue.
func (e *explorer) loseQueuePlaces(w *world, yield moveFunc) {
	for _, waiting := range w.lease.queue {
		if waiting == 0 {
			continue
		}
		m := move{next: *w, fair: true, describe: func() string {
			return "the queue: the place of " + string(operations[waiting.operation()].For(holderZone(waiting.holder()))) + " is lost"
		}}
		for _, l := range m.next.leases() {
			l.queue.remove(waiting)
		}
		yield(&m)
	}
}

func (q *queue) remove(waiting waiter) {
	kept := queue{}
	n := 0
	for _, w := range q {
		if w != waiting && w > 0 {
			kept[n] = w
			n++
		}
	}
	*q = kept
}
