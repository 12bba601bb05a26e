package telemetry

import "github.com/prometheus/client_golang/prometheus"

// eventMetrics are the metrics of Events. Under load, Events are dropped first.
type eventMetrics struct{ writes *prometheus.CounterVec }

func newEventMetrics() eventMetrics {
	return eventMetrics{writes: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "lockstep_event_writes_total",
		Help: "Attempts to write an Event: written; dropped (the API server refused it); unanswered (lockstep tries twelve times within two minutes " +
			"and then drops it); excess (above lockstep's limit of Events); withheld (the namespace is not managed).",
	}, []string{"result"})}
}

func (e eventMetrics) all() []prometheus.Collector { return []prometheus.Collector{e.writes} }

// EventWritten counts an attempt to write an Event. Results come from a fixed set.
func (m *Metrics) EventWritten(result string) { m.events.writes.WithLabelValues(result).Inc() }
