package walk

import (
	"cmp"
	"slices"
	"sync"
	"testing/synctest"
)

// handover lets lockstep's own code, which blocks, run beside the loop of events, so that a
// schedule is the same history each time: in goroutines of the bubble of the schedule, which
// touch nothing of the walk. A goroutine hands over what is to be done for it and waits. The
// loop does that, one after the other, once all goroutines wait.
type handover struct {
	mu      sync.Mutex
	errands []errand
	woken   bool // a goroutine was begun, or got its answer, since all of them waited
	begun   int  // goroutines so far
}

// errand is what the loop of events does for a goroutine.
type errand struct {
	of    int  // the number of the goroutine
	final bool // after which it does nothing more
	do    func()
}

func (h *handover) hand(e errand) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.errands = append(h.errands, e)
}

// allWait returns when every goroutine has ended, or waits for what an event will bring.
func (h *handover) allWait() {
	for {
		if h.woken {
			h.woken = false
			synctest.Wait()
		}
		next, handed := h.next()
		if !handed {
			return
		}
		next.do()
	}
}

// next takes the errand of the goroutine that was begun first. It may hand over two at a
// time: its answer, and what it has begun to write that the answer does not wait for.
func (h *handover) next() (errand, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.errands) == 0 {
		return errand{}, false
	}
	slices.SortStableFunc(h.errands, func(a, b errand) int {
		if a.of == b.of && a.final != b.final && a.final {
			return -1
		}
		return cmp.Compare(a.of, b.of)
	})
	first := h.errands[0]
	h.errands = slices.Delete(h.errands, 0, 1)
	return first, true
}
