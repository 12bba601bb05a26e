package sim

// queue contains the waiting operations in the order of their first refusal.
type queue [maxQueue]waiter

// waiter is an operation and a zone in one number; zero: none.
type waiter uint8

func waiterOf(operation, holder uint8) waiter { return waiter(1 + operation*8 + holder) }

func (w waiter) operation() uint8 { return uint8(w-1) / 8 }
func (w waiter) holder() uint8    { return uint8(w-1) % 8 }

// placesAreLost lets enough time pass that an operation that was not attempted again
// loses its place in the queue.
func (e *explorer) placesAreLost(w *world, see visit) {
	for _, who := range w.lease.queue {
		if who == 0 {
			continue
		}
		m := move{next: *w, fair: true, line: func() string {
			return "a place of " + string(operations[who.operation()].For(holderZone(who.holder()))) + " in the queue is lost"
		}}
		for _, l := range m.next.leases() {
			l.queue.remove(who)
		}
		see(&m)
	}
}

func (q *queue) remove(who waiter) {
	kept := queue{}
	n := 0
	for _, w := range q {
		if w != who && w > 0 {
			kept[n] = w
			n++
		}
	}
	*q = kept
}
