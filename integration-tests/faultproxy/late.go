package faultproxy

import (
	"io"
	"net/http"
	"time"
)

// alter delays the events of a new watch, and limits its duration.
func (p *Proxy) alter(r *http.Response) error {
	if r.StatusCode != http.StatusOK {
		return nil
	}
	resource := parsePath(r.Request.URL.Path).Resource
	r.Body = p.listens(resource, r.Body)
	if late := p.tellsLate(resource); late > 0 {
		r.Body = newLateBody(r.Body, func() time.Duration { return late })
	}
	fault, _ := r.Request.Context().Value(played{}).(Fault)
	if fault.life > 0 {
		r.Body = newShortBody(r.Body, fault.life, func() { p.happens(fault) })
	} else {
		p.happens(fault) // the watch was held back
	}
	return nil
}

// tellsLate returns the delay of the events of a new watch, and counts the watch if there is a
// delay.
func (p *Proxy) tellsLate(resource string) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	late := p.late[resource]
	if late > 0 {
		p.counts.Late[resource]++
	}
	return late
}

// ahead is how many pieces of a body may wait at the same time.
const ahead = 1 << 12

// lateBody reads ahead and returns each piece when its delay has passed.
type lateBody struct {
	from   io.ReadCloser
	delay  func() time.Duration
	pieces chan piece
	rest   []byte
	closed chan struct{}
}

type piece struct {
	due  time.Time
	data []byte
	err  error
}

func newLateBody(from io.ReadCloser, delay func() time.Duration) *lateBody {
	b := &lateBody{from: from, delay: delay, pieces: make(chan piece, ahead), closed: make(chan struct{})}
	go b.readAhead()
	return b
}

func (b *lateBody) readAhead() {
	defer close(b.pieces)
	for {
		data := make([]byte, 32<<10)
		n, err := b.from.Read(data)
		select {
		case b.pieces <- piece{time.Now().Add(b.delay()), data[:n], err}:
		case <-b.closed:
			return
		}
		if err != nil {
			return
		}
	}
}

// Read implements io.Reader.
func (b *lateBody) Read(p []byte) (int, error) {
	if len(b.rest) == 0 {
		next, err := b.next()
		if err != nil {
			return 0, err
		}
		if len(next.data) == 0 {
			return 0, next.err
		}
		b.rest = next.data
	}
	n := copy(p, b.rest)
	b.rest = b.rest[n:]
	return n, nil
}

// next waits for a piece, and until it is due.
func (b *lateBody) next() (piece, error) {
	select {
	case next, more := <-b.pieces:
		if !more {
			return piece{}, io.EOF
		}
		select {
		case <-time.After(time.Until(next.due)):
			return next, nil
		case <-b.closed:
		}
	case <-b.closed:
	}
	return piece{}, io.ErrClosedPipe
}

// Close implements io.Closer. It is called once.
func (b *lateBody) Close() error {
	close(b.closed)
	return b.from.Close()
}
