package telemetry

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/tools/metrics"
)

// clientMetrics are the metrics of requests to the API server. There is only one API server, so
// it needs no label.
type clientMetrics struct {
	duration *prometheus.HistogramVec
	throttle *prometheus.HistogramVec
	requests *prometheus.CounterVec
	retries  *prometheus.CounterVec

	ofNamespaces *prometheus.HistogramVec
}

func newClientMetrics() clientMetrics {
	return clientMetrics{
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "lockstep_kubernetes_request_duration_seconds",
			Help:    "Time until the API server answered, by verb and resource; for a watch, until the watch began.",
			Buckets: []float64{0.001, 0.005, 0.01, 0.025, 0.1, 0.5, 2.5, 10, 30},
		}, []string{"verb", "resource"}),
		throttle: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "lockstep_kubernetes_throttle_duration_seconds",
			Help:    "Time that requests waited for the client's rate limit before they were sent.",
			Buckets: []float64{0.001, 0.01, 0.1, 1, 10},
		}, []string{"verb"}),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "lockstep_kubernetes_requests_total",
			Help: "Answers of the API server by verb and HTTP status; \"error\" if there was no answer.",
		}, []string{"verb", "code"}),
		retries: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "lockstep_kubernetes_request_retries_total",
			Help: "Requests that client-go sent again, by verb and HTTP status.",
		}, []string{"verb", "code"}),
		ofNamespaces: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "lockstep_namespace_request_duration_seconds",
			Help: "Time until the API server began to answer a request for objects of a managed namespace, by verb, resource and HTTP status; \"error\" if there was no answer. " +
				"All other requests have an empty namespace.",
			Buckets: []float64{0.01, 0.1, 1},
		}, []string{"namespace", "verb", "resource", "code"}),
	}
}

func (c clientMetrics) all() []prometheus.Collector {
	return []prometheus.Collector{c.duration, c.throttle, c.requests, c.retries, c.ofNamespaces}
}

// ObserveClients makes all clients of the process report here. client-go keeps the first
// registration of a process and ignores others.
func (m *Metrics) ObserveClients() {
	metrics.Register(metrics.RegisterOpts{
		RequestLatency:     latencies(func(verb, resource string, d time.Duration) { m.client.observeRequest(verb, resource, d) }),
		RateLimiterLatency: latencies(func(verb, _ string, d time.Duration) { m.client.throttle.WithLabelValues(verb).Observe(d.Seconds()) }),
		RequestResult:      results{m.client.requests},
		RequestRetry:       results{m.client.retries},
	})
}

func (c clientMetrics) observeRequest(verb, resource string, took time.Duration) {
	c.duration.WithLabelValues(verb, resource).Observe(took.Seconds())
}

// WatchRequests returns a transport that measures requests by the namespace of their objects. It
// changes neither request nor response.
func (m *Metrics) WatchRequests(next http.RoundTripper) http.RoundTripper { return measured{next, m} }

type measured struct {
	next    http.RoundTripper
	metrics *Metrics
}

// RoundTrip implements http.RoundTripper.
func (t measured) RoundTrip(r *http.Request) (*http.Response, error) {
	began := time.Now()
	answer, err := t.next.RoundTrip(r)
	code := "error"
	if err == nil {
		code = strconv.Itoa(answer.StatusCode)
	}
	t.metrics.requested(r, code, time.Since(began))
	return answer, err
}

// WrappedRoundTripper returns the inner transport, for client-go.
func (t measured) WrappedRoundTripper() http.RoundTripper { return t.next }

func (m *Metrics) requested(r *http.Request, code string, took time.Duration) {
	resource, namespace := targetOf(r.URL.Path)
	m.managed.within(namespace, func(namespace string) {
		m.client.ofNamespaces.WithLabelValues(namespace, bounded(r.Method), resource, code).Observe(took.Seconds())
	})
}

// latencies implements metrics.LatencyMetric.
type latencies func(verb, resource string, took time.Duration)

func (f latencies) Observe(_ context.Context, verb string, u url.URL, took time.Duration) {
	f(bounded(verb), resourceOf(u.Path), took)
}

// results implements metrics.ResultMetric and metrics.RetryMetric.
type results struct{ counter *prometheus.CounterVec }

func (r results) Increment(_ context.Context, code, verb, _ string) {
	if code == "<error>" {
		code = "error"
	}
	r.counter.WithLabelValues(bounded(verb), code).Inc()
}

func (r results) IncrementRetry(ctx context.Context, code, verb, host string) {
	r.Increment(ctx, code, verb, host)
}

// bounded returns the verb if a client of the API server uses it, or "other".
func bounded(verb string) string {
	switch verb {
	case "GET", "POST", "PUT", "PATCH", "DELETE":
		return verb
	}
	return "other"
}

// resourceOf converts an API path to a form like apps/v1/statefulsets/status, without names of
// namespaces and objects. Therefore there are only as many values as resources that lockstep
// requests. Paths of another form are "other".
func resourceOf(path string) string {
	resource, _ := targetOf(path)
	return resource
}

// targetOf returns the resource and the namespace in a path of the API. The namespace is empty if
// the path has none.
func targetOf(path string) (resource, namespace string) {
	part := strings.Split(strings.Trim(path, "/"), "/")
	part = part[max(0, slices.IndexFunc(part, isAPI)):] // a proxy may add a prefix
	var version []string
	switch {
	case len(part) >= 3 && part[0] == "api":
		version, part = []string{"core", part[1]}, part[2:]
	case len(part) >= 4 && part[0] == "apis":
		version, part = part[1:3], part[3:]
	default:
		return "other", ""
	}
	if inNamespace(part) {
		namespace, part = part[1], part[2:]
	}
	of := append(version[:2:2], part[0])
	if len(part) == 3 {
		of = append(of, part[2])
	}
	return strings.Join(of, "/"), namespace
}

func isAPI(part string) bool { return part == "api" || part == "apis" }

// inNamespace distinguishes objects in a namespace from the Namespace itself.
func inNamespace(part []string) bool {
	if part[0] != "namespaces" || len(part) < 3 {
		return false
	}
	return len(part) > 3 || part[2] != "status" && part[2] != "finalize"
}
