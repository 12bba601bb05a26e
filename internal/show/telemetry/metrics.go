package telemetry

import (
	"net/http"
	"runtime"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/sirupsen/logrus"
)

// Metrics is everything that is measured, in a registry of its own. All methods
// may be called from any goroutine.
type Metrics struct {
	registry *prometheus.Registry

	process     processMetrics
	group       *groupMetrics
	queue       queueMetrics
	client      clientMetrics
	certificate certificateMetrics
	admission   admissionMetrics
	managed     *managedNamespaces
	policies    *policyMetrics
	events      eventMetrics
	caches      cacheMetrics
	budgets     *budgetMetrics
}

// NewMetrics returns metrics with nothing counted yet.
func NewMetrics(version string) *Metrics {
	caches := newCacheMetrics()
	m := &Metrics{
		registry:    prometheus.NewRegistry(),
		process:     newProcessMetrics(),
		group:       newGroupMetrics(caches.followed),
		queue:       newQueueMetrics(),
		client:      newClientMetrics(),
		certificate: newCertificateMetrics(),
		admission:   newAdmissionMetrics(),
		events:      newEventMetrics(),
		caches:      caches,
		policies:    newPolicyMetrics(),
		budgets:     newBudgetMetrics(),
	}
	m.managed = newManagedNamespaces(m.admission.reviews, m.admission.took, m.admission.inflight, m.admission.calls, m.client.ofNamespaces)
	m.registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	m.registry.MustRegister(m.own()...)
	m.process.buildInfo.WithLabelValues(version, runtime.Version()).Set(1)
	return m
}

// own is what lockstep measures itself, beside what libraries do.
func (m *Metrics) own() []prometheus.Collector {
	return slices.Concat(
		m.process.all(), m.group.all(), m.queue.all(), m.client.all(), m.certificate.all(), m.admission.all(), m.managed.all(), m.policies.all(),
		m.events.all(), m.caches.all(), m.budgets.all(),
	)
}

// Handler serves the metrics to Prometheus, with exemplars to those who ask for
// OpenMetrics. What cannot be collected is logged and left out.
func (m *Metrics) Handler(log logrus.FieldLogger) http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		Registry:          m.registry,
		ErrorLog:          scrapeLog{log},
		ErrorHandling:     promhttp.ContinueOnError,
		EnableOpenMetrics: true,
	})
}

// scrapeLog is promhttp's idea of a log.
type scrapeLog struct{ log logrus.FieldLogger }

func (s scrapeLog) Println(v ...any) { s.log.WithField("component", "metrics").Error(v...) }
