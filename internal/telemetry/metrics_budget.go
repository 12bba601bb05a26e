package telemetry

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// budgetMetrics is about ZoneAwarePodDisruptionBudgets, by their names.
type budgetMetrics struct {
	invalid *prometheus.GaugeVec

	mu    *sync.Mutex
	shown map[string]map[string]bool // names by namespace
}

func newBudgetMetrics() budgetMetrics {
	return budgetMetrics{
		invalid: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "lockstep_budget_invalid",
			Help: "1 for a ZoneAwarePodDisruptionBudget that cannot be used as it is written; its pods are not evicted.",
		}, []string{"namespace", "budget"}),
		mu: &sync.Mutex{}, shown: map[string]map[string]bool{},
	}
}

func (b budgetMetrics) all() []prometheus.Collector { return []prometheus.Collector{b.invalid} }

// BudgetsInvalid replaces what was said about the budgets of a namespace.
func (m *Metrics) BudgetsInvalid(namespace string, names []string) {
	b := m.budgets
	b.mu.Lock()
	defer b.mu.Unlock()
	now := map[string]bool{}
	for _, name := range names {
		now[name] = true
		b.invalid.WithLabelValues(namespace, name).Set(1)
	}
	for name := range b.shown[namespace] {
		if !now[name] {
			b.invalid.DeleteLabelValues(namespace, name)
		}
	}
	b.shown[namespace] = now
	if len(now) == 0 {
		delete(b.shown, namespace)
	}
}
