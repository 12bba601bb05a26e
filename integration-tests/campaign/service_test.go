package main

import (
	"io"
	"net"
	"testing"
	"time"
)

// says is somebody who says a word to whoever connects, and waits until he leaves.
func says(t *testing.T, word string) net.Listener {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				_, _ = io.WriteString(c, word)
				_, _ = c.Read(make([]byte, 1))
				_ = c.Close()
			}()
		}
	}()
	return listener
}

// hears connects to a service and returns the connection and what is said there.
func hears(t *testing.T, s *service) (net.Conn, string) {
	t.Helper()
	c, err := net.Dial("tcp", s.address())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	word := make([]byte, 1)
	if _, err := c.Read(word); err != nil {
		return c, ""
	}
	return c, string(word)
}

func TestAServiceLeadsToWhoIsThere(t *testing.T) {
	t.Parallel()
	s, err := newService()
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	a, b := says(t, "a"), says(t, "b")
	s.leads(0, a.Addr().String())
	s.leads(1, b.Addr().String())
	if _, word := hears(t, s); word != "" {
		t.Errorf("before it is open %q answers", word)
	}
	s.opens()
	heard := map[string]int{}
	for range 4 {
		_, word := hears(t, s)
		heard[word]++
	}
	if heard["a"] != 2 || heard["b"] != 2 {
		t.Errorf("of two, these answered: %v", heard)
	}
	_ = a.Close() // and nobody has said so
	for range 2 {
		if _, word := hears(t, s); word != "b" {
			t.Errorf("%q answers, want b", word)
		}
	}
	s.leads(1, "")
	if _, word := hears(t, s); word != "" {
		t.Errorf("nobody is there, and %q answers", word)
	}
}

func TestAServiceIsCut(t *testing.T) {
	t.Parallel()
	s, err := newService()
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	if s.cut() {
		t.Error("there was a connection to cut")
	}
	s.leads(0, says(t, "a").Addr().String())
	s.opens()
	c, _ := hears(t, s)
	if !s.cut() {
		t.Error("there was no connection to cut")
	}
	if _, err := c.Read(make([]byte, 1)); err == nil {
		t.Error("it goes on")
	}
}
