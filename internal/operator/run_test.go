package operator_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/lockstep-dev/lockstep/internal/operator"
	"github.com/lockstep-dev/lockstep/internal/operator/config"
)

// log is the output of a process, readable while the process runs.
type log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// kubeconfig returns the path of a file that names an API server which refuses every request.
func kubeconfig(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }))
	t.Cleanup(server.Close)
	file := filepath.Join(t.TempDir(), "kubeconfig")
	err := os.WriteFile(file, []byte(`{"apiVersion": "v1", "kind": "Config", "current-context": "c",
		"clusters": [{"name": "c", "cluster": {"server": "`+server.URL+`"}}],
		"contexts": [{"name": "c", "context": {"cluster": "c", "user": ""}}]}`), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

func parse(t *testing.T, args ...string) config.Config {
	t.Helper()
	c, _, err := config.Parse(args, config.Environment{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Whatever the state of the cluster, the process reports it, stops on request, and ends all
// goroutines.
func TestWithoutAnyPermission(t *testing.T) {
	leaks := goleak.IgnoreCurrent()
	t.Cleanup(func() { // after all subtests
		if err := goleak.Find(leaks); err != nil {
			t.Error(err)
		}
	})
	for sentence, args := range map[string][]string{
		"with leader election":    {},
		"without leader election": {"-leader-election.enabled=false"},
		"in one namespace":        {"-kubernetes.namespace=team"},
		"in a dry run":            {"-dry-run"},
		"with webhooks":           {"-server-tls.enabled", "-server-tls.port=0"},
	} {
		t.Run(sentence, func(t *testing.T) {
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			c := parse(t, append(args, "-server.port=0", "-kubernetes.config-file="+kubeconfig(t))...)
			var out log
			ended := make(chan error, 1)
			go func() {
				ended <- operator.Main(ctx, c, []config.Warning{{Name: "-reconcile.interval", Message: "ignored"}}, &out, "v1.2.3")
			}()

			address := "http://127.0.0.1:" + port(t, &out)
			for path, want := range map[string]string{
				"/healthz": "200", "/ready": "500", "/metrics": "200", "/debug/groups": "200", "/debug/config": "200",
			} {
				if got := get(t, address+path); !strings.HasPrefix(got, want) {
					t.Errorf("%s: got %.200s, want %s", path, got, want)
				}
			}
			stop()
			began := time.Now()
			select {
			case err := <-ended:
				if err != nil {
					t.Errorf("ended with %v", err)
				}
			case <-time.After(time.Minute):
				t.Fatalf("does not end:\n%s", out.String())
			}
			if took := time.Since(began); took > graceOfPods {
				t.Errorf("the end took %s", took)
			}
			for _, want := range []string{"lockstep starts", "setting=-reconcile.interval", "work has ended", "lockstep has stopped"} {
				if !strings.Contains(out.String(), want) {
					t.Errorf("the log does not say %q:\n%s", want, out.String())
				}
			}
		})
	}
}

func TestConditionsThatPreventTheStart(t *testing.T) {
	broken := filepath.Join(t.TempDir(), "broken")
	if err := os.WriteFile(broken, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	for sentence, tc := range map[string]struct {
		args []string
		want string
	}{
		"a kubeconfig that is damaged": {[]string{"-kubernetes.config-file=" + broken}, "configure Kubernetes client: "},
		"a certificate that is damaged": {
			[]string{"-kubernetes.config-file=" + kubeconfig(t), "-server-tls.enabled", "-server-tls.cert-file=" + broken, "-server-tls.key-file=" + broken}, "set up webhooks: ",
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			err := operator.Main(t.Context(), parse(t, append(tc.args, "-server.port=0")...), nil, io.Discard, "test")
			if err == nil || !strings.HasPrefix(err.Error(), tc.want) || !strings.Contains(err.Error(), "broken") {
				t.Errorf("got %v, want %s... with the name of the file", err, tc.want)
			}
		})
	}
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	_, taken, _ := net.SplitHostPort(listener.Addr().String())
	for sentence, args := range map[string][]string{
		"a port that is taken":              {"-server.port=" + taken},
		"a port for webhooks that is taken": {"-server.port=0", "-server-tls.enabled", "-server-tls.port=" + taken},
	} {
		t.Run(sentence, func(t *testing.T) {
			c := parse(t, append(args, "-kubernetes.config-file="+kubeconfig(t))...)
			err := operator.Main(t.Context(), c, nil, io.Discard, "test")
			if err == nil || !strings.Contains(err.Error(), taken) {
				t.Errorf("got %v, want the port named", err)
			}
		})
	}
}

// graceOfPods is the grace period that manifests/operator gives the operator.
const graceOfPods = 40 * time.Second

var listens = regexp.MustCompile(`address="?[^ "]*:(\d+)`)

// port waits until the process logs its port.
func port(t *testing.T, out *log) string {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		if found := listens.FindStringSubmatch(out.String()); found != nil {
			return found[1]
		}
	}
	t.Fatalf("no port in the log:\n%s", out.String())
	return ""
}

func get(t *testing.T, url string) string {
	t.Helper()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	q, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := client.Do(q)
	if err != nil {
		return fmt.Sprint(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(answer.StatusCode, " ", string(body))
}
