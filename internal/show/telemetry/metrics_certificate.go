package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// certificateMetrics are the metrics of the webhooks' certificate and of the configurations that
// trust it. If no certificate is served, or no configuration is checked, they have no series.
type certificateMetrics struct{ expiry, faults *prometheus.GaugeVec }

func newCertificateMetrics() certificateMetrics {
	return certificateMetrics{
		expiry: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "lockstep_webhook_certificate_expiry_timestamp_seconds",
			Help: "Unix time at which the certificate expires that this process serves for webhooks.",
		}, nil),
		faults: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "lockstep_webhook_configuration_faults",
			Help: "Webhooks of lockstep that API servers cannot call, or whose failure they ignore, by fault: bundle, service, port or " +
				"path (wrong in the configuration); ignored (a webhook that refuses requests has the failurePolicy Ignore); missing (no configuration has the webhook); unheard (no calls arrive). The log names the webhooks and says what to do.",
		}, []string{"fault"}),
	}
}

func (c certificateMetrics) all() []prometheus.Collector {
	return []prometheus.Collector{c.expiry, c.faults}
}

// CertificateExpires sets until when the served certificate is valid.
func (m *Metrics) CertificateExpires(at time.Time) {
	m.certificate.expiry.WithLabelValues().Set(float64(at.Unix()))
}

// WebhookFaults sets how many webhook configurations have a kind of fault.
func (m *Metrics) WebhookFaults(fault string, n int) {
	m.certificate.faults.WithLabelValues(fault).Set(float64(n))
}
