package telemetry_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lockstep-dev/lockstep/internal/show/telemetry"
)

// transport answers requests with a status, or with an error when that is zero.
type transport int

func (status transport) RoundTrip(*http.Request) (*http.Response, error) {
	if status == 0 {
		return nil, errors.New("connection refused")
	}
	return &http.Response{StatusCode: int(status), Body: http.NoBody}, nil
}

func request(t *testing.T, m *telemetry.Metrics, method, path string, status int) {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), method, "https://api.example"+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := m.WatchRequests(transport(status)).RoundTrip(q)
	if err == nil {
		_ = answer.Body.Close()
	}
}

func TestManagedNamespacesAreShown(t *testing.T) {
	m := telemetry.NewMetrics("v1")
	m.NamespaceManaged("a")
	m.NamespaceManaged("b")
	m.ForgetNamespace("a")
	want := map[string]string{`lockstep_namespace_managed{namespace="b"}`: "1"}
	if diff := cmp.Diff(want, only(scrape(t, m), "lockstep_namespace_managed")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestRequestsAreMeasuredByManagedNamespaceAndStatus(t *testing.T) {
	m := telemetry.NewMetrics("v1")
	m.NamespaceManaged("team")
	for _, r := range []struct {
		method, path string
		status       int
	}{
		{http.MethodDelete, "/api/v1/namespaces/team/pods/x", 200},
		{http.MethodDelete, "/api/v1/namespaces/team/pods/y", 409},
		{http.MethodGet, "/apis/apps/v1/namespaces/team/statefulsets", 0},
		{http.MethodGet, "/prefix/api/v1/namespaces/team/pods", 200},
		{http.MethodGet, "/apis/apps/v1/namespaces/other/statefulsets", 200},
		{http.MethodGet, "/api/v1/namespaces/team", 200},
		{http.MethodGet, "/api/v1/pods", 200},
	} {
		request(t, m, r.method, r.path, r.status)
	}
	const count = "lockstep_namespace_request_duration_seconds_count"
	want := map[string]string{
		count + `{code="200",namespace="team",resource="core/v1/pods",verb="DELETE"}`:        "1",
		count + `{code="409",namespace="team",resource="core/v1/pods",verb="DELETE"}`:        "1",
		count + `{code="error",namespace="team",resource="apps/v1/statefulsets",verb="GET"}`: "1",
		count + `{code="200",namespace="team",resource="core/v1/pods",verb="GET"}`:           "1",
		count + `{code="200",namespace="",resource="apps/v1/statefulsets",verb="GET"}`:       "1",
		count + `{code="200",namespace="",resource="core/v1/namespaces",verb="GET"}`:         "1",
		count + `{code="200",namespace="",resource="core/v1/pods",verb="GET"}`:               "1",
	}
	if diff := cmp.Diff(want, counts(scrape(t, m), count)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func counts(all map[string]string, prefix string) map[string]string {
	found := map[string]string{}
	for _, name := range some(all, prefix) {
		found[name] = all[name]
	}
	return found
}

func TestSeriesOfANamespaceGoWithItsOptIn(t *testing.T) {
	m := telemetry.NewMetrics("v1")
	measure := func(namespace string) {
		request(t, m, http.MethodGet, "/api/v1/namespaces/"+namespace+"/pods", 200)
		m.Reviewed(telemetry.Review{Namespace: namespace, Webhook: "pod-eviction", Verdict: "allowed", Took: time.Second})
		m.Reviewing(namespace, "pod-eviction")()
		m.PodCalled(telemetry.PodCall{Namespace: namespace, Purpose: "prepare", Outcome: "answered", Status: 200, Took: time.Second})
		m.Budgets(namespace, []telemetry.Budget{{Name: "b", Version: "1", Invalid: true}})
	}
	shown := func() []string {
		var all []string
		for _, prefix := range []string{"lockstep_namespace_", "lockstep_admission_", "lockstep_pod_call_", "lockstep_budget_"} {
			all = append(all, seriesWith(scrape(t, m), prefix, `namespace="team"`)...)
		}
		return all
	}
	m.NamespaceManaged("team")
	measure("team")
	if got := shown(); len(got) < 9 {
		t.Errorf("a managed namespace has %v", got)
	}
	m.ForgetNamespace("team")
	if got := shown(); len(got) > 0 {
		t.Errorf("remaining: %v", got)
	}
}

func TestNamespacesBeyondTheFirst500ShareTheirSeries(t *testing.T) {
	m := telemetry.NewMetrics("v1")
	for i := range 600 {
		m.NamespaceManaged(fmt.Sprint("n", i))
		m.Reviewed(telemetry.Review{Namespace: fmt.Sprint("n", i), Webhook: "pod-eviction", Verdict: "allowed"})
	}
	got := scrape(t, m)
	if n := len(some(got, "lockstep_admission_reviews_total")); n != 501 {
		t.Errorf("%d series, want 500 and one for the others", n)
	}
	if others := got[`lockstep_admission_reviews_total{namespace="",reason="",verdict="allowed",webhook="pod-eviction"}`]; others != "100" {
		t.Errorf("%q reviews of other namespaces, want 100", others)
	}
}

func TestReviewsInProgressAreCounted(t *testing.T) {
	m := telemetry.NewMetrics("v1")
	m.NamespaceManaged("team")
	const series = `lockstep_admission_inflight_reviews{namespace="team",webhook="pod-eviction"}`
	first, second := m.Reviewing("team", "pod-eviction"), m.Reviewing("team", "pod-eviction")
	for _, step := range []struct {
		end  func()
		want string
	}{{func() {}, "2"}, {first, "1"}, {second, "0"}} {
		step.end()
		if got := scrape(t, m)[series]; got != step.want {
			t.Errorf("%q in progress, want %s", got, step.want)
		}
	}
}

func TestCallsToPodsHaveTheClassOfTheirStatus(t *testing.T) {
	m := telemetry.NewMetrics("v1")
	for status, want := range map[int]string{0: "", 200: "2xx", 404: "4xx", 599: "5xx", 777: "other"} {
		m.PodCalled(telemetry.PodCall{Purpose: "prepare", Outcome: "failed", Status: status})
		name := `lockstep_pod_call_duration_seconds_count{code="` + want + `",namespace="",outcome="failed",purpose="prepare",why=""}`
		if got := scrape(t, m)[name]; got != "1" {
			t.Errorf("status %d: %q of class %q, want 1", status, got, want)
		}
	}
}

func TestFailurePoliciesAreShownAsTheyAreConfigured(t *testing.T) {
	m := telemetry.NewMetrics("v1")
	policies := []telemetry.WebhookPolicy{
		{Namespace: "team", Type: "ValidatingWebhook", Webhook: "pod-eviction.example", Ignored: true},
		{Type: "MutatingWebhook", Webhook: "prepare-downscale.example"},
		{Type: "MutatingWebhook", Webhook: "prepare-downscale.example"}, // another configuration has a webhook of that name
	}
	m.ObserveWebhookPolicies(func() []telemetry.WebhookPolicy { return policies })
	const metric = "lockstep_webhook_failure_policy"
	want := map[string]string{
		metric + `{namespace="team",policy="Fail",type="ValidatingWebhook",webhook="pod-eviction.example"}`:   "0",
		metric + `{namespace="team",policy="Ignore",type="ValidatingWebhook",webhook="pod-eviction.example"}`: "1",
		metric + `{namespace="",policy="Fail",type="MutatingWebhook",webhook="prepare-downscale.example"}`:    "1",
		metric + `{namespace="",policy="Ignore",type="MutatingWebhook",webhook="prepare-downscale.example"}`:  "0",
	}
	if diff := cmp.Diff(want, only(scrape(t, m), metric)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	policies = nil
	if left := some(scrape(t, m), metric); len(left) > 0 {
		t.Errorf("remaining of a deleted configuration: %v", left)
	}
}

// seriesWith returns the series of a prefix that have a label.
func seriesWith(all map[string]string, prefix, label string) []string {
	var found []string
	for _, name := range some(all, prefix) {
		if strings.Contains(name, label) {
			found = append(found, name)
		}
	}
	return found
}
