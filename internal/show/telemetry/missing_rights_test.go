package telemetry_test

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"

	"github.com/lockstep-dev/lockstep/internal/proof/apitest"
	"github.com/lockstep-dev/lockstep/internal/show/telemetry"
)

// denying is an API server that denies every request, as RBAC does.
type denying struct{}

// RoundTrip implements http.RoundTripper.
func (denying) RoundTrip(q *http.Request) (*http.Response, error) {
	verb, resource, group := "list", "pods", ""
	switch {
	case strings.HasSuffix(q.URL.Path, "/leases/leader"):
		verb, resource, group = "get", "leases", "coordination.k8s.io"
	case q.URL.Query().Get("watch") != "":
		verb = "watch"
	}
	return apitest.Answer(http.StatusForbidden, &metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden,
		Message: resource + ` is forbidden: User "system:serviceaccount:team:x" cannot ` + verb + ` resource "` + resource + `" in API group "` + group + `" in the namespace "team"`,
	}), nil
}

// lockedBuffer is a buffer for concurrent writers.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) lines() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Collect(strings.Lines(b.text.String()))
}

// An informer and a leader election repeat denied requests while they run.
func TestAMissingRightIsNamedOnceAMinute(t *testing.T) {
	handlers := utilruntime.ErrorHandlers
	utilruntime.ErrorHandlers = handlers[:1] // the other one waits until the bubble reaches the real time
	t.Cleanup(func() { utilruntime.ErrorHandlers = handlers })
	synctest.Test(t, func(t *testing.T) {
		var out lockedBuffer
		log, err := telemetry.NewLogger("json", "info", &out)
		if err != nil {
			t.Fatal(err)
		}
		telemetry.RouteLibraryLogs(log)
		t.Cleanup(klog.ClearLogger)
		client := apitest.Client(t, denying{})
		ctx, stop := context.WithTimeout(t.Context(), 10*time.Minute-time.Second)
		defer stop()

		pods := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace("team")).Core().V1().Pods().Informer()
		var work sync.WaitGroup
		work.Go(func() { pods.RunWithContext(ctx) })
		work.Go(func() {
			leaderelection.RunOrDie(ctx, leaderelection.LeaderElectionConfig{
				Lock: &resourcelock.LeaseLock{
					LeaseMeta: metav1.ObjectMeta{Namespace: "team", Name: "leader"}, Client: client.CoordinationV1(),
					LockConfig: resourcelock.ResourceLockConfig{Identity: "x"},
				},
				LeaseDuration: 10 * time.Second, RenewDeadline: 6 * time.Second, RetryPeriod: time.Second,
				Callbacks: leaderelection.LeaderCallbacks{OnStartedLeading: func(context.Context) {}, OnStoppedLeading: func() {}},
			})
		})
		work.Wait()

		named := map[string]int{}
		for _, line := range out.lines() {
			var entry struct{ Level, Component, Msg, Missing string }
			if err := json.Unmarshal([]byte(line), &entry); err != nil {
				t.Fatal(err)
			}
			if entry.Level == "error" {
				named[entry.Component+": "+entry.Msg+": "+entry.Missing]++
			}
		}
		const before = "client-go: a permission is missing: "
		if n := named[before+"get leases.coordination.k8s.io in team"]; n < 8 || n > 10 {
			t.Errorf("get leases is named %d times in 10 minutes, want once a minute", n)
		}
		list, watch := named[before+"list pods in team"], named[before+"watch pods in team"] // an informer requests either, up to a minute apart
		if list > 10 || watch > 10 || list+watch < 5 {
			t.Errorf("list pods is named %d times and watch pods %d times in 10 minutes, want once a minute:\n%s", list, watch, strings.Join(out.lines(), ""))
		}
		if all := slices.Sorted(maps.Keys(named)); len(all) > 3 {
			t.Errorf("errors: %q", all)
		}
	})
}

func TestOtherErrorsOfClientGoStayAsTheyAre(t *testing.T) {
	log, out := newLogger(t, "json", "info")
	telemetry.RouteLibraryLogs(log)
	t.Cleanup(klog.ClearLogger)
	for range 2 {
		klog.FromContext(t.Context()).WithName("reflector").WithValues("kind", "Pod").Error(context.DeadlineExceeded, "Failed to watch", "type", "*v1.Pod")
	}
	if diff := cmp.Diff(2, strings.Count(out.String(), `"msg":"Failed to watch"`)); diff != "" {
		t.Errorf("-want +got:\n%s%s", diff, out.String())
	}
}
