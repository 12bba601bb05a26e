package operator

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/lockstep-dev/lockstep/internal/cluster/access"
	"github.com/lockstep-dev/lockstep/internal/operator/config"
	"github.com/lockstep-dev/lockstep/internal/show/telemetry"
)

func TestWritesAreSentOnceAndReadsAgain(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]func(clients) kubernetes.Interface{
		"work":     func(c clients) kubernetes.Interface { return c.work },
		"foreign":  func(c clients) kubernetes.Interface { return c.foreign.client },
		"election": func(c clients) kubernetes.Interface { return c.election },
		"events":   func(c clients) kubernetes.Interface { return c.events },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var sent atomic.Int32
			made := connectTo(t, func(w http.ResponseWriter, _ *http.Request) {
				sent.Add(1)
				w.Header().Set("Retry-After", "1")
				w.WriteHeader(http.StatusTooManyRequests)
			})
			ctx, stop := context.WithTimeout(t.Context(), 1500*time.Millisecond)
			defer stop()
			if err := of(made).CoreV1().Pods("team").Delete(ctx, "zone-a-0", metav1.DeleteOptions{}); err == nil || sent.Load() != 1 {
				t.Errorf("a delete was sent %d times: %v", sent.Load(), err)
			}
			sent.Store(0)
			if _, err := of(made).CoreV1().Pods("team").Get(ctx, "zone-a-0", metav1.GetOptions{}); err == nil || sent.Load() < 2 {
				t.Errorf("a read was sent %d times: %v", sent.Load(), err)
			}
		})
	}
}

// net/http repeats a request at once if the server refused its connection or stream, and then with pauses. Each time it
// needs the body again.
func TestNetHTTPCanRepeatAWriteAtOnceOnly(t *testing.T) {
	t.Parallel()
	for method, most := range map[string]int{http.MethodDelete: 1, http.MethodPatch: 1, http.MethodGet: 3} {
		repeated := 0
		next := roundTripper(func(q *http.Request) (*http.Response, error) {
			for range 3 {
				body, err := q.GetBody()
				if err != nil {
					break
				}
				if text, err := io.ReadAll(body); err != nil || string(text) != "body" {
					t.Errorf("%s: the body is %q, %v", method, text, err)
				}
				repeated++
			}
			return &http.Response{Header: http.Header{}}, nil
		})
		for range 2 { // each request by itself
			repeated = 0
			q, err := http.NewRequestWithContext(t.Context(), method, "http://api", strings.NewReader("body"))
			if err != nil {
				t.Fatal(err)
			}
			r, err := sendWritesOnce(next).RoundTrip(q) //nolint:bodyclose // it has none
			if err != nil || r == nil || repeated != most {
				t.Errorf("%s can be repeated %d times, want %d; %v", method, repeated, most, err)
			}
		}
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(q *http.Request) (*http.Response, error) { return f(q) }

// connectTo returns clients of an API server that answers in this way.
func connectTo(t *testing.T, answer http.HandlerFunc) clients {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	var c config.Config
	c.Kubernetes.APIURL = server.URL
	c.LeaderElection.RenewDeadline = time.Minute
	unmeasured := func(next http.RoundTripper) http.RoundTripper { return next }
	made, err := connect(c, "test", &access.Alarm{}, &telemetry.Warnings{}, unmeasured)
	if err != nil {
		t.Fatal(err)
	}
	return made
}
