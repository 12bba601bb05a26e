package telemetry

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// mostNamespaces bounds the series by namespace; namespaces beyond it share the series of an empty
// namespace.
const mostNamespaces = 500

// forgetful is a vector whose series can be removed by a label.
type forgetful interface {
	DeletePartialMatch(prometheus.Labels) int
}

// managedNamespaces are the namespaces that opted in, the only ones that may be a label: names from
// requests and reviews are those of anybody's objects.
type managedNamespaces struct {
	shown *prometheus.GaugeVec
	of    []forgetful // what has series of namespaces

	mu    sync.RWMutex
	names map[string]bool
}

// newManagedNamespaces returns that of no namespace, for these vectors, whose series go with
// their namespace.
func newManagedNamespaces(of ...forgetful) *managedNamespaces {
	shown := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "lockstep_namespace_managed",
		Help: "1 for a namespace that opted in; the first 500 of them are shown.",
	}, []string{"namespace"})
	return &managedNamespaces{shown: shown, of: append(of, shown), names: map[string]bool{}}
}

func (n *managedNamespaces) all() []prometheus.Collector { return []prometheus.Collector{n.shown} }

// NamespaceManaged says that a namespace opted in.
func (m *Metrics) NamespaceManaged(namespace string) {
	n := m.managed
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.names) < mostNamespaces {
		n.names[namespace] = true
		n.shown.WithLabelValues(namespace).Set(1)
	}
}

// forget removes all series of a namespace.
func (n *managedNamespaces) forget(namespace string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.names, namespace)
	for _, vector := range n.of {
		vector.DeletePartialMatch(prometheus.Labels{"namespace": namespace})
	}
}

// within measures something under the label of a namespace, which is empty unless the namespace
// is managed. Meanwhile no namespace is forgotten.
func (n *managedNamespaces) within(namespace string, measure func(label string)) {
	n.mu.RLock()
	defer n.mu.RUnlock()
	if !n.names[namespace] {
		namespace = ""
	}
	measure(namespace)
}

// ForgetNamespace removes what is said of a namespace that is managed no more.
func (m *Metrics) ForgetNamespace(namespace string) {
	m.managed.forget(namespace)
	m.queue.waits.forget(namespace)
	m.budgets.forget(namespace)
}
