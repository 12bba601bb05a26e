package telemetry_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/client-go/tools/metrics"
	"k8s.io/client-go/util/workqueue"

	"github.com/lockstep-dev/lockstep/internal/show/telemetry"
)

// scrape returns the metrics as Prometheus would read them: values by series.
func scrape(t *testing.T, m *telemetry.Metrics) map[string]string {
	t.Helper()
	all := map[string]string{}
	for line := range strings.Lines(page(t, m, "text/plain")) {
		line = strings.TrimSpace(line)
		if cut := strings.LastIndex(line, " "); cut > 0 && !strings.HasPrefix(line, "#") {
			all[line[:cut]] = line[cut+1:]
		}
	}
	return all
}

func page(t *testing.T, m *telemetry.Metrics, accept string) string {
	t.Helper()
	log, out := newLogger(t, "logfmt", "info")
	request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil)
	request.Header.Set("Accept", accept)
	answer := httptest.NewRecorder()
	m.Handler(log).ServeHTTP(answer, request)
	if answer.Code != http.StatusOK || out.Len() > 0 {
		t.Fatalf("scrape: status %d, log %q", answer.Code, out)
	}
	return answer.Body.String()
}

// only returns the series whose names begin with the prefix.
func only(all map[string]string, prefix string) map[string]string {
	some := map[string]string{}
	for name, v := range all {
		if strings.HasPrefix(name, prefix) && !strings.Contains(name, "_seconds") {
			some[name] = v
		}
	}
	return some
}

func TestTheExpiryOfTheCertificateIsShownWhereOneIsServed(t *testing.T) {
	const series = "lockstep_webhook_certificate_expiry_timestamp_seconds"
	m := telemetry.NewMetrics("v1")
	if _, there := scrape(t, m)[series]; there {
		t.Error("there is a series, and no certificate")
	}
	m.CertificateExpires(time.Unix(1800000000, 5))
	if got := scrape(t, m)[series]; got != "1.8e+09" {
		t.Errorf("got %s", got)
	}
}

func TestFaultsOfWebhookConfigurationsAreShownInStatusAndReady(t *testing.T) {
	const series = `lockstep_webhook_configuration_faults{fault="path"}`
	m := telemetry.NewMetrics("v1")
	if _, there := scrape(t, m)[series]; there {
		t.Error("there is a series without a reconcile")
	}
	m.WebhookFaults("path", 2)
	if got := scrape(t, m)[series]; got != "2" {
		t.Errorf("got %s", got)
	}
}

func TestMetricsOfTheProcess(t *testing.T) {
	m := telemetry.NewMetrics("v1")
	m.Leader(true)
	m.NamespacesManaged(3)
	m.OptedOut()
	m.Panicked("group")
	m.EvictionUnpinned()
	m.RestoreSeen(telemetry.OfHold)
	got := scrape(t, m)
	for name, want := range map[string]string{
		"lockstep_leader":                      "1",
		"lockstep_namespaces_managed":          "3",
		"lockstep_opt_outs_total":              "1",
		"lockstep_trace_export_failures_total": "0",
		`lockstep_panics_total{loop="group"}`:  "1",
		"lockstep_evictions_unpinned_total":    "1",

		`lockstep_restores_seen_total{of="hold"}`:    "1",
		`lockstep_restores_seen_total{of="cluster"}`: "0",
	} {
		if got[name] != want {
			t.Errorf("%s is %q, want %s", name, got[name], want)
		}
	}
	for _, prefix := range []string{"go_goroutines", "process_", `lockstep_build_info{goversion="go1.`} {
		if len(some(got, prefix)) == 0 {
			t.Errorf("no series %s...", prefix)
		}
	}
	m.Leader(false)
	if got := scrape(t, m)["lockstep_leader"]; got != "0" {
		t.Errorf("lockstep_leader is %s after the leadership, want 0", got)
	}
}

func some(all map[string]string, prefix string) []string {
	var names []string
	for name := range all {
		if strings.HasPrefix(name, prefix) {
			names = append(names, name)
		}
	}
	return names
}

func TestMetricsOfAGroup(t *testing.T) {
	m := telemetry.NewMetrics("v1")
	g := m.Group("mimir", "ingester")
	g.Reconciled(t.Context(), "done", true, time.Millisecond)
	g.Reconciled(t.Context(), "again", false, time.Millisecond)
	g.PodDeleted("zone-a", "OutdatedRevision")
	g.PodDeleted("zone-a", "OutdatedRevision")
	g.Refused("pod-eviction", "BudgetUsed")
	g.Show(telemetry.GroupState{
		Zones: []telemetry.ZoneState{
			{Name: "zone-a", Desired: 4, Ready: 3, Updated: 2, Outdated: 2, Down: 1, Noted: 1, Budget: 2, Activity: "Rolling"},
			{Name: "zone-b", Waiting: []string{"NotItsTurn"}, Activity: "Blocked"},
		},
		Waiting: []string{"WrongUpdateStrategy"},
		Hold:    telemetry.HoldState{Operation: "rollout", Zone: "zone-a", Transitions: 3},
	})
	want := map[string]string{
		`lockstep_group_reconciles_total{group="ingester",namespace="mimir",result="again"}`:                            "1",
		`lockstep_group_reconciles_total{group="ingester",namespace="mimir",result="done"}`:                             "1",
		`lockstep_group_pods_deleted_total{group="ingester",namespace="mimir",reason="OutdatedRevision",zone="zone-a"}`: "2",
		`lockstep_group_refusals_total{group="ingester",namespace="mimir",reason="BudgetUsed",webhook="pod-eviction"}`:  "1",
		`lockstep_group_zone_budget{group="ingester",namespace="mimir",zone="zone-a"}`:                                  "2",
		`lockstep_group_zone_budget{group="ingester",namespace="mimir",zone="zone-b"}`:                                  "0",
		`lockstep_group_zone_waiting{group="ingester",namespace="mimir",reason="NotItsTurn",zone="zone-b"}`:             "1",
		`lockstep_group_zone_waiting{group="ingester",namespace="mimir",reason="WrongUpdateStrategy",zone=""}`:          "1",
		`lockstep_group_hold_held{group="ingester",namespace="mimir",operation="rollout",zone="zone-a"}`:                "1",
		`lockstep_group_hold_transitions_total{group="ingester",namespace="mimir"}`:                                     "3",
		`lockstep_group_zone_activity{activity="Rolling",group="ingester",namespace="mimir",zone="zone-a"}`:             "1",
		`lockstep_group_zone_activity{activity="Blocked",group="ingester",namespace="mimir",zone="zone-b"}`:             "1",
	}
	for state, n := range map[string]int{"desired": 4, "ready": 3, "updated": 2, "outdated": 2, "down": 1, "noted": 1} {
		want[fmt.Sprintf(`lockstep_group_zone_pods{group="ingester",namespace="mimir",state="%s",zone="zone-a"}`, state)] = fmt.Sprint(n)
		want[fmt.Sprintf(`lockstep_group_zone_pods{group="ingester",namespace="mimir",state="%s",zone="zone-b"}`, state)] = "0"
	}
	got := scrape(t, m)
	if diff := cmp.Diff(want, only(got, "lockstep_group_")); diff != "" {
		t.Errorf("series (-want +got):\n%s", diff)
	}
	if n := got[`lockstep_group_reconcile_duration_seconds_count{group="ingester",namespace="mimir"}`]; n != "2" {
		t.Errorf("%s durations, want 2", n)
	}
	if got[`lockstep_group_last_success_timestamp_seconds{group="ingester",namespace="mimir"}`] == "" {
		t.Error("no time of the last success")
	}
}

func TestShowRemovesOutdatedSeries(t *testing.T) {
	m := telemetry.NewMetrics("v1")
	g := m.Group("n", "g")
	g.Show(telemetry.GroupState{
		Zones: []telemetry.ZoneState{{Name: "gone", Waiting: []string{"NotItsTurn"}}, {Name: "stays", Waiting: []string{"PodStarting"}}},
		Hold:  telemetry.HoldState{Operation: "rollout", Zone: "gone"},
	})
	g.Show(telemetry.GroupState{Zones: []telemetry.ZoneState{{Name: "stays", Ready: 1}}})
	for name := range only(scrape(t, m), "lockstep_group_") {
		if strings.Contains(name, "gone") || strings.Contains(name, "waiting") || strings.Contains(name, "hold_held") {
			t.Errorf("%s is still shown", name)
		}
	}
	if got := scrape(t, m)[`lockstep_group_zone_pods{group="g",namespace="n",state="ready",zone="stays"}`]; got != "1" {
		t.Errorf("the remaining zone has %q ready pods, want 1", got)
	}
}

// A zone may wait twice for the same reason, for example for two of its pods.
func TestAReasonThatIsGivenTwiceIsShownOnce(t *testing.T) {
	m := telemetry.NewMetrics("v1")
	twice := []string{"PodStarting", "NotItsTurn", "PodStarting"}
	m.Group("n", "g").Show(telemetry.GroupState{Zones: []telemetry.ZoneState{{Name: "z", Waiting: twice, Remarks: twice}}, Waiting: twice})
	got := scrape(t, m)
	for _, metric := range []string{"waiting", "remarks"} {
		if got[`lockstep_group_zone_`+metric+`{group="g",namespace="n",reason="PodStarting",zone="z"}`] != "1" {
			t.Errorf("%s is not shown", metric)
		}
	}
	if n := len(some(got, "lockstep_group_zone_waiting")); n != 4 {
		t.Errorf("%d waits, want 2 of the zone and 2 of the group", n)
	}
}

func TestInvalidSeriesAreOmittedFromAScrape(t *testing.T) {
	m := telemetry.NewMetrics("v1")
	m.Group("n", "g").PodDeleted("\xff", "OutdatedRevision")
	m.Group("n", "g").PodDeleted("z", "OutdatedRevision")
	log, logged := newLogger(t, "logfmt", "info")
	answer := httptest.NewRecorder()
	m.Handler(log).ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	if !strings.Contains(answer.Body.String(), `reason="OutdatedRevision",zone="z"} 1`) {
		t.Errorf("the rest is not shown: %d", answer.Code)
	}
	if !strings.Contains(logged.String(), "not valid UTF-8") {
		t.Errorf("the log contains %q", logged)
	}
}

func TestADurationCountsUpToEveryBoundThatIsNotBelowIt(t *testing.T) {
	m := telemetry.NewMetrics("v1")
	g := m.Group("n", "g")
	for _, took := range []time.Duration{-time.Second, 500 * time.Millisecond, 501 * time.Millisecond, time.Hour, 2 * time.Hour} {
		g.Stepped(took)
	}
	got := scrape(t, m)
	for bound, want := range map[string]string{"0.5": "2", "2": "3", "900": "3", "3600": "4", "+Inf": "5"} {
		if n := got[`lockstep_group_step_duration_seconds_bucket{group="g",namespace="n",le="`+bound+`"}`]; n != want {
			t.Errorf("up to %s: %q, want %s", bound, n, want)
		}
	}
	if sum := got[`lockstep_group_step_duration_seconds_sum{group="g",namespace="n"}`]; sum != "10801.001" {
		t.Errorf("in sum %s", sum)
	}
}

// A scraper may treat the created timestamp as a zero, and thus detect the first increment. The
// Lease counts the changes of the hold, so the start of that count is unknown.
func TestCountsSayWhenTheyBegan(t *testing.T) {
	m := telemetry.NewMetrics("v1")
	registry := prometheus.NewRegistry()
	registry.MustRegister(m.Own()...)
	g := m.Group("n", "g")
	g.Reconciled(t.Context(), "done", true, time.Second)
	g.PodDeleted("z", "OutdatedRevision")
	g.Show(telemetry.GroupState{Zones: []telemetry.ZoneState{{Name: "z"}}})
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	said := map[string]bool{}
	for _, f := range families {
		for _, one := range f.GetMetric() {
			said[f.GetName()] = one.GetCounter().GetCreatedTimestamp() != nil || one.GetHistogram().GetCreatedTimestamp() != nil
		}
	}
	for name, want := range map[string]bool{
		"lockstep_group_reconciles_total":           true,
		"lockstep_group_reconcile_duration_seconds": true,
		"lockstep_group_pods_deleted_total":         true,
		"lockstep_group_step_duration_seconds":      true,
		"lockstep_group_hold_transitions_total":     false,
	} {
		if said[name] != want {
			t.Errorf("%s: %t, want %t", name, said[name], want)
		}
	}
}

// Prometheus does not detect the first increment of a counter that starts at one.
func TestCountersBeginAtZero(t *testing.T) {
	m := telemetry.NewMetrics("v1")
	m.Loops("group", "budget")
	g := m.Group("n", "g")
	state := telemetry.GroupState{Zones: []telemetry.ZoneState{{Name: "z"}}, Causes: []string{"OutdatedRevision", "OutdatedAndUnavailable"}}
	g.Show(state)
	for _, want := range []string{"0", "1"} {
		got := scrape(t, m)
		for _, name := range []string{
			`lockstep_panics_total{loop="group"}`,
			`lockstep_group_pods_deleted_total{group="g",namespace="n",reason="OutdatedRevision",zone="z"}`,
			`lockstep_group_step_duration_seconds_count{group="g",namespace="n"}`,
			`lockstep_group_zone_rollout_duration_seconds_count{group="g",namespace="n"}`,
			`lockstep_group_rollout_duration_seconds_count{group="g",namespace="n"}`,
		} {
			if got[name] != want {
				t.Errorf("%s is %q, want %s", name, got[name], want)
			}
		}
		m.Panicked("group")
		g.PodDeleted("z", "OutdatedRevision")
		g.Stepped(time.Second)
		g.ZoneRolled(time.Second)
		g.Rolled(time.Second)
		g.Show(state)
	}
}

func TestCountersOfADeletedZoneAreRemoved(t *testing.T) {
	m := telemetry.NewMetrics("v1")
	g := m.Group("n", "g")
	for _, zone := range []string{"former", "next"} {
		g.Show(telemetry.GroupState{Zones: []telemetry.ZoneState{{Name: zone}, {Name: "stays"}}, Causes: []string{"OutdatedRevision"}})
		g.PodDeleted(zone, "OutdatedRevision")
		g.PodDeleted("stays", "OutdatedRevision")
	}
	want := map[string]string{
		`lockstep_group_pods_deleted_total{group="g",namespace="n",reason="OutdatedRevision",zone="next"}`:  "1",
		`lockstep_group_pods_deleted_total{group="g",namespace="n",reason="OutdatedRevision",zone="stays"}`: "2",
	}
	if diff := cmp.Diff(want, only(scrape(t, m), "lockstep_group_pods_deleted_total")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestForgetRemovesTheSeriesOfOneGroup(t *testing.T) {
	m := telemetry.NewMetrics("v1")
	speak := func(namespace, group string) *telemetry.GroupMetrics {
		g := m.Group(namespace, group)
		g.Reconciled(t.Context(), "done", true, time.Second)
		g.PodDeleted("z", "OutdatedRevision")
		g.Refused("pod-eviction", "BudgetUsed")
		g.PodCalled("prepare", "answered")
		g.Stepped(time.Second)
		g.ZoneRolled(time.Minute)
		g.Rolled(time.Minute)
		g.Show(telemetry.GroupState{
			Zones:   []telemetry.ZoneState{{Name: "z", Waiting: []string{"PodStarting"}, Activity: "Rolling"}},
			Waiting: []string{"GroupHeld"},
			Hold:    telemetry.HoldState{Operation: "rollout", Zone: "z", Acquired: time.Unix(1, 0), Expires: time.Unix(2, 0), Transitions: 2},
		})
		return g
	}
	gone := speak("n", "gone")
	speak("other", "gone")
	speak("n", "stays")
	before := len(some(scrape(t, m), "lockstep_group_"))

	m.Forget("n", "gone")
	m.Forget("n", "never-was")
	gone.Reconciled(t.Context(), "done", true, time.Second)
	gone.PodDeleted("z", "OutdatedRevision")
	gone.Stepped(time.Second)
	gone.Show(telemetry.GroupState{Zones: []telemetry.ZoneState{{Name: "z"}}})

	after := scrape(t, m)
	for name := range after {
		if strings.Contains(name, `group="gone",namespace="n"`) {
			t.Errorf("%s was not forgotten", name)
		}
	}
	if got, want := len(some(after, "lockstep_group_")), before*2/3; got != want {
		t.Errorf("%d series of groups remain, want %d", got, want)
	}
	speak("n", "gone")
	if got := len(some(scrape(t, m), "lockstep_group_")); got != before {
		t.Errorf("a group that came back has other series: %d in all, want %d", got, before)
	}
}

func TestDurationsNameTheirTrace(t *testing.T) {
	for sentence, record := range map[string]func(*telemetry.Metrics){
		"of a reconcile of a group": func(m *telemetry.Metrics) { m.Group("n", "g").Reconciled(spoken(t), "done", true, time.Millisecond) },
		"of a review": func(m *telemetry.Metrics) {
			m.Reviewed(telemetry.Review{
				Webhook: "no-downscale", Verdict: "denied", Reason: "DownscaleNotAllowed", Span: trace.SpanContextFromContext(spoken(t)), Took: time.Millisecond,
			})
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			m := telemetry.NewMetrics("v1")
			record(m)
			if got := page(t, m, "application/openmetrics-text"); !strings.Contains(got, `# {trace_id="ab000000000000000000000000000001"} 0.001`) {
				t.Errorf("no exemplar in\n%s", got)
			}
		})
	}
}

func TestQueuesReport(t *testing.T) {
	m := telemetry.NewMetrics("v1")
	q := workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[string]{Name: "group", MetricsProvider: m.Queues()})
	defer q.ShutDown()
	q.Add("a")
	q.Add("b")
	q.Get()
	got := scrape(t, m)
	for name, want := range map[string]string{
		`lockstep_workqueue_depth{name="group"}`:                        "1",
		`lockstep_workqueue_adds_total{name="group"}`:                   "2",
		`lockstep_workqueue_queue_duration_seconds_count{name="group"}`: "1",
	} {
		if got[name] != want {
			t.Errorf("%s is %q, want %s", name, got[name], want)
		}
	}
}

// observed returns the only Metrics that can register with client-go in this process.
var observed = sync.OnceValue(func() *telemetry.Metrics {
	m := telemetry.NewMetrics("v1")
	m.ObserveClients()
	return m
})

func TestClientsReportWithBoundedLabels(t *testing.T) {
	m := observed()
	for path, want := range map[string]string{
		"/api/v1/namespaces/{namespace}/pods/{name}":          "core/v1/pods",
		"/api/v1/namespaces/{namespace}/pods/{name}/eviction": "core/v1/pods/eviction",
		"/api/v1/pods":                                            "core/v1/pods",
		"/api/v1/namespaces/{name}":                               "core/v1/namespaces",
		"/api/v1/namespaces/{name}/status":                        "core/v1/namespaces/status",
		"/apis/apps/v1/namespaces/{namespace}/statefulsets":       "apps/v1/statefulsets",
		"/apis/apps/v1/namespaces/x/statefulsets/y/status":        "apps/v1/statefulsets/status",
		"/apis/coordination.k8s.io/v1/namespaces/x/leases/{name}": "coordination.k8s.io/v1/leases",
		"/version":       "other",
		"/{prefix}":      "other",
		"":               "other",
		"/api/v1":        "other",
		"/apis/apps/v1/": "other",
	} {
		name := fmt.Sprintf(`lockstep_kubernetes_request_duration_seconds_count{resource="%s",verb="GET"}`, want)
		before := scrape(t, m)[name]
		metrics.RequestLatency.Observe(t.Context(), "GET", url.URL{Path: path}, time.Millisecond)
		if scrape(t, m)[name] == before {
			t.Errorf("%s is not counted as %s", path, want)
		}
	}
	before := scrape(t, m)
	metrics.RequestResult.Increment(t.Context(), "<error>", "GET", "host")
	metrics.RequestResult.Increment(t.Context(), "409", "BREW", "host")
	metrics.RequestRetry.IncrementRetry(t.Context(), "429", "PUT", "host")
	metrics.RateLimiterLatency.Observe(t.Context(), "PUT", url.URL{}, time.Millisecond)
	got := scrape(t, m)
	for _, name := range []string{
		`lockstep_kubernetes_requests_total{code="error",verb="GET"}`,
		`lockstep_kubernetes_requests_total{code="409",verb="other"}`,
		`lockstep_kubernetes_request_retries_total{code="429",verb="PUT"}`,
		`lockstep_kubernetes_throttle_duration_seconds_count{verb="PUT"}`,
	} {
		if got[name] == before[name] {
			t.Errorf("%s is still %q", name, got[name])
		}
	}
}
