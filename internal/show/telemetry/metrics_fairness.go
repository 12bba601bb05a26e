package telemetry

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// namespaceWaits measures how long the groups of each namespace wait for a worker.
type namespaceWaits struct {
	took *prometheus.SummaryVec

	mu    sync.Mutex
	known map[string]bool
}

func newNamespaceWaits() *namespaceWaits {
	return &namespaceWaits{
		took: prometheus.NewSummaryVec(prometheus.SummaryOpts{
			Name: "lockstep_namespace_queue_duration_seconds",
			Help: "Time that groups of the namespace waited for a worker. All namespaces after the first 500 have an empty label.",
		}, []string{"namespace"}),
		known: map[string]bool{},
	}
}

// NamespaceWaited records how long a group of a namespace waited for a worker.
func (m *Metrics) NamespaceWaited(namespace string, took time.Duration) {
	w := m.queue.waits
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.known[namespace]:
	case len(w.known) < mostNamespaces:
		w.known[namespace] = true
	default:
		namespace = ""
	}
	w.took.WithLabelValues(namespace).Observe(took.Seconds())
}

// forget deletes the series of a namespace.
func (w *namespaceWaits) forget(namespace string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.known, namespace)
	w.took.DeleteLabelValues(namespace)
}

// ForgetNamespaces deletes the series of all namespaces, because another process is the leader
// now.
func (m *Metrics) ForgetNamespaces() {
	w := m.queue.waits
	w.mu.Lock()
	defer w.mu.Unlock()
	clear(w.known)
	w.took.Reset()
}
