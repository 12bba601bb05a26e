package faultproxy

import (
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Pipe passes connections on, whatever is said on them, and hands answers on late.
// An API server that reaches etcd through one goes on answering from what it knew a
// while ago: whoever comes to it from another API server goes back in time.
type Pipe struct {
	listener net.Listener
	target   string
	late     atomic.Int64 // nanoseconds

	mu     sync.Mutex
	open   map[net.Conn]bool
	closed bool
}

// StartPipe starts a pipe to a target, HOST:PORT, which hands on at once. The caller
// calls Close.
func StartPipe(target string) (*Pipe, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("start pipe: %w", err)
	}
	p := &Pipe{listener: listener, target: target, open: map[net.Conn]bool{}}
	go p.accept()
	return p, nil
}

// Address is where the pipe listens, HOST:PORT.
func (p *Pipe) Address() string { return p.listener.Addr().String() }

// Delay sets how late answers are from now on.
func (p *Pipe) Delay(d time.Duration) { p.late.Store(int64(d)) }

// Close ends the pipe and cuts its connections.
func (p *Pipe) Close() {
	_ = p.listener.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for c := range p.open {
		_ = c.Close() // an error is one of a connection that has ended by itself
	}
}

func (p *Pipe) accept() {
	for {
		in, err := p.listener.Accept()
		if err != nil {
			return // closed
		}
		go p.pass(in)
	}
}

func (p *Pipe) pass(in net.Conn) {
	defer func() { _ = in.Close() }() // an error is one of a connection that has ended
	out, err := net.Dial("tcp", p.target)
	if err != nil {
		return // so is the client's connection
	}
	defer func() { _ = out.Close() }()
	if !p.keep(in, out) {
		return
	}
	defer p.forget(in, out)
	asked := make(chan struct{})
	go func() {
		defer close(asked)
		_, _ = io.Copy(out, in) // either side may leave
		_ = out.Close()
	}()
	answers := newLateBody(out, func() time.Duration { return time.Duration(p.late.Load()) })
	_, _ = io.Copy(in, answers)
	_ = answers.Close()
	_ = in.Close()
	<-asked
}

// keep notes connections to be cut at the end, unless this is the end.
func (p *Pipe) keep(all ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range all {
		p.open[c] = true
	}
	return !p.closed
}

func (p *Pipe) forget(all ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range all {
		delete(p.open, c)
	}
}
