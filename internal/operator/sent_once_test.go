package operator

import (
	"context"
	"net/http"
	"net/http/httptest"
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
