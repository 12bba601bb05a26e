package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// certificateMetrics is about the certificate of the webhooks and what trusts it.
// There is no series where none is served, or where no configuration is looked at.
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

// CertificateExpires says until when the served certificate is valid.
func (m *Metrics) CertificateExpires(at time.Time) {
	m.certificate.expiry.WithLabelValues().Set(float64(at.Unix()))
}

// WebhookFaults says how many webhooks are configured wrongly in one way.
func (m *Metrics) WebhookFaults(fault string, n int) {
	m.certificate.faults.WithLabelValues(fault).Set(float64(n))
}
