package telemetry

import (
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// series are the series of one group for one scrape.
type series struct {
	followed time.Time // the time until which the caches have followed the cluster

	of    groupKey
	since time.Time // when counts were zero
	pairs labelPairs
	made  []prometheus.Metric
}

// begin prepares for the series of a group.
func (s *series) begin(of groupKey, since time.Time) {
	s.of, s.since, s.pairs, s.made = of, since, labelPairs{}, s.made[:0]
}

func (s *series) gauge(desc *prometheus.Desc, v float64, more ...string) {
	one, err := prometheus.NewConstMetric(desc, prometheus.GaugeValue, v, s.labels(more)...)
	s.add(desc, one, err)
}

// flags are gauges that are 1 for each current reason. Several reasons with the same code give
// one series.
func (s *series) flags(desc *prometheus.Desc, zone string, reasons []string) {
	for i, why := range reasons {
		if !slices.Contains(reasons[:i], why) {
			s.gauge(desc, 1, zone, why)
		}
	}
}

func (s *series) count(desc *prometheus.Desc, n uint64, more ...string) {
	one, err := prometheus.NewConstMetricWithCreatedTimestamp(desc, prometheus.CounterValue, float64(n), s.since, s.labels(more)...)
	s.add(desc, one, err)
}

// counted adds a count from another source, whose start time is unknown.
func (s *series) counted(desc *prometheus.Desc, n int) {
	one, err := prometheus.NewConstMetric(desc, prometheus.CounterValue, float64(n), s.labels(nil)...)
	s.add(desc, one, err)
}

func (s *series) tallies(desc *prometheus.Desc, all tallies) {
	for _, t := range all {
		s.count(desc, t.n, t.a, t.b)
	}
}

func (s *series) histogram(desc histogramDesc, h *histogram) {
	if h.begun {
		one, err := h.metric(desc, s.since, s.labels(nil))
		s.add(desc.Desc, one, err)
	}
}

// add adds a metric. If it is invalid, the scrape reports the error and shows the rest.
func (s *series) add(desc *prometheus.Desc, one prometheus.Metric, err error) {
	if err != nil {
		one = prometheus.NewInvalidMetric(desc, err)
	}
	s.made = append(s.made, sharing{one, s.pairs})
}

func (s *series) labels(more []string) []string {
	return append([]string{s.of.namespace, s.of.group}, more...)
}
