package podcalls

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"
)

func TestOnlyTheAddressThatWasJudgedIsDialled(t *testing.T) {
	c := conversation{target: netip.MustParseAddrPort("10.244.0.1:80")}
	for address, want := range map[string]bool{
		"10.244.0.1:80": true, "10.244.0.1:81": false, "10.244.0.2:80": false, "127.0.0.1:80": false,
		"[::ffff:10.244.0.1]:80": false, "10.244.0.1": false, "": false,
	} {
		if got := c.permit("tcp4", address) == nil; got != want {
			t.Errorf("%s: permitted %t, want %t", address, got, want)
		}
	}
	if c.permit("udp4", "10.244.0.1:80") == nil {
		t.Error("only TCP is permitted")
	}
	if (conversation{target: netip.MustParseAddrPort("127.0.0.1:80")}).permit("tcp4", "127.0.0.1:80") == nil {
		t.Error("a refused address is refused again when it is dialled")
	}
}

func TestNoConnectionIsOpenedAfterTheCallHasEnded(t *testing.T) {
	c := conversation{target: netip.MustParseAddrPort("10.244.0.1:80")}
	ctx, end := context.WithCancel(t.Context())
	end()
	if _, err := c.transport(ctx).DialContext(t.Context(), "tcp", "pod:80"); !errors.Is(err, context.Canceled) {
		t.Errorf("dialling continues: %v", err)
	}
}

func TestAConnectionHasALimitOfRequestsAndNeedsARequestFirst(t *testing.T) {
	ours, pod := net.Pipe()
	c := bounded(ours, 10)
	defer func() { _ = c.Close() }()
	spoke := make(chan error, 1)
	go func() {
		question := make([]byte, 8)
		n, err := pod.Read(question)
		if err == nil && string(question[:n]) == "question" {
			_, _ = pod.Write([]byte(strings.Repeat("answer", 10))) // it is not read completely
		}
		spoke <- err
	}()
	early := make(chan []byte, 1)
	go func() {
		text, err := io.ReadAll(c)
		if !errors.Is(err, errTooLong) {
			t.Errorf("the end is %v", err)
		}
		early <- text
	}()
	select {
	case text := <-early:
		t.Fatalf("%q was read before anything was sent", text)
	default:
	}
	if _, err := c.Write([]byte("question")); err != nil {
		t.Fatal(err)
	}
	if text := <-early; string(text) != "answeransw" {
		t.Errorf("read %q", text)
	}
	_ = c.Close()
	if err := <-spoke; err != nil {
		t.Error(err)
	}
}

func TestASilentConnectionCanBeClosed(t *testing.T) {
	ours, pod := net.Pipe()
	defer func() { _ = pod.Close() }()
	c := bounded(ours, 10)
	ended := make(chan error, 1)
	go func() {
		_, err := c.Read(make([]byte, 1))
		ended <- err
	}()
	_ = c.Close()
	if err := <-ended; err == nil {
		t.Error("something was read from a closed connection")
	}
}
