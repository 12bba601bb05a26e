package telemetry

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// mostNamespaces bounds the series by namespace; namespaces beyond it share the series of an empty
// namespace.
const mostNamespaces = 500

// deletable is a metric whose series can be deleted by a label.
type deletable interface {
	DeletePartialMatch(prometheus.Labels) int
}

// managedNamespaces are the namespaces that opted in. Only they become labels: requests and reviews
// name any namespace of the cluster.
type managedNamespaces struct {
	shown   *prometheus.GaugeVec
	metrics []deletable // with series by namespace

	mu    sync.RWMutex
	names map[string]bool
}

// newManagedNamespaces returns an empty set of namespaces. The series of a namespace are deleted from
// these metrics when it is no longer managed.
func newManagedNamespaces(metrics ...deletable) *managedNamespaces {
	shown := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "lockstep_namespace_managed",
		Help: "1 for a namespace that opted in; only the first 500 namespaces have a series.",
	}, []string{"namespace"})
	return &managedNamespaces{shown: shown, metrics: append(metrics, shown), names: map[string]bool{}}
}

func (n *managedNamespaces) all() []prometheus.Collector { return []prometheus.Collector{n.shown} }

// NamespaceManaged shows that a namespace opted in.
func (m *Metrics) NamespaceManaged(namespace string) {
	n := m.managed
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.names) < mostNamespaces {
		n.names[namespace] = true
		n.shown.WithLabelValues(namespace).Set(1)
	}
}

// forget deletes all series of a namespace.
func (n *managedNamespaces) forget(namespace string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.names, namespace)
	for _, metric := range n.metrics {
		metric.DeletePartialMatch(prometheus.Labels{"namespace": namespace})
	}
}

// within calls measure with the label for a namespace, which is empty unless the namespace is
// managed. No namespace is forgotten during the call.
func (n *managedNamespaces) within(namespace string, measure func(label string)) {
	n.mu.RLock()
	defer n.mu.RUnlock()
	if !n.names[namespace] {
		namespace = ""
	}
	measure(namespace)
}

// ForgetNamespace deletes all series of a namespace that is no longer managed.
func (m *Metrics) ForgetNamespace(namespace string) {
	m.managed.forget(namespace)
	m.queue.waits.forget(namespace)
	m.budgets.forget(namespace)
}
