package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// certificateMetrics is about the certificate of the webhooks. There is no series
// where none is served.
type certificateMetrics struct{ expiry *prometheus.GaugeVec }

func newCertificateMetrics() certificateMetrics {
	return certificateMetrics{prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "lockstep_webhook_certificate_expiry_timestamp_seconds",
		Help: "Until when the certificate is valid that this process serves to webhook clients, in seconds since 1970.",
	}, nil)}
}

func (c certificateMetrics) all() []prometheus.Collector { return []prometheus.Collector{c.expiry} }

// CertificateExpires says until when the served certificate is valid.
func (m *Metrics) CertificateExpires(at time.Time) {
	m.certificate.expiry.WithLabelValues().Set(float64(at.Unix()))
}
