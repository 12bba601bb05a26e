package localcluster

import (
	"context"
	"errors"
	"net"
	"strconv"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// reserveAnyPort reserves a free port. If a program of another test was faster, it tries another
// port, like the start of a cluster.
func reserveAnyPort(t *testing.T) (ports []int, release func()) {
	t.Helper()
	for {
		ports, err := freePorts(1)
		if err != nil {
			t.Fatal(err)
		}
		release, err := reserve(ports[0])
		if err == nil {
			return ports, release
		}
		if !portTaken(err) {
			t.Fatal(err)
		}
	}
}

func TestAReservedPortIsGivenOnlyOnRequest(t *testing.T) {
	t.Parallel()
	ports, release := reserveAnyPort(t)
	t.Cleanup(release)
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(ports[0]))
	for range 2 { // like a program that is started again
		listener, err := net.Listen("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		if !listens(ports[0]) {
			t.Error("no answer")
		}
		if err := listener.Close(); err != nil {
			t.Fatal(err)
		}
		// A program that another test starts has a copy of all sockets until it is executed.
		silent := func(context.Context) (bool, error) { return !listens(ports[0]), nil }
		if err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, 10*time.Second, true, silent); err != nil {
			t.Errorf("a connection succeeds although no process listens: %v", err)
		}
	}
	// The kernel gives a program that does not share ports no reserved port.
	alone := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		var refused error
		err := c.Control(func(socket uintptr) {
			refused = syscall.SetsockoptInt(int(socket), syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 0)
		})
		return errors.Join(err, refused)
	}}
	if listener, err := alone.Listen(t.Context(), "tcp", address); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("another process has it: %v, %v", listener, err)
	}
}
