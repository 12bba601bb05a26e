package server

import (
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// drain closes a listener whose clients keep connections open and do not repeat requests.
// After start, each response asks its client to close the connection. So no request is in
// flight on a connection that the server closes.
type drain struct {
	started atomic.Bool
	open    atomic.Int64  // number of open connections
	closed  chan struct{} // receives a value after connections were closed; one value may stand for several
}

// attach makes an http.Server count its connections and drain.
func (d *drain) attach(h *http.Server) {
	d.closed = make(chan struct{}, 1)
	h.ConnState = d.count
	handler := h.Handler
	h.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if d.started.Load() {
			w.Header().Set("Connection", "close") // in HTTP/2 this sends GOAWAY
		}
		handler.ServeHTTP(w, r)
	})
}

func (d *drain) count(_ net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		d.open.Add(1)
	case http.StateClosed, http.StateHijacked:
		d.open.Add(-1)
		select {
		case d.closed <- struct{}{}:
		default:
		}
	default:
	}
}

func (d *drain) start() { d.started.Store(true) }

// wait returns when no connection is open, or after limit.
func (d *drain) wait(limit time.Duration) {
	over := time.After(limit)
	for d.open.Load() > 0 {
		select {
		case <-d.closed:
		case <-over:
			return
		}
	}
}
