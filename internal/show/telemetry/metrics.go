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

// Metrics contains all metrics, in its own registry. All methods are safe for concurrent use.
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
	pools       *poolMetrics
}

// NewMetrics returns metrics without any counts.
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
		pools:       newPoolMetrics(),
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

// own returns the collectors of lockstep's own metrics, without those of libraries.
func (m *Metrics) own() []prometheus.Collector {
	return slices.Concat(
		m.process.all(), m.group.all(), m.queue.all(), m.client.all(), m.certificate.all(), m.admission.all(), m.managed.all(), m.policies.all(),
		m.events.all(), m.caches.all(), m.budgets.all(), m.pools.all(),
	)
}

// Handler serves the metrics to Prometheus, with exemplars if the client requests OpenMetrics. It
// logs and omits metrics that cannot be collected.
func (m *Metrics) Handler(log logrus.FieldLogger) http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		Registry:          m.registry,
		ErrorLog:          scrapeLog{log},
		ErrorHandling:     promhttp.ContinueOnError,
		EnableOpenMetrics: true,
	})
}

// scrapeLog adapts a logger to promhttp.
type scrapeLog struct{ log logrus.FieldLogger }

func (s scrapeLog) Println(v ...any) { s.log.WithField("component", "metrics").Error(v...) }
