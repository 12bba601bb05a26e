package server

import (
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// farewell is how a port ends whose clients keep connections and do not ask
// twice: each answer asks its client to call elsewhere from now on, so that no
// request is on its way on a connection that is being closed.
type farewell struct {
	begun  atomic.Bool
	open   atomic.Int64  // connections
	closed chan struct{} // told when one was closed, perhaps several at once
}

// attach makes an http.Server say farewell once it is asked to.
func (f *farewell) attach(h *http.Server) {
	f.closed = make(chan struct{}, 1)
	h.ConnState = f.count
	answer := h.Handler
	h.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if f.begun.Load() {
			w.Header().Set("Connection", "close") // HTTP/2 says GOAWAY for it
		}
		answer.ServeHTTP(w, r)
	})
}

func (f *farewell) count(_ net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		f.open.Add(1)
	case http.StateClosed, http.StateHijacked:
		f.open.Add(-1)
		select {
		case f.closed <- struct{}{}:
		default:
		}
	default:
	}
}

func (f *farewell) begin() { f.begun.Store(true) }

// await returns when no connection is left, or after the limit.
func (f *farewell) await(limit time.Duration) {
	over := time.After(limit)
	for f.open.Load() > 0 {
		select {
		case <-f.closed:
		case <-over:
			return
		}
	}
}
