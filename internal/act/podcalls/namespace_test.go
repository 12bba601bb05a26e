package podcalls_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/lockstep-dev/lockstep/internal/proof/netns"
)

// Pods are called at their own addresses. The tests therefore run in a separate network namespace, in which
// every address is local and a listener sees the called address.

// noNetwork is why there is no separate network.
var noNetwork error

func TestMain(m *testing.M) {
	if netns.Inside() {
		noNetwork = netns.Own("0.0.0.0/0", "::/0")
	} else {
		code, err := netns.Again(context.Background())
		if err == nil {
			os.Exit(code)
		}
		noNetwork = err
	}
	goleak.VerifyTestMain(m)
}

// land listens on some ports of all addresses and records which ones were reached.
type land struct {
	mu      sync.Mutex
	reached map[string]int // connections by address and port
}

// listen returns a land in which serve handles each connection. The context of serve ends with the test.
func listen(tb testing.TB, serve func(ctx context.Context, c net.Conn), ports ...int) *land {
	tb.Helper()
	netns.Need(tb, noNetwork)
	l := &land{reached: map[string]int{}}
	ctx := tb.Context()
	var busy sync.WaitGroup
	tb.Cleanup(busy.Wait)
	for _, port := range ports {
		listener, err := new(net.ListenConfig).Listen(ctx, "tcp", ":"+strconv.Itoa(port))
		if err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(func() { _ = listener.Close() }) // waits until the port is free
		busy.Go(func() {
			for {
				c, err := listener.Accept()
				if err != nil {
					return
				}
				l.count(c.LocalAddr())
				busy.Go(func() {
					end := context.AfterFunc(ctx, func() { _ = c.Close() })
					serve(ctx, c)
					end()
					_ = c.Close() // it may be closed already
				})
			}
		})
	}
	return l
}

// count counts a connection or a packet.
func (l *land) count(where net.Addr) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reached[addressPort(where)]++
}

func addressPort(where net.Addr) string {
	all, err := netip.ParseAddrPort(where.String())
	if err != nil {
		return where.String()
	}
	return netip.AddrPortFrom(all.Addr().Unmap(), all.Port()).String()
}

// connections returns the addresses that were reached since the previous call.
func (l *land) connections() map[string]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	was := l.reached
	l.reached = map[string]int{}
	return was
}

// httpLand returns a land of ordinary web servers. The handler gets the called address from calledAt.
func httpLand(tb testing.TB, handler http.HandlerFunc, ports ...int) *land {
	tb.Helper()
	netns.Need(tb, noNetwork)
	l := &land{reached: map[string]int{}}
	for _, port := range ports {
		listener, err := new(net.ListenConfig).Listen(tb.Context(), "tcp", ":"+strconv.Itoa(port))
		if err != nil {
			tb.Fatal(err)
		}
		var open sync.WaitGroup
		server := &http.Server{Handler: handler, ConnState: func(c net.Conn, state http.ConnState) {
			if state == http.StateNew {
				open.Add(1)
				l.count(c.LocalAddr())
			}
			if state == http.StateClosed {
				open.Done()
			}
		}}
		served := make(chan error, 1)
		go func() { served <- server.Serve(listener) }()
		tb.Cleanup(func() {
			_ = server.Close()
			if err := <-served; !errors.Is(err, http.ErrServerClosed) {
				tb.Error(err)
			}
			open.Wait()
		})
	}
	return l
}

// calledAt returns the address at which a handler was called.
func calledAt(r *http.Request) string {
	where, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok {
		return ""
	}
	address, _, _ := strings.Cut(addressPort(where), ":")
	return address
}

func podAddress(i int) string { return fmt.Sprintf("10.244.%d.%d", i/200, i%200+1) }
