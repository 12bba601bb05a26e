package telemetry

import "github.com/prometheus/client_golang/prometheus"

// Own returns the collectors of lockstep's own metrics, for tests.
func (m *Metrics) Own() []prometheus.Collector { return m.own() }
