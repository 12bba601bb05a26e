package walk

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"testing/synctest"
	"time"
)

// handover lets lockstep's own code, which blocks, run beside the loop of events, so that a
// schedule is the same history each time: in goroutines of the bubble of the schedule, which
// touch nothing of the walk. A goroutine hands over what is to be done for it and waits. The
// loop does that, one after the other, once all goroutines wait.
type handover struct {
	wakes []func()  // each begins a goroutine, or gives it its answer
	tasks int       // that were begun
	began time.Time // of the bubble

	mu      sync.Mutex
	errands []errand
}

// errand is what the loop of events does for a goroutine.
type errand struct {
	of    int    // the number of the task
	final bool   // which has ended
	what  string // of several that a task hands over at the same time, which differ by it
	do    func()
}

func (h *handover) hand(e errand) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.errands = append(h.errands, e)
}

// wake lets a goroutine go on once the event is over that happens now.
func (h *handover) wake(do func()) { h.wakes = append(h.wakes, do) }

// allWait returns when every goroutine has ended, or waits for what an event will bring.
func (h *handover) allWait() {
	for {
		if len(h.wakes) > 0 {
			wake := h.wakes[0]
			h.wakes = h.wakes[1:]
			wake()
			synctest.Wait()
			continue
		}
		next, handed := h.next()
		if !handed {
			return
		}
		next.do()
	}
}

// next takes the errand of the task that was begun first. One may hand over several at a time:
// what a live read lists at once, or its end and a write that its answer did not wait for.
func (h *handover) next() (errand, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.errands) == 0 {
		return errand{}, false
	}
	slices.SortStableFunc(h.errands, func(a, b errand) int {
		if a.of == b.of && a.final && !b.final {
			return -1
		}
		return cmp.Or(cmp.Compare(a.of, b.of), cmp.Compare(a.what, b.what))
	})
	first := h.errands[0]
	h.errands = slices.Delete(h.errands, 0, 1)
	return first, true
}

// errDied is the answer to what a process waits for as it dies.
var errDied = errors.New("the process has died")

// life is that of a process: its goroutines end with it.
type life struct {
	ctx     context.Context //nolint:containedctx // ends with the process
	end     context.CancelFunc
	waiting map[int]func() // each fails what a goroutine waits for; by the order of its beginning
	begun   int
}

func newLife(schedule context.Context) *life {
	ctx, end := context.WithCancel(schedule)
	return &life{ctx: ctx, end: end, waiting: map[int]func(){}}
}

// over reports whether the process has died since.
func (l *life) over() bool { return l.ctx.Err() != nil }

// abandon lets the goroutines of a life come to their end: whatever they wait for, and ask
// for from now on, fails.
func (w *walk) abandon(l *life) {
	w.wake(l.end)
	for _, no := range slices.Sorted(maps.Keys(l.waiting)) {
		l.waiting[no]()
	}
}

// task is code of lockstep that a process runs in a goroutine, about a group.
type task struct {
	*process
	living *life
	no     int
	g      *group
}

// taskKey is the key of the task in a context.
type taskKey struct{}

// run has a task run, and what follows it happen in the loop of events if the process still
// lives then.
func (p *process) run(g *group, code func(context.Context, *task), then func()) {
	p.tasks++
	t := &task{process: p, living: p.living, no: p.tasks, g: g}
	p.wake(func() {
		p.catchUp()
		go func() {
			code(context.WithValue(t.living.ctx, taskKey{}, t), t)
			t.hand(errand{of: t.no, final: true, do: func() {
				if !t.living.over() {
					then()
				}
			}})
		}()
	})
}

// at does something of the walk for a task, which takes no time.
func at[T any](t *task, do func() T) T {
	answers := make(chan T, 1)
	t.hand(errand{of: t.no, do: func() {
		value := do()
		t.wake(func() { answers <- value })
	}})
	return <-answers
}

// answered is the answer to a request.
type answered[T any] struct {
	value T
	err   error
}

// await sends something for a task and waits for the answer.
func await[T any](t *task, what string, send func(answer func(T, error))) (T, error) {
	answers := make(chan answered[T], 1)
	t.hand(errand{of: t.no, what: what, do: func() {
		of := t.living
		of.begun++
		no, open := of.begun, true
		answer := func(v T, err error) {
			if !open {
				return
			}
			open = false
			delete(of.waiting, no)
			t.wake(func() {
				t.catchUp()
				answers <- answered[T]{v, err}
			})
		}
		fail := func() {
			var none T
			answer(none, errDied)
		}
		if of.over() {
			fail()
			return
		}
		of.waiting[no] = fail
		send(answer)
	}})
	a := <-answers
	return a.value, a.err
}

// pass lets the time of the bubble pass, by which a steady clock goes in lockstep's own code,
// until it is that of the walk.
func (w *walk) pass() {
	if ahead := w.now - time.Since(w.began); ahead > 0 { //nolint:forbidigo // the time of the bubble
		time.Sleep(ahead) //nolint:forbidigo // the same
	}
}
