package main

import (
	"fmt"
	"io"
	"net"
	"sync"
)

// service is the Service in front of the webhooks of two operators. It distributes connections over
// the available ones.
type service struct {
	listener net.Listener

	mu          sync.Mutex
	addresses   [2]string // empty: not available
	closed      bool      // refuses all connections
	turn        int
	connections map[net.Conn]bool
}

func newService() (*service, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("start service: %w", err)
	}
	s := &service{listener: listener, connections: map[net.Conn]bool{}, closed: true}
	go s.accept()
	return s, nil
}

func (s *service) address() string { return s.listener.Addr().String() }

// setAddress sets the address of an operator, or an empty one if it is not available.
func (s *service) setAddress(replica int, address string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.addresses[replica] = address
}

// open accepts connections from now on.
func (s *service) open() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = false
}

// cut closes all connections. It reports whether there were any.
func (s *service) cut() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.connections {
		_ = c.Close() // the connection may be closed already
	}
	return len(s.connections) > 0
}

func (s *service) close() {
	_ = s.listener.Close()
	s.cut()
}

func (s *service) accept() {
	for {
		in, err := s.listener.Accept()
		if err != nil {
			return // the listener is closed
		}
		go s.forward(in)
	}
}

func (s *service) forward(in net.Conn) {
	defer func() { _ = in.Close() }() // the connection may be closed already
	out := s.dial()
	if out == nil {
		return
	}
	defer func() { _ = out.Close() }()
	s.add(in)
	defer s.remove(in)
	requestDone := make(chan struct{})
	go func() {
		defer close(requestDone)
		_, _ = io.Copy(out, in) // either side may disconnect
		_ = out.Close()
	}()
	_, _ = io.Copy(in, out)
	_ = in.Close()
	<-requestDone
}

// dial connects to the next operator, or else to the other one.
func (s *service) dial() net.Conn {
	for range s.addresses {
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
	if s.closed {
		return ""
	}
	s.turn++
	return s.addresses[s.turn%len(s.addresses)]
}

func (s *service) add(c net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.connections[c] = true
}

func (s *service) remove(c net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.connections, c)
}
