package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
)

// admissionMetrics is about reviews of API servers and calls to pods.
type admissionMetrics struct {
	reviews  *prometheus.CounterVec
	took     *prometheus.HistogramVec
	unpinned prometheus.Counter
	calls    *prometheus.HistogramVec
}

func newAdmissionMetrics() admissionMetrics {
	return admissionMetrics{
		reviews: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "lockstep_admission_reviews_total",
			Help: "Reviews of API servers by webhook, verdict (allowed, denied, malformed, busy, broken) and reason.",
		}, []string{"webhook", "verdict", "reason"}),
		took: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "lockstep_admission_duration_seconds",
			Help:    "Time from reading a review to answering it, by webhook and verdict; calls to pods are part of it.",
			Buckets: []float64{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 2.5, 10},
		}, []string{"webhook", "verdict"}),
		unpinned: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "lockstep_evictions_unpinned_total",
			Help: "Evictions that were bound to no pod or, where it is down, to no version of it, so that the pod known by that name was judged; the webhook pod-eviction-pin binds them.",
		}),
		calls: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "lockstep_pod_call_duration_seconds",
			Help:    "Time that pods took to answer, by purpose (prepare, undo, leave, stay), outcome and why it was no answer.",
			Buckets: []float64{0.005, 0.025, 0.1, 0.5, 1, 2.5, 5},
		}, []string{"purpose", "outcome", "why"}),
	}
}

func (a admissionMetrics) all() []prometheus.Collector {
	return []prometheus.Collector{a.reviews, a.took, a.unpinned, a.calls}
}

// Reviewed counts one review. Its span, if it is sampled, becomes the exemplar of
// the duration.
func (m *Metrics) Reviewed(webhook, verdict, reason string, span trace.SpanContext, took time.Duration) {
	m.admission.reviews.WithLabelValues(webhook, verdict, reason).Inc()
	observe(span, m.admission.took.WithLabelValues(webhook, verdict), took)
}

// EvictionUnpinned counts one eviction that is not bound to the very pod judged.
func (m *Metrics) EvictionUnpinned() { m.admission.unpinned.Inc() }

// PodCalled counts one call to a pod.
func (m *Metrics) PodCalled(purpose, outcome, why string, took time.Duration) {
	m.admission.calls.WithLabelValues(purpose, outcome, why).Observe(took.Seconds())
}
