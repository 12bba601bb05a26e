package telemetry_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"k8s.io/client-go/tools/metrics"
	"k8s.io/client-go/util/workqueue"

	"github.com/lockstep-dev/lockstep/internal/show/telemetry"
)

// everyMetric returns metrics with at least one series of each metric of lockstep's own.
func everyMetric(t *testing.T) *telemetry.Metrics {
	t.Helper()
	m := observed()
	m.Leader(true)
	m.LeaderSeen()
	m.Panicked("group")
	m.CertificateExpires(time.Unix(1800000000, 0))
	m.WebhookFaults("path", 1)
	m.Reviewed(telemetry.Review{Webhook: "no-downscale", Verdict: "denied", Reason: "DownscaleNotAllowed", Took: time.Second})
	m.Reviewing("", "no-downscale")()
	m.PodCalled(telemetry.PodCall{Purpose: "prepare", Outcome: "ok", Took: time.Second})
	m.EventWritten("written")
	m.ObserveCaches(func() map[string]string { return map[string]string{"pods": "5"} })
	m.Budgets("n", []telemetry.Budget{{Name: "b", Invalid: true}})
	m.NamespaceManaged("n")
	m.ObserveWebhookPolicies(func() []telemetry.WebhookPolicy {
		return []telemetry.WebhookPolicy{{Type: "ValidatingWebhook", Webhook: "w"}}
	})
	request(t, m, http.MethodGet, "/api/v1/namespaces/n/pods", http.StatusOK)
	m.NamespaceWaited("n", time.Second)
	g := m.Group("n", "g")
	g.Reconciled(t.Context(), "done", true, time.Second)
	g.PodDeleted("z", "OutdatedRevision")
	g.ReplicasOverwritten("z")
	g.PodCalled("prepare", "answered")
	g.Refused("pod-eviction", "BudgetUsed")
	g.Stepped(time.Second)
	g.ZoneRolled(time.Second)
	g.Rolled(time.Second)
	g.Show(telemetry.GroupState{
		Zones: []telemetry.ZoneState{{Name: "z", Waiting: []string{"PodStarting"}, Remarks: []string{"ReplicasForced"}, Activity: "Rolling"}},
		Hold:  telemetry.HoldState{Operation: "rollout", Zone: "z", Acquired: time.Unix(1, 0), Expires: time.Unix(2, 0)},
	})
	p := m.Pool("n", "db")
	p.Reconciled("done")
	p.PodDeleted("ScaledDown")
	p.Retired("ScaledDown")
	p.UpdateEnded("completed")
	p.ClaimsDeleted("whenScaled", 1)
	p.Show(telemetry.PoolState{Desired: 1, Waiting: []string{"PodStarting"}, CrashLoopEnds: time.Unix(3, 0)})
	queue := workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[string]{Name: "group", MetricsProvider: m.Queues()})
	queue.ShutDown()
	m.Queues().NewRetriesMetric("group").Inc()
	metrics.RequestLatency.Observe(t.Context(), "GET", url.URL{Path: "/api/v1/pods"}, time.Second)
	metrics.RequestResult.Increment(t.Context(), "200", "GET", "host")
	metrics.RequestRetry.IncrementRetry(t.Context(), "429", "GET", "host")
	metrics.RateLimiterLatency.Observe(t.Context(), "GET", url.URL{}, time.Second)
	return m
}

func TestMetricsFollowTheConventionsOfPrometheus(t *testing.T) {
	text := page(t, everyMetric(t), "text/plain")
	for _, d := range described(t) {
		if !strings.Contains(text, "# HELP "+d.name+" ") {
			t.Errorf("%s has no series, so it was not checked", d.name)
		}
	}
	problems, err := promlint.New(strings.NewReader(text)).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}
