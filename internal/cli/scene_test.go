package cli

import (
	"bytes"
	"context"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/lockstep-dev/lockstep/internal/cli/screen"
	"github.com/lockstep-dev/lockstep/internal/proof/fixture"
)

var update = flag.Bool("update", false, "write what is shown now into testdata")

// scene is a cluster and a user. The time advances only while the test waits.
type scene struct {
	*testing.T
	server *apiServer
	style  screen.Style
	rows   int // of the screen; 0: as many as it takes
	in     string
}

// inScene runs a test in a cluster with scenarios in the notation of package fixture.
func inScene(t *testing.T, situations []string, play func(*scene)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &scene{T: t, server: newServer()}
		for _, text := range situations {
			s.server.show(t, fixture.At(fixture.MustParse(text), time.Now()))
		}
		play(s)
	})
}

// message is a buffer that can be read while it is written.
type message struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *message) Write(text []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(text)
}

func (s *message) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// types runs a command line.
func (s *scene) types(args ...string) (code int, out, errs string) {
	s.Helper()
	var stdout, stderr message
	code = s.begins(s.Context(), &stdout, &stderr, args...)
	return code, stdout.String(), stderr.String()
}

func (s *scene) begins(ctx context.Context, stdout, stderr *message, args ...string) int {
	a := &app{
		streams: Streams{In: strings.NewReader(s.in), Out: stdout, Err: stderr}, style: s.style, measure: s.measure, version: "v0.0.0-test", now: time.Now,
		dial: func(clientcmd.ClientConfig) (*rest.Config, error) { return s.server.config(), nil },
	}
	a.flags.overrides.Context.Namespace = "team"
	return a.run(ctx, append([]string{"--namespace=team", "--kubeconfig=/dev/null"}, args...))
}

// measure returns the current size of the screen.
func (s *scene) measure() screen.Style {
	style := s.style
	style.Rows = s.rows
	return style
}

// watches runs a command that does not end by itself, and returns a function for its output so
// far.
func (s *scene) watches(args ...string) *message {
	var out, errs message
	ctx, stop := contextOf(s)
	ended := make(chan int, 1)
	go func() { ended <- s.begins(ctx, &out, &errs, args...) }()
	s.Cleanup(func() {
		stop()
		if code := <-ended; code != exitOK {
			s.Errorf("%q: exit code %d: %s", args, code, errs.String())
		}
	})
	settleDown()
	return &out
}

// screenOf returns the last page that was drawn on a terminal.
func screenOf(out *message) string {
	text := out.String()
	return text[max(0, strings.LastIndex(text, "\x1b[H")):]
}

// succeeds runs a command line that must succeed.
func (s *scene) succeeds(args ...string) string {
	s.Helper()
	code, out, errs := s.types(args...)
	if code != exitOK || errs != "" {
		s.Fatalf("%v: exit code %d: %s", args, code, errs)
	}
	return out
}

// golden compares text with a file.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}
