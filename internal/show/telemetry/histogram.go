package telemetry

import (
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
)

type histogramDesc struct {
	*prometheus.Desc

	bounds []float64
}

// histogram counts durations. It needs little memory before the first one.
type histogram struct {
	begun  bool // scrapes show it
	sum    float64
	counts []uint64   // by bucket; the last one has no upper bound
	traces []exemplar // the last exemplar of each bucket that has one
}

// exemplar is an observation with its trace.
type exemplar struct {
	value float64
	at    time.Time
	trace trace.TraceID
}

// observe counts a duration. If the span is sampled, its trace becomes an exemplar.
func (h *histogram) observe(bounds []float64, took time.Duration, span trace.SpanContext) {
	if h.counts == nil {
		h.begun, h.counts = true, make([]uint64, len(bounds)+1)
	}
	v := took.Seconds()
	bucket, _ := slices.BinarySearch(bounds, v)
	h.counts[bucket]++
	h.sum += v
	if !span.IsSampled() {
		return
	}
	if h.traces == nil {
		h.traces = make([]exemplar, len(bounds)+1)
	}
	h.traces[bucket] = exemplar{v, time.Now(), span.TraceID()}
}

// metric returns the metric for a scrape.
func (h *histogram) metric(desc histogramDesc, since time.Time, labels []string) (prometheus.Metric, error) {
	n, upTo := h.cumulated(desc.bounds)
	metric, err := prometheus.NewConstHistogramWithCreatedTimestamp(desc.Desc, n, h.sum, upTo, since, labels...)
	if exemplars := h.exemplars(); err == nil && len(exemplars) > 0 {
		return prometheus.NewMetricWithExemplars(metric, exemplars...)
	}
	return metric, err
}

// cumulated returns the number of durations in total, and up to each bound.
func (h *histogram) cumulated(bounds []float64) (n uint64, upTo map[float64]uint64) {
	upTo = make(map[float64]uint64, len(bounds))
	for _, bound := range bounds {
		upTo[bound] = 0
	}
	for bucket, more := range h.counts {
		n += more
		if bucket < len(bounds) {
			upTo[bounds[bucket]] = n
		}
	}
	return n, upTo
}

func (h *histogram) exemplars() []prometheus.Exemplar {
	var all []prometheus.Exemplar
	for _, e := range h.traces {
		if e.trace.IsValid() {
			all = append(all, prometheus.Exemplar{Value: e.value, Labels: traceLabels(e.trace), Timestamp: e.at})
		}
	}
	return all
}
