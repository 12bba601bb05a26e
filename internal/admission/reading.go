package admission

import (
	"context"
	"net/http"
)

// largeReview is up to which size reviews are read beside each other, in bytes: what
// they bring along takes up to thirty times that in memory.
const largeReview = 512 << 10

// readingRoom lets requests that bring much along, or do not say how much, be read one
// after the other. The rest waits for nobody, and nobody is in it while being judged.
type readingRoom chan struct{}

// enter waits until the request may be read. What it returns is called when that is done.
func (room readingRoom) enter(r *http.Request) (leave func(), err error) {
	if 0 <= r.ContentLength && r.ContentLength <= largeReview {
		return func() {}, nil
	}
	select {
	case room <- struct{}{}:
		return func() { <-room }, nil
	case <-r.Context().Done():
		return nil, refusal{http.StatusServiceUnavailable, "lockstep is busy with other large reviews; try again"}
	}
}

// understood decides about a review of which all is read that it needs.
type understood func(context.Context) Verdict

// read reads a review and what its judge needs of it.
func (h *webhook) read(w http.ResponseWriter, r *http.Request) (*review, understood, error) {
	leave, err := h.large.enter(r)
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
