package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/sirupsen/logrus"
	"go.uber.org/goleak"

	"github.com/lockstep-dev/lockstep/internal/serve/server"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func text(s string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%s namespace=%q group=%q", s, r.PathValue("namespace"), r.PathValue("group"))
	})
}

func silent() *logrus.Logger {
	log := logrus.New()
	log.SetOutput(io.Discard)
	return log
}

// serve runs a server on a free port of this machine until the test ends.
func serve(t *testing.T, o server.Options) string {
	t.Helper()
	o.Host, o.Log = "127.0.0.1", silent()
	s, err := server.Listen(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return "http://" + s.Address()
}

func get(t *testing.T, url string) (int, string) {
	t.Helper()
	return request(t, http.MethodGet, url, nil)
}

func request(t *testing.T, method, url string, body io.Reader) (int, string) {
	t.Helper()
	status, got, err := try(t.Context(), method, url, body)
	if err != nil {
		t.Fatal(err)
	}
	return status, got
}

func try(ctx context.Context, method, url string, body io.Reader) (int, string, error) {
	request, err := http.NewRequestWithContext(ctx, method, url, body)
	if err != nil {
		return 0, "", err
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer answer.Body.Close()
	got, err := io.ReadAll(answer.Body)
	return answer.StatusCode, string(got), err
}

// dial reports whether a server answers at the address.
func dial(t *testing.T, address string) error {
	t.Helper()
	connection, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
	if err != nil {
		return err
	}
	return connection.Close()
}

func TestRoutes(t *testing.T) {
	url := serve(t, server.Options{Metrics: text("metrics"), Config: text("config"), Groups: text("groups")})
	for name, tc := range map[string]struct {
		method, path string
		status       int
		body         string // the beginning
	}{
		"metrics":                      {"GET", "/metrics", 200, `metrics namespace="" group=""`},
		"the configuration":            {"GET", "/debug/config", 200, `config`},
		"all groups":                   {"GET", "/debug/groups", 200, `groups namespace="" group=""`},
		"all groups, with a slash":     {"GET", "/debug/groups/", 200, `groups namespace="" group=""`},
		"one group":                    {"GET", "/debug/groups/mimir/ingester", 200, `groups namespace="mimir" group="ingester"`},
		"the group with an empty name": {"GET", "/debug/groups/mimir/", 200, `groups namespace="mimir" group=""`},
		"a group with an odd name":     {"GET", "/debug/groups/mimir/a%2Fb_C.d", 200, `groups namespace="mimir" group="a/b_C.d"`},
		"an object without a group":    {"GET", "/debug/groups/mimir/statefulset/x", 200, `groups namespace="mimir" group="statefulset/x"`},
		"readiness without checks":     {"GET", "/ready", 200, "ok\n"},
		"health without checks":        {"GET", "/healthz", 200, "ok\n"},
		"the list of profiles":         {"GET", "/debug/pprof/", 200, "<html>"},
		"a named profile":              {"GET", "/debug/pprof/goroutine?debug=1", 200, "goroutine profile:"},
		"the command line":             {"GET", "/debug/pprof/cmdline", 200, ""},
		"symbols":                      {"POST", "/debug/pprof/symbol", 200, "num_symbols"},
		"the index":                    {"GET", "/", 200, "lockstep\n"},
		"only the head":                {"HEAD", "/ready", 200, ""},
		"nothing":                      {"GET", "/favicon.ico", 404, ""},
		"POST is not allowed":          {"POST", "/debug/groups/mimir/ingester", 405, ""},
		"DELETE is not allowed":        {"DELETE", "/metrics", 405, ""},
	} {
		t.Run(name, func(t *testing.T) {
			status, body := request(t, tc.method, url+tc.path, nil)
			if status != tc.status || !strings.HasPrefix(body, tc.body) {
				t.Errorf("%s %s: got %d %q, want %d %q...", tc.method, tc.path, status, body, tc.status, tc.body)
			}
		})
	}
}

func TestIndexListsExactlyTheServedPaths(t *testing.T) {
	_, all := get(t, serve(t, server.Options{Metrics: text(""), Config: text(""), Groups: text("")})+"/")
	_, few := get(t, serve(t, server.Options{})+"/")
	for _, path := range []string{"/metrics", "/debug/config", "/debug/groups", "/debug/groups/{namespace}/{group}"} {
		if !strings.Contains(all, "  "+path+" ") {
			t.Errorf("%s is not listed:\n%s", path, all)
		}
		if strings.Contains(few, path) {
			t.Errorf("%s is listed, and does not exist:\n%s", path, few)
		}
	}
	for _, path := range []string{"/ready", "/healthz", "/debug/pprof/"} {
		if !strings.Contains(few, "  "+path+" ") {
			t.Errorf("%s is not listed:\n%s", path, few)
		}
	}
}

func TestEveryRequestRunsAllChecks(t *testing.T) {
	var synced, leads atomic.Bool
	leads.Store(true)
	url := serve(t, server.Options{
		Ready: []server.Check{
			{"caches", func() error {
				if !synced.Load() {
					return errors.New("pods: not\nyet synced")
				}
				return nil
			}},
			{"api", func() error { return nil }},
		},
		Healthy: []server.Check{{"loop", func() error {
			if !leads.Load() {
				return errors.New("stuck")
			}
			return nil
		}}},
	})
	for _, step := range []struct {
		name   string
		set    func()
		path   string
		status int
		body   string
	}{
		{"not ready before the caches are", func() {}, "/ready", 500, "caches: pods: not yet synced\napi: ok\n"},
		{"ready with them", func() { synced.Store(true) }, "/ready", 200, "caches: ok\napi: ok\n"},
		{"and not for ever", func() { synced.Store(false) }, "/ready", 500, "caches: pods: not yet synced\napi: ok\n"},
		{"health is another question", func() {}, "/healthz", 200, "loop: ok\n"},
		{"with an answer of its own", func() { leads.Store(false) }, "/healthz", 500, "loop: stuck\n"},
	} {
		step.set()
		status, body := get(t, url+step.path)
		if status != step.status || body != step.body {
			t.Errorf("%s: got %d %q, want %d %q", step.name, status, body, step.status, step.body)
		}
	}
}

func TestListenLogsAnAddressThatClientsCanDial(t *testing.T) {
	for name, tc := range map[string]struct {
		host       string
		everywhere bool
	}{
		"on one interface":   {"127.0.0.1", false},
		"on all interfaces":  {"", true},
		"on all of them, v4": {"0.0.0.0", true},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			log := logrus.New()
			log.SetOutput(&out)
			log.SetFormatter(&logrus.JSONFormatter{})
			s, err := server.Listen(t.Context(), server.Options{Host: tc.host, Log: log})
			if err != nil {
				t.Fatal(err)
			}
			var line map[string]string
			if err := json.Unmarshal(out.Bytes(), &line); err != nil {
				t.Fatalf("%q: %v", out.String(), err)
			}
			if line["msg"] != "listening" || line["address"] != s.Address() {
				t.Errorf("logged %v, want msg=listening and address=%s", line, s.Address())
			}
			if _, port, _ := net.SplitHostPort(line["listen"]); tc.everywhere && !strings.HasSuffix(s.Address(), ":"+port) || !tc.everywhere && line["listen"] != "" {
				t.Errorf("listen=%q next to address %s", line["listen"], s.Address())
			}
			if err := dial(t, line["address"]); err != nil {
				t.Errorf("the address cannot be dialled: %v", err)
			}
			ctx, stop := context.WithCancel(t.Context())
			stop()
			if err := s.Serve(ctx); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestListenFailsIfThePortIsInUse(t *testing.T) {
	address := strings.TrimPrefix(serve(t, server.Options{}), "http://")
	_, text, _ := net.SplitHostPort(address)
	port, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	_, err = server.Listen(t.Context(), server.Options{Host: "127.0.0.1", Port: port, Log: silent()})
	if err == nil || !strings.HasPrefix(err.Error(), "listen on "+address+": ") {
		t.Errorf("got %v, want an error that names %s", err, address)
	}
}

func TestShutdownWaitsForRequestsInProgress(t *testing.T) {
	inside, release := make(chan struct{}), make(chan struct{})
	s, err := server.Listen(t.Context(), server.Options{
		Host: "127.0.0.1", Log: silent(),
		Groups: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			close(inside)
			<-release
			fmt.Fprint(w, "whole")
		}),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended, answered := make(chan error, 1), make(chan string, 1)
	go func() { ended <- s.Serve(ctx) }()
	go func() {
		_, body, err := try(t.Context(), http.MethodGet, "http://"+s.Address()+"/debug/groups", nil)
		answered <- fmt.Sprint(body, err)
	}()
	<-inside
	stop()
	select {
	case err := <-ended:
		t.Fatalf("Serve returned (%v) with a request in progress", err)
	case <-time.After(50 * time.Millisecond):
	}
	close(release)
	if got := <-answered; got != "whole<nil>" {
		t.Errorf("got %q, want the complete answer", got)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if err := dial(t, s.Address()); err == nil {
		t.Error("the port is still open")
	}
}

func TestTooLargeBodyIsRejected(t *testing.T) {
	read := make(chan string, 1)
	url := serve(t, server.Options{Groups: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		n, err := io.Copy(io.Discard, r.Body)
		read <- fmt.Sprint(n, " ", err)
	})})
	_, _ = request(t, http.MethodGet, url+"/debug/groups", bytes.NewReader(make([]byte, 65<<10)))
	if diff := cmp.Diff("65536 http: request body too large", <-read); diff != "" {
		t.Errorf("read (-want +got):\n%s", diff)
	}
}

func TestProfilesCanExceedTheWriteTimeout(t *testing.T) {
	url := serve(t, server.Options{})
	status, body := get(t, url+"/debug/pprof/profile?seconds=1")
	if status != http.StatusOK || len(body) == 0 {
		t.Errorf("got %d with %d bytes", status, len(body))
	}
}
