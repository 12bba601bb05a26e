package telemetry

import "github.com/prometheus/client_golang/prometheus"

// Own is for the tests of everything that is measured.
func (m *Metrics) Own() []prometheus.Collector { return m.own() }
