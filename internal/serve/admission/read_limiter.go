package admission

import (
	"context"
	"net/http"
	"slices"
	"sync"
)

const (
	// mostRead limits how many bytes of reviews are read and decoded at once. Decoding
	// takes up to thirty times the size in memory.
	mostRead = 2 << 20
	// smallReview is the size up to which reviews do not count, in bytes.
	smallReview = 16 << 10
)

// readLimiter limits the size of the reviews that are read and decoded at the same time. It
// admits mostRead bytes, or one review that is larger. Reviews are admitted in the order of
// their arrival. Small reviews do not count and do not wait.
type readLimiter struct {
	mu      sync.Mutex
	taken   int64
	waiting []*reader // in the order of arrival
}

// reader is a request that is being read, or waits.
type reader struct {
	weight int64
	begin  chan struct{} // closed when it is admitted
}

// weightOf returns the size of a review for the limit. If the length is unknown or greater than
// mostRead, it returns mostRead.
func weightOf(r *http.Request) int64 {
	switch length := r.ContentLength; {
	case length < 0:
		return mostRead
	case length <= smallReview:
		return 0
	default:
		return min(length, mostRead)
	}
}

// enter waits until the request is admitted. The caller calls leave after reading.
func (l *readLimiter) enter(r *http.Request) (leave func(), err error) {
	weight := weightOf(r)
	if weight == 0 {
		return func() {}, nil
	}
	waiter := l.queue(weight)
	select {
	case <-waiter.begin:
		return func() { l.leave(waiter) }, nil
	case <-r.Context().Done():
		l.leave(waiter)
		return nil, refusal{http.StatusServiceUnavailable, "lockstep is busy with other large reviews; try again"}
	}
}

func (l *readLimiter) queue(weight int64) *reader {
	l.mu.Lock()
	defer l.mu.Unlock()
	waiter := &reader{weight, make(chan struct{})}
	l.waiting = append(l.waiting, waiter)
	l.admit()
	return waiter
}

// leave ends a wait, or releases the bytes of an admitted request.
func (l *readLimiter) leave(waiter *reader) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if i := slices.Index(l.waiting, waiter); i >= 0 {
		l.waiting = slices.Delete(l.waiting, i, i+1)
	} else {
		l.taken -= waiter.weight
	}
	l.admit()
}

// admit admits waiting requests in order, up to the limit.
func (l *readLimiter) admit() {
	for len(l.waiting) > 0 && l.taken+l.waiting[0].weight <= mostRead {
		first := l.waiting[0]
		l.waiting = slices.Delete(l.waiting, 0, 1)
		l.taken += first.weight
		close(first.begin)
	}
}

// verdictFunc decides on a review that has been parsed completely.
type verdictFunc func(context.Context) Verdict

// read reads and parses a review.
func (h *webhook) read(w http.ResponseWriter, r *http.Request) (*review, verdictFunc, error) {
	leave, err := h.limiter.enter(r)
	if err != nil {
		return nil, nil, err
	}
	defer leave()
	if end, limited := r.Context().Deadline(); limited {
		_ = http.NewResponseController(w).SetReadDeadline(end) // an error leaves the server's own deadline
	}
	ar, err := readReview(r)
	if err != nil {
		return nil, nil, err
	}
	judge := h.parse(ar)
	ar.body = nil // free the body, because a judge may wait
	return ar, judge, nil
}
