package admission

import (
	"context"
	"net/http"
	"slices"
	"sync"
)

const (
	// mostRead bounds how much of reviews is read and decoded at once, in bytes: what
	// they bring along takes up to thirty times that in memory.
	mostRead = 2 << 20
	// smallReview is up to which size reviews do not count, in bytes.
	smallReview = 16 << 10
)

// readingRoom is where reviews are while they are read and decoded, and not while they
// are judged. It has room for mostRead bytes, or for a single review that is longer. They
// enter in the order in which they come; small ones take no room and wait for nobody.
type readingRoom struct {
	mu      sync.Mutex
	taken   int64
	waiting []*reader // in the order of arrival
}

// reader is one who takes room, or waits for it.
type reader struct {
	weight int64
	begin  chan struct{} // closed when he may
}

// weigh returns how much room a review takes: all there is if it does not say how long it
// is, or is longer than that.
func weigh(r *http.Request) int64 {
	switch length := r.ContentLength; {
	case length < 0:
		return mostRead
	case length <= smallReview:
		return 0
	default:
		return min(length, mostRead)
	}
}

// enter waits until the request may be read. What it returns is called when that is done.
func (room *readingRoom) enter(r *http.Request) (leave func(), err error) {
	weight := weigh(r)
	if weight == 0 {
		return func() {}, nil
	}
	who := room.queue(weight)
	select {
	case <-who.begin:
		return func() { room.leave(who) }, nil
	case <-r.Context().Done():
		room.leave(who)
		return nil, refusal{http.StatusServiceUnavailable, "lockstep is busy with other large reviews; try again"}
	}
}

func (room *readingRoom) queue(weight int64) *reader {
	room.mu.Lock()
	defer room.mu.Unlock()
	who := &reader{weight, make(chan struct{})}
	room.waiting = append(room.waiting, who)
	room.admit()
	return who
}

// leave ends a wait, or gives back the room.
func (room *readingRoom) leave(who *reader) {
	room.mu.Lock()
	defer room.mu.Unlock()
	if i := slices.Index(room.waiting, who); i >= 0 {
		room.waiting = slices.Delete(room.waiting, i, i+1)
	} else {
		room.taken -= who.weight
	}
	room.admit()
}

// admit lets in those who have waited longest, as far as there is room for them.
func (room *readingRoom) admit() {
	for len(room.waiting) > 0 && room.taken+room.waiting[0].weight <= mostRead {
		first := room.waiting[0]
		room.waiting = slices.Delete(room.waiting, 0, 1)
		room.taken += first.weight
		close(first.begin)
	}
}

// understood decides about a review of which all is read that it needs.
type understood func(context.Context) Verdict

// read reads a review and what its judge needs of it.
func (h *webhook) read(w http.ResponseWriter, r *http.Request) (*review, understood, error) {
	leave, err := h.reading.enter(r)
	if err != nil {
		return nil, nil, err
	}
	defer leave()
	if end, limited := r.Context().Deadline(); limited {
		_ = http.NewResponseController(w).SetReadDeadline(end) // or later, by the server's own limit
	}
	asked, err := readReview(r)
	if err != nil {
		return nil, nil, err
	}
	judge := h.understand(asked)
	asked.body = nil // which is large, and whoever is judged may wait
	return asked, judge, nil
}
