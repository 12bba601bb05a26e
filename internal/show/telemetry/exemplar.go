package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
)

// observe records a duration, with the trace that it belongs to as an exemplar.
func observe(span trace.SpanContext, in prometheus.Observer, took time.Duration) {
	traced, ok := in.(prometheus.ExemplarObserver)
	if !ok || !span.IsSampled() {
		in.Observe(took.Seconds())
		return
	}
	traced.ObserveWithExemplar(took.Seconds(), traceLabels(span.TraceID()))
}

func traceLabels(id trace.TraceID) prometheus.Labels {
	return prometheus.Labels{"trace_id": id.String()}
}
