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
			Help: "Until when the certificate is valid that this process serves to webhook clients, in seconds since 1970.",
		}, nil),
		faults: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "lockstep_webhook_configuration_faults",
			Help: "Webhooks for lockstep that API servers may get no answer to, or go on without, by what is wrong: bundle, service, port or " +
				"path in their configuration; ignored, where the failurePolicy of a guard is Ignore; missing, where no configuration calls one; or unheard, where calls do not arrive. The log says which and what to do.",
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
