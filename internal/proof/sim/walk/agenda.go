package walk

import "time"

// instant is the true time since the beginning of the schedule.
type instant = time.Duration

// agenda contains the future events, as a heap with the earliest event first. Events of
// the same time keep their order, so that a schedule is deterministic.
type agenda struct {
	events []event
	count  uint64
}

type event struct {
	at          instant
	seq         uint64
	run         func()
	process     *process // nil: the event does not depend on a process
	incarnation int      // of the process
}

func (e event) fire() {
	if e.process == nil {
		e.run()
		return
	}
	e.process.runAwake(e.incarnation, e.run)
}

func (e event) before(other event) bool {
	return e.at < other.at || (e.at == other.at && e.seq < other.seq)
}

func (a *agenda) add(at instant, do func()) { a.put(event{at: at, run: do}) }

func (a *agenda) put(e event) {
	a.count++
	e.seq = a.count
	a.events = append(a.events, e)
	for n := len(a.events) - 1; n > 0; {
		parent := (n - 1) / 2
		if a.events[parent].before(a.events[n]) {
			return
		}
		a.events[n], a.events[parent] = a.events[parent], a.events[n]
		n = parent
	}
}

// next removes the earliest event from the agenda and returns it.
func (a *agenda) next() event {
	first, last := a.events[0], len(a.events)-1
	a.events[0], a.events[last] = a.events[last], event{}
	a.events = a.events[:last]
	for n := 0; ; {
		least := n
		for child := 2*n + 1; child <= 2*n+2 && child < last; child++ {
			if a.events[child].before(a.events[least]) {
				least = child
			}
		}
		if least == n {
			return first
		}
		a.events[n], a.events[least] = a.events[least], a.events[n]
		n = least
	}
}
