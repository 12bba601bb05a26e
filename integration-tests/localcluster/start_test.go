package localcluster

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"testing/synctest"
)

func TestATakenPortIsRecognised(t *testing.T) {
	t.Parallel()
	programs, err := findPrograms(t.Context(), Options{}.programs(), testWriter{t})
	if err != nil {
		t.Fatal(err)
	}
	for name, port := range map[string]func(ports) int{
		"the API server's": func(p ports) int { return p.apiserver },
		"etcd's":           func(p ports) int { return p.etcdClient },
		"etcd's for peers": func(p ports) int { return p.etcdPeer },
	} {
		t.Run(name, func(t *testing.T) {
			err := runWithPortTaken(t, programs, port)
			if err == nil || !portTaken(err) {
				t.Errorf("got %v, wanted an error about the address", err)
			}
		})
	}
}

func runWithPortTaken(t *testing.T, programs map[string]string, port func(ports) int) error {
	t.Helper()
	options, err := Options{}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	room, err := newRoom()
	if err != nil {
		t.Fatal(err)
	}
	c := &Cluster{options: options, room: room}
	t.Cleanup(func() {
		c.killAll()
		_ = room.remove()
	})
	if err := c.furnish(); err != nil {
		t.Fatal(err)
	}
	squatter, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port(c.ports)))
	if err != nil {
		t.Fatal(err)
	}
	defer squatter.Close()
	ctx, cancel := context.WithTimeout(t.Context(), startTimeout)
	defer cancel()
	return c.run(ctx, programs)
}

func TestABuildShowsPlainLinesWhereThereIsNoTerminal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		task := startTask(&out, "counting")
		task.expect(4)
		task.step()
		if got, want := task.text(), "counting: 1 of at most 4 packages after 0s"; got != want {
			t.Errorf("shows %q, want %q", got, want)
		}
		task.end(nil)
		if got, want := out.String(), "counting\ncounting: done after 0s\n"; got != want {
			t.Errorf("printed %q, want %q", got, want)
		}
	})
}

type testWriter struct{ t *testing.T }

func (w testWriter) Write(p []byte) (int, error) {
	w.t.Log(strings.TrimSpace(string(p)))
	return len(p), nil
}
