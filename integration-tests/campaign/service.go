package main

import (
	"fmt"
	"io"
	"net"
	"sync"
)

// service stands before the webhooks of two operators as a Service does: it spreads
// connections over those that are there.
type service struct {
	listener net.Listener

	mu   sync.Mutex
	to   [2]string // addresses; empty: not there
	shut bool      // nobody is there, whoever is
	turn int
	open map[net.Conn]bool
}

func newService() (*service, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("start service: %w", err)
	}
	s := &service{listener: listener, open: map[net.Conn]bool{}, shut: true}
	go s.accept()
	return s, nil
}

func (s *service) address() string { return s.listener.Addr().String() }

// leads says where an operator is, or that it is not there.
func (s *service) leads(replica int, address string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.to[replica] = address
}

// opens lets connections through from now on.
func (s *service) opens() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shut = false
}

// cut ends all connections; it reports whether there were any.
func (s *service) cut() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.open {
		_ = c.Close() // an error is one of a connection that has ended by itself
	}
	return len(s.open) > 0
}

func (s *service) close() {
	_ = s.listener.Close()
	s.cut()
}

func (s *service) accept() {
	for {
		in, err := s.listener.Accept()
		if err != nil {
			return // closed
		}
		go s.pass(in)
	}
}

func (s *service) pass(in net.Conn) {
	defer func() { _ = in.Close() }() // an error is one of a connection that has ended
	out := s.dial()
	if out == nil {
		return
	}
	defer func() { _ = out.Close() }()
	s.keep(in)
	defer s.forget(in)
	asked := make(chan struct{})
	go func() {
		defer close(asked)
		_, _ = io.Copy(out, in) // either side may leave
		_ = out.Close()
	}()
	_, _ = io.Copy(in, out)
	_ = in.Close()
	<-asked
}

// dial connects to whoever's turn it is, or else to the other.
func (s *service) dial() net.Conn {
	for range s.to {
		if to := s.next(); to != "" {
			if out, err := net.Dial("tcp", to); err == nil {
				return out
			}
		}
	}
	return nil
}

func (s *service) next() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shut {
		return ""
	}
	s.turn++
	return s.to[s.turn%len(s.to)]
}

func (s *service) keep(c net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open[c] = true
}

func (s *service) forget(c net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, c)
}
