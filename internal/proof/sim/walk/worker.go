package walk

import (
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// The back-off of internal/control/loop.
const (
	firstErrorBackOff      = 50 * time.Millisecond
	longestErrorBackOff    = time.Minute
	firstConflictBackOff   = 2 * time.Millisecond
	longestConflictBackOff = time.Second
)

// onlyEvents is the time after which a group is reconciled again if only an event leads to it.
const onlyEvents = time.Duration(1<<63 - 1)

// worker decides when a leader reconciles one group, as internal/control/loop: it has the queue, the timer and the back-off
// of the group. It ends with the term of the leader.
type worker struct {
	*process

	reconcile func()               // must call end at last
	latency   func() time.Duration // from the time at which a reconcile is queued until it begins
	term      int

	queued, busy, rerun bool
	timer               int     // number of timers that were set; only the last one fires
	failures, conflicts int     // consecutive results of that kind
	retryAt             instant // of the steady clock, after the last failure
}

func (p *process) newWorker(reconcile func()) *worker {
	return &worker{process: p, term: p.term, reconcile: reconcile, latency: func() time.Duration {
		return p.between(50*time.Microsecond, 2*time.Millisecond)
	}}
}

// add queues a reconcile. Requests before its begin are merged.
func (wk *worker) add() {
	switch {
	case wk.busy:
		wk.rerun = true
	case !wk.queued:
		wk.queued = true
		wk.inTerm(wk.latency(), wk.begin)
	}
}

// inTerm runs do later, unless the process stops leading before.
func (wk *worker) inTerm(d time.Duration, do func()) {
	wk.after(d, func() {
		if wk.process.term == wk.term {
			do()
		}
	})
}

func (wk *worker) begin() {
	wk.queued, wk.busy, wk.rerun = false, true, false
	wk.timer++
	wk.reconcile()
}

// end ends a reconcile and sets the timer: for the next one, or for a retry after an error.
func (wk *worker) end(requeueAfter time.Duration, err error) {
	wk.busy = false
	requeueAfter = min(requeueAfter, wk.backOff(err))
	switch {
	case wk.rerun:
		wk.add()
	case requeueAfter != onlyEvents:
		timer := wk.timer
		wk.inTerm(wk.clock.trueDuration(requeueAfter), func() {
			if wk.timer == timer {
				wk.add()
			}
		})
	}
}

// backOff returns after which time a reconcile is retried because of its error. Failures that follow each other before
// their time has come do not make it longer.
func (wk *worker) backOff(err error) time.Duration {
	switch {
	case err == nil || reason.ClassOf(err) == reason.Human:
		wk.failures, wk.conflicts, wk.retryAt = 0, 0, 0
		return onlyEvents
	case reason.ClassOf(err) == reason.Moved:
		wk.conflicts++
		return doubled(firstConflictBackOff, longestConflictBackOff, wk.conflicts-1)
	}
	now := wk.clock.steadyDuration(wk.now)
	if left := wk.retryAt - now; left > 0 {
		return left
	}
	wk.failures++
	after := doubled(firstErrorBackOff, longestErrorBackOff, wk.failures-1)
	wk.retryAt = now + after
	return after
}

// doubled returns a duration after it was doubled so many times.
func doubled(first, most time.Duration, times int) time.Duration {
	return min(most, first<<min(times, 20))
}
