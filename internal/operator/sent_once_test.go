package operator

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"

	"github.com/lockstep-dev/lockstep/internal/cluster/access"
	"github.com/lockstep-dev/lockstep/internal/operator/config"
	"github.com/lockstep-dev/lockstep/internal/show/telemetry"
)

func TestWritesAreSentOnceAndReadsAgain(t *testing.T) {
	t.Parallel()
	pods := corev1.SchemeGroupVersion.WithResource("pods")
	typed := func(of func(clients) kubernetes.Interface) func(context.Context, clients) map[string]error {
		return func(ctx context.Context, c clients) map[string]error {
			api := of(c).CoreV1().Pods("team")
			_, created := api.Create(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "zone-a-0"}}, metav1.CreateOptions{})
			_, updated := api.Update(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "zone-a-0"}}, metav1.UpdateOptions{})
			_, patched := api.Patch(ctx, "zone-a-0", types.MergePatchType, []byte("{}"), metav1.PatchOptions{})
			return map[string]error{"POST": created, "PUT": updated, "PATCH": patched, "DELETE": api.Delete(ctx, "zone-a-0", metav1.DeleteOptions{})}
		}
	}
	bare := func(of func(clients) metadata.Interface) func(context.Context, clients) map[string]error {
		return func(ctx context.Context, c clients) map[string]error {
			api := of(c).Resource(pods).Namespace("team")
			_, patched := api.Patch(ctx, "zone-a-0", types.MergePatchType, []byte("{}"), metav1.PatchOptions{})
			return map[string]error{"PATCH": patched, "DELETE": api.Delete(ctx, "zone-a-0", metav1.DeleteOptions{})}
		}
	}
	for name, write := range map[string]func(context.Context, clients) map[string]error{
		"work":             typed(func(c clients) kubernetes.Interface { return c.work }),
		"foreign":          typed(func(c clients) kubernetes.Interface { return c.foreign.client }),
		"election":         typed(func(c clients) kubernetes.Interface { return c.election }),
		"events":           typed(func(c clients) kubernetes.Interface { return c.events }),
		"metadata":         bare(func(c clients) metadata.Interface { return c.metadata }),
		"foreign metadata": bare(func(c clients) metadata.Interface { return c.foreign.metadata }),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, code := range []int{http.StatusTooManyRequests, http.StatusServiceUnavailable} {
				sends(t, code, write)
			}
		})
	}
}

// sends checks how often requests are sent that are answered with this code and the advice to try again in a second.
func sends(t *testing.T, code int, write func(context.Context, clients) map[string]error) {
	t.Helper()
	var mu sync.Mutex
	sent := map[string]int{}
	made := connectTo(t, func(w http.ResponseWriter, q *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		sent[q.Method]++
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(code)
	})
	ctx, stop := context.WithTimeout(t.Context(), 1500*time.Millisecond)
	defer stop()
	for method, err := range write(ctx, made) {
		if err == nil || sent[method] != 1 {
			t.Errorf("%d: %s was sent %d times: %v", code, method, sent[method], err)
		}
	}
	_, err := made.work.CoreV1().Pods("team").Get(ctx, "zone-a-0", metav1.GetOptions{})
	mu.Lock()
	defer mu.Unlock()
	if err == nil || sent[http.MethodGet] < 2 {
		t.Errorf("%d: GET was sent %d times: %v", code, sent[http.MethodGet], err)
	}
}

// net/http repeats a request at once if the server refused its connection or stream, and then with pauses. Each time it
// needs the body again.
func TestNetHTTPCanRepeatAWriteAtOnceOnly(t *testing.T) {
	t.Parallel()
	for method, most := range map[string]int{http.MethodDelete: 1, http.MethodPatch: 1, http.MethodGet: 3} {
		repeated := 0
		next := roundTripper(func(q *http.Request) (*http.Response, error) {
			for body, err := q.GetBody(); err == nil && repeated < 3; body, err = q.GetBody() {
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
