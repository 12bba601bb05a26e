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

// handover runs lockstep's own blocking code in goroutines in the bubble of the schedule, so
// that a schedule is deterministic. The goroutines access nothing of the walk. A goroutine
// hands over an errand and waits. Once all goroutines wait, the event loop runs the errands
// one by one.
type handover struct {
	wakes []func()  // each starts a goroutine, or gives it its answer
	tasks int       // number of tasks so far
	began time.Time // in the time of the bubble

	mu      sync.Mutex
	errands []errand
}

// errand is what the event loop does for a goroutine.
type errand struct {
	of    int    // the number of the task
	final bool   // the task has ended
	what  string // distinguishes errands that a task hands over at the same time
	do    func()
}

func (h *handover) hand(e errand) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.errands = append(h.errands, e)
}

// wake makes a goroutine continue after the current event.
func (h *handover) wake(do func()) { h.wakes = append(h.wakes, do) }

// allWait returns once every goroutine has ended or waits for a future event.
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

// next returns the errand of the oldest task. A task can hand over several at a time: the
// concurrent lists of a live read, or its end together with a write that its answer did not
// wait for.
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

// errDied is the answer to everything that a process waits for when it dies.
var errDied = errors.New("the process has died")

// life is one life of a process: its goroutines end with it.
type life struct {
	ctx     context.Context //nolint:containedctx // ends with the process
	end     context.CancelFunc
	waiting map[int]func() // each makes the wait of a goroutine fail; keys ascend in the order of their start
	begun   int
}

func newLife(schedule context.Context) *life {
	ctx, end := context.WithCancel(schedule)
	return &life{ctx: ctx, end: end, waiting: map[int]func(){}}
}

// over reports whether the process has died since.
func (l *life) over() bool { return l.ctx.Err() != nil }

// abandon makes the goroutines of a life end: everything that they wait for, or request from
// now on, fails.
func (w *walk) abandon(l *life) {
	w.wake(l.end)
	for _, no := range slices.Sorted(maps.Keys(l.waiting)) {
		l.waiting[no]()
	}
}

// task is code of lockstep about a group that a process runs in a goroutine.
type task struct {
	*process
	living *life
	no     int
	g      *simulatedGroup
}

// taskKey is the key of the task in a context.
type taskKey struct{}

// run starts code as a task. If the process is still in the same life when the task ends, then
// runs in the event loop.
func (p *process) run(g *simulatedGroup, code func(context.Context, *task), then func()) {
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

// at runs do in the event loop for a task. It takes no simulated time.
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

// await sends a request for a task and waits for the answer.
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

// pass advances the time of the bubble, which lockstep's own code uses as its steady clock, to
// the time of the walk.
func (w *walk) pass() {
	if ahead := w.now - time.Since(w.began); ahead > 0 { //nolint:forbidigo // the time of the bubble
		time.Sleep(ahead) //nolint:forbidigo // the same
	}
}
