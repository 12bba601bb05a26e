package walk

import (
	"container/heap"
	"time"
)

// instant is the true time, from the beginning of the schedule on.
type instant = time.Duration

// agenda is what is going to happen, earliest first. Equals keep their order, so that
// a schedule is the same each time.
type agenda struct {
	events []event
	count  uint64
}

type event struct {
	at instant
	no uint64
	do func()
}

func (a *agenda) add(at instant, do func()) {
	a.count++
	heap.Push(a, event{at, a.count, do})
}

func (a *agenda) next() event { return heap.Pop(a).(event) }

// Len implements heap.Interface.
func (a *agenda) Len() int { return len(a.events) }

// Less implements heap.Interface.
func (a *agenda) Less(i, j int) bool {
	x, y := a.events[i], a.events[j]
	return x.at < y.at || (x.at == y.at && x.no < y.no)
}

// Swap implements heap.Interface.
func (a *agenda) Swap(i, j int) { a.events[i], a.events[j] = a.events[j], a.events[i] }

// Push implements heap.Interface.
func (a *agenda) Push(x any) { a.events = append(a.events, x.(event)) }

// Pop implements heap.Interface.
func (a *agenda) Pop() any {
	last := len(a.events) - 1
	e := a.events[last]
	a.events[last] = event{}
	a.events = a.events[:last]
	return e
}
