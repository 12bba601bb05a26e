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

// taskRunner runs lockstep's own blocking code in goroutines in the bubble of the schedule, so
// that a schedule is deterministic. The goroutines access nothing of the walk. A goroutine
// submits a loopCall and waits. Once all goroutines wait, the event loop runs the calls one by
// one.
type taskRunner struct {
	resumptions []func()  // each starts a goroutine, or passes an answer to it
	tasks       int       // number of tasks so far
	began       time.Time // in the time of the bubble

	mu    sync.Mutex
	calls []loopCall
}

// loopCall is a function that the event loop runs for a goroutine.
type loopCall struct {
	task  int    // the number of the task
	final bool   // the task has ended
	what  string // distinguishes calls that a task submits at the same time
	run   func()
}

func (h *taskRunner) submit(c loopCall) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.calls = append(h.calls, c)
}

// resumeTask makes a goroutine continue after the current event.
func (h *taskRunner) resumeTask(do func()) { h.resumptions = append(h.resumptions, do) }

// waitForTasks returns once every goroutine has ended or waits for a future event.
func (h *taskRunner) waitForTasks() {
	for {
		if len(h.resumptions) > 0 {
			wake := h.resumptions[0]
			h.resumptions = h.resumptions[1:]
			wake()
			synctest.Wait()
			continue
		}
		next, submitted := h.nextCall()
		if !submitted {
			return
		}
		next.run()
	}
}

// nextCall returns the first call of the oldest task. A task can submit several calls at a time: the
// concurrent lists of a live read, or its end together with a write for which its answer did not
// wait.
func (h *taskRunner) nextCall() (loopCall, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.calls) == 0 {
		return loopCall{}, false
	}
	slices.SortStableFunc(h.calls, func(a, b loopCall) int {
		if a.task == b.task && a.final && !b.final {
			return -1
		}
		return cmp.Or(cmp.Compare(a.task, b.task), cmp.Compare(a.what, b.what))
	})
	first := h.calls[0]
	h.calls = slices.Delete(h.calls, 0, 1)
	return first, true
}

// errDied is the answer to every request that is pending when a process dies.
var errDied = errors.New("the process has died")

// lifetime is the time from a start of a process to its death. The goroutines of a lifetime end with it.
type lifetime struct {
	ctx     context.Context //nolint:containedctx // ends with the process
	end     context.CancelFunc
	pending map[int]func() // each makes a pending request fail; keys ascend in the order of the requests
	started int
}

func newLifetime(schedule context.Context) *lifetime {
	ctx, end := context.WithCancel(schedule)
	return &lifetime{ctx: ctx, end: end, pending: map[int]func(){}}
}

// ended reports whether the process has died since the start of the lifetime.
func (l *lifetime) ended() bool { return l.ctx.Err() != nil }

// endLifetime ends the goroutines of a lifetime: their pending requests and all later ones fail.
func (w *walk) endLifetime(l *lifetime) {
	w.resumeTask(l.end)
	for _, no := range slices.Sorted(maps.Keys(l.pending)) {
		l.pending[no]()
	}
}

// task is lockstep's own code about a group, in a goroutine of a process.
type task struct {
	*process
	lifetime *lifetime
	no       int
	g        *simulatedGroup
}

// taskKey is the key of the task in a context.
type taskKey struct{}

// run starts code as a task. If the lifetime has not ended when the task ends, the event loop runs then.
func (p *process) run(g *simulatedGroup, code func(context.Context, *task), then func()) {
	p.tasks++
	t := &task{process: p, lifetime: p.lifetime, no: p.tasks, g: g}
	p.resumeTask(func() {
		p.catchUp()
		go func() {
			code(context.WithValue(t.lifetime.ctx, taskKey{}, t), t)
			t.submit(loopCall{task: t.no, final: true, run: func() {
				if !t.lifetime.ended() {
					then()
				}
			}})
		}()
	})
}

// runInLoop runs do in the event loop for a task. It takes no simulated time.
func runInLoop[T any](t *task, do func() T) T {
	answers := make(chan T, 1)
	t.submit(loopCall{task: t.no, run: func() {
		value := do()
		t.resumeTask(func() { answers <- value })
	}})
	return <-answers
}

// result is the answer to a request.
type result[T any] struct {
	value T
	err   error
}

// awaitAnswer sends a request for a task and waits for the answer.
func awaitAnswer[T any](t *task, what string, send func(answer func(T, error))) (T, error) {
	answers := make(chan result[T], 1)
	t.submit(loopCall{task: t.no, what: what, run: func() {
		lifetime := t.lifetime
		lifetime.started++
		no, open := lifetime.started, true
		answer := func(v T, err error) {
			if !open {
				return
			}
			open = false
			delete(lifetime.pending, no)
			t.resumeTask(func() {
				t.catchUp()
				answers <- result[T]{v, err}
			})
		}
		fail := func() {
			var none T
			answer(none, errDied)
		}
		if lifetime.ended() {
			fail()
			return
		}
		lifetime.pending[no] = fail
		send(answer)
	}})
	a := <-answers
	return a.value, a.err
}

// advanceBubbleTime advances the time of the bubble, which lockstep's own code uses as its steady clock, to
// the time of the walk.
func (w *walk) advanceBubbleTime() {
	if ahead := w.now - time.Since(w.began); ahead > 0 { //nolint:forbidigo // the time of the bubble
		time.Sleep(ahead) //nolint:forbidigo // the same
	}
}
