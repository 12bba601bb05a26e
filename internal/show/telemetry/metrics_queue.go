package telemetry

import (
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/util/workqueue"
)

// queueMetrics are the metrics of the loops' queues. lockstep chooses their names.
type queueMetrics struct {
	depth, unfinished, longest *prometheus.GaugeVec
	adds, retries              *prometheus.CounterVec
	latency, work              *prometheus.HistogramVec
	waits                      *namespaceWaits
}

func newQueueMetrics() queueMetrics {
	gauge := func(name, help string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "lockstep_workqueue_" + name, Help: help}, []string{"name"})
	}
	counter := func(name, help string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "lockstep_workqueue_" + name, Help: help}, []string{"name"})
	}
	histogram := func(name, help string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "lockstep_workqueue_" + name, Help: help,
			Buckets: []float64{0.0001, 0.001, 0.005, 0.01, 0.05, 0.25, 1, 5, 30},
		}, []string{"name"})
	}
	return queueMetrics{
		depth:      gauge("depth", "Keys that wait for a worker."),
		unfinished: gauge("unfinished_work_seconds", "Sum of the durations so far of all keys that workers process now."),
		longest:    gauge("longest_running_processor_seconds", "Duration so far of the key that a worker has processed longest."),
		adds:       counter("adds_total", "Keys added to the queue."),
		retries:    counter("retries_total", "Keys added again after an error."),
		latency:    histogram("queue_duration_seconds", "Time that a key waited for a worker."),
		work:       histogram("work_duration_seconds", "Time that a worker needed for a key."),
		waits:      newNamespaceWaits(),
	}
}

func (q queueMetrics) all() []prometheus.Collector {
	return []prometheus.Collector{q.depth, q.unfinished, q.longest, q.adds, q.retries, q.latency, q.work, q.waits.took}
}

// Queues returns the provider of metrics for client-go's work queues.
func (m *Metrics) Queues() workqueue.MetricsProvider { return queueProvider{m.queue} }

type queueProvider struct{ of queueMetrics }

func (p queueProvider) NewDepthMetric(name string) workqueue.GaugeMetric {
	return p.of.depth.WithLabelValues(name)
}

func (p queueProvider) NewAddsMetric(name string) workqueue.CounterMetric {
	return p.of.adds.WithLabelValues(name)
}

func (p queueProvider) NewLatencyMetric(name string) workqueue.HistogramMetric {
	return p.of.latency.WithLabelValues(name)
}

func (p queueProvider) NewWorkDurationMetric(name string) workqueue.HistogramMetric {
	return p.of.work.WithLabelValues(name)
}

func (p queueProvider) NewUnfinishedWorkSecondsMetric(name string) workqueue.SettableGaugeMetric {
	return p.of.unfinished.WithLabelValues(name)
}

func (p queueProvider) NewLongestRunningProcessorSecondsMetric(name string) workqueue.SettableGaugeMetric {
	return p.of.longest.WithLabelValues(name)
}

func (p queueProvider) NewRetriesMetric(name string) workqueue.CounterMetric {
	return p.of.retries.WithLabelValues(name)
}
