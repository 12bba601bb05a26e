package telemetry

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// budgetMetrics are the metrics of ZoneAwarePodDisruptionBudgets. It stores their states; a
// scrape converts them to series.
type budgetMetrics struct {
	invalid, seconds, changes *prometheus.Desc

	mu    sync.Mutex
	known map[string]*namespaceBudgets // by namespace
}

// Budget is the last known state of a ZoneAwarePodDisruptionBudget.
type Budget struct {
	Name    string
	Version string // changes if the spec changes
	Invalid bool   // lockstep cannot use it
}

// namespaceBudgets are the budgets of one namespace and the counts of their changes.
type namespaceBudgets struct {
	budgets                    map[string]Budget // by name
	updated, deleted, rejected int
	invalidFor                 time.Duration // summed over budgets, up to counted
	counted                    time.Time
}

func newBudgetMetrics() *budgetMetrics {
	return &budgetMetrics{
		invalid: prometheus.NewDesc("lockstep_budget_invalid",
			"1 for an invalid ZoneAwarePodDisruptionBudget; lockstep refuses evictions of the pods that it covers.",
			[]string{"namespace", "budget"}, nil),
		seconds: prometheus.NewDesc("lockstep_budget_invalid_seconds_total",
			"Seconds for which ZoneAwarePodDisruptionBudgets of the namespace were invalid, summed over budgets.",
			[]string{"namespace"}, nil),
		changes: prometheus.NewDesc("lockstep_budget_changes_total",
			"Changes of ZoneAwarePodDisruptionBudgets that this process has read: updated (also created), deleted or invalid.",
			[]string{"namespace", "change"}, nil),
		known: map[string]*namespaceBudgets{},
	}
}

func (b *budgetMetrics) all() []prometheus.Collector { return []prometheus.Collector{b} }

// Budgets replaces the budgets of a namespace and counts what has changed.
func (m *Metrics) Budgets(namespace string, now []Budget) {
	b := m.budgets
	b.mu.Lock()
	defer b.mu.Unlock()
	of := b.known[namespace]
	if of == nil {
		if len(now) == 0 {
			return
		}
		of = &namespaceBudgets{counted: time.Now()}
		b.known[namespace] = of
	}
	of.replace(now)
}

// forget deletes all series of a namespace.
func (b *budgetMetrics) forget(namespace string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.known, namespace)
}

// replace counts the changes between the former budgets and these.
func (n *namespaceBudgets) replace(now []Budget) {
	n.elapse()
	before := n.budgets
	n.budgets = map[string]Budget{}
	for _, budget := range now {
		n.budgets[budget.Name] = budget
		switch known, found := before[budget.Name]; {
		case found && known == budget:
		case budget.Invalid:
			n.rejected++
		default:
			n.updated++
		}
	}
	for name := range before {
		if _, still := n.budgets[name]; !still {
			n.deleted++
		}
	}
}

// elapse adds the time since the last call to the total of each invalid budget.
func (n *namespaceBudgets) elapse() {
	now := time.Now()
	for _, budget := range n.budgets {
		if budget.Invalid {
			n.invalidFor += now.Sub(n.counted)
		}
	}
	n.counted = now
}

// Describe implements prometheus.Collector.
func (b *budgetMetrics) Describe(into chan<- *prometheus.Desc) {
	into <- b.invalid
	into <- b.seconds
	into <- b.changes
}

// Collect implements prometheus.Collector.
func (b *budgetMetrics) Collect(into chan<- prometheus.Metric) {
	b.mu.Lock()
	defer b.mu.Unlock()
	count := func(desc *prometheus.Desc, n float64, labels ...string) {
		into <- prometheus.MustNewConstMetric(desc, prometheus.CounterValue, n, labels...)
	}
	for namespace, of := range b.known {
		of.elapse()
		count(b.seconds, of.invalidFor.Seconds(), namespace)
		count(b.changes, float64(of.updated), namespace, "updated")
		count(b.changes, float64(of.deleted), namespace, "deleted")
		count(b.changes, float64(of.rejected), namespace, "invalid")
		for name, budget := range of.budgets {
			if budget.Invalid {
				into <- prometheus.MustNewConstMetric(b.invalid, prometheus.GaugeValue, 1, namespace, name)
			}
		}
	}
}
