package telemetry

import (
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
)

// admissionMetrics are the metrics of reviews of API servers and of calls to pods.
type admissionMetrics struct {
	reviews  *prometheus.CounterVec
	took     *prometheus.HistogramVec
	inflight *prometheus.GaugeVec
	unpinned prometheus.Counter
	calls    *prometheus.HistogramVec
}

func newAdmissionMetrics() admissionMetrics {
	return admissionMetrics{
		reviews: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "lockstep_admission_reviews_total",
			Help: "Admission reviews by managed namespace, webhook, verdict (allowed, denied, malformed, busy, broken) and reason.",
		}, []string{"namespace", "webhook", "verdict", "reason"}),
		took: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "lockstep_admission_duration_seconds",
			Help:    "Time from reading a review to answering it, including calls to pods, by managed namespace, webhook and verdict.",
			Buckets: []float64{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 2.5, 10},
		}, []string{"namespace", "webhook", "verdict"}),
		inflight: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "lockstep_admission_inflight_reviews",
			Help: "Reviews in progress by managed namespace and webhook.",
		}, []string{"namespace", "webhook"}),
		unpinned: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "lockstep_evictions_unpinned_total",
			Help: "Evictions whose preconditions named no UID or, for a pod that is down, no resourceVersion; lockstep judged the pod that it knew by that name. The webhook pod-eviction-pin adds these preconditions.",
		}),
		calls: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "lockstep_pod_call_duration_seconds",
			Help:    "Duration of calls to pods by managed namespace, purpose (prepare, undo, leave, stay), outcome, why a call had no valid answer, and class of the HTTP status.",
			Buckets: []float64{0.005, 0.025, 0.1, 0.5, 1, 2.5, 5},
		}, []string{"namespace", "purpose", "outcome", "why", "code"}),
	}
}

func (a admissionMetrics) all() []prometheus.Collector {
	return []prometheus.Collector{a.reviews, a.took, a.inflight, a.unpinned, a.calls}
}

// Review is the measured data of a review of an API server.
type Review struct {
	Namespace, Webhook, Verdict, Reason string

	Span trace.SpanContext // if it is sampled, it becomes the exemplar of the duration
	Took time.Duration
}

// Reviewed counts a review.
func (m *Metrics) Reviewed(r Review) {
	m.managed.within(r.Namespace, func(namespace string) {
		m.admission.reviews.WithLabelValues(namespace, r.Webhook, r.Verdict, r.Reason).Inc()
		observe(r.Span, m.admission.took.WithLabelValues(namespace, r.Webhook, r.Verdict), r.Took)
	})
}

// Reviewing counts a review as in progress until done is called.
func (m *Metrics) Reviewing(namespace, webhook string) (done func()) {
	m.managed.within(namespace, func(namespace string) {
		inflight := m.admission.inflight.WithLabelValues(namespace, webhook)
		inflight.Inc()
		done = inflight.Dec
	})
	return done
}

// EvictionUnpinned counts an eviction that no precondition ties to the judged pod.
func (m *Metrics) EvictionUnpinned() { m.admission.unpinned.Inc() }

// PodCall is the measured data of a call to a pod.
type PodCall struct {
	Namespace, Purpose, Outcome, Why string

	Status int // of the response; 0: there was none
	Took   time.Duration
}

// PodCalled counts a call to a pod.
func (m *Metrics) PodCalled(c PodCall) {
	m.managed.within(c.Namespace, func(namespace string) {
		m.admission.calls.WithLabelValues(namespace, c.Purpose, c.Outcome, c.Why, classOf(c.Status)).Observe(c.Took.Seconds())
	})
}

// classOf returns the class of an HTTP status, such as 4xx. A pod can answer with any status, so a
// series for each would have no bound.
func classOf(status int) string {
	const hundred = 100
	switch class := status / hundred; {
	case status == 0:
		return ""
	case class >= 1 && class <= 5:
		return fmt.Sprintf("%dxx", class)
	}
	return "other"
}
