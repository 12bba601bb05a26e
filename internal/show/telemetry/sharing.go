package telemetry

import (
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// sharing is a metric that shares its labels with other metrics of its group, because a scrape
// holds all metrics in memory until its end.
type sharing struct {
	prometheus.Metric

	pairs labelPairs
}

// Write implements prometheus.Metric.
func (m sharing) Write(out *dto.Metric) error {
	if err := m.Metric.Write(out); err != nil {
		return err
	}
	for i, own := range out.Label {
		out.Label[i] = m.pairs.shared(own)
	}
	return nil
}

// labelPairs are the labels of one group in one scrape. The scrape writes the metrics one after
// the other.
type labelPairs map[labelPair]*dto.LabelPair

type labelPair struct{ name, value string }

func (p labelPairs) shared(own *dto.LabelPair) *dto.LabelPair {
	key := labelPair{own.GetName(), own.GetValue()}
	if known := p[key]; known != nil {
		return known
	}
	p[key] = own
	return own
}
