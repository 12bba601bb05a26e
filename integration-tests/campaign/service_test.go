package main

import (
	"io"
	"net"
	"testing"
	"time"
)

// serveWord is a server that sends a word to every client.
func serveWord(t *testing.T, word string) net.Listener {
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

// readWord connects to a service and returns the received word.
func readWord(t *testing.T, s *service) (net.Conn, string) {
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

func TestServiceConnectsToAvailableReplica(t *testing.T) {
	t.Parallel()
	s, err := newService()
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	a, b := serveWord(t, "a"), serveWord(t, "b")
	s.setAddress(0, a.Addr().String())
	s.setAddress(1, b.Addr().String())
	if _, word := readWord(t, s); word != "" {
		t.Errorf("before it is open %q answers", word)
	}
	s.open()
	received := map[string]int{}
	for range 4 {
		_, word := readWord(t, s)
		received[word]++
	}
	if received["a"] != 2 || received["b"] != 2 {
		t.Errorf("two replicas: got %v", received)
	}
	_ = a.Close() // without a call of setAddress
	for range 2 {
		if _, word := readWord(t, s); word != "b" {
			t.Errorf("%q answers, want b", word)
		}
	}
	s.setAddress(1, "")
	if _, word := readWord(t, s); word != "" {
		t.Errorf("no replica is available: got %q", word)
	}
}

func TestServiceCut(t *testing.T) {
	t.Parallel()
	s, err := newService()
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	if s.cut() {
		t.Error("there was a connection to cut")
	}
	s.setAddress(0, serveWord(t, "a").Addr().String())
	s.open()
	c, _ := readWord(t, s)
	if !s.cut() {
		t.Error("there was no connection to cut")
	}
	if _, err := c.Read(make([]byte, 1)); err == nil {
		t.Error("it continues")
	}
}
