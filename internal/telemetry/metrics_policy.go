package telemetry

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// policyMetrics is about what API servers do with a request while a webhook does not answer.
type policyMetrics struct {
	policy *prometheus.Desc

	mu       sync.Mutex
	policies func() []WebhookPolicy // nil where nobody watches configurations
}

// WebhookPolicy is the failurePolicy of a webhook.
type WebhookPolicy struct {
	Namespace string // that the configuration is labelled for; empty: none
	Type      string // ValidatingWebhook or MutatingWebhook
	Webhook   string
	Ignored   bool // API servers go on without its answer
}

func newPolicyMetrics() *policyMetrics {
	return &policyMetrics{policy: prometheus.NewDesc("lockstep_webhook_failure_policy",
		"1 for the failurePolicy that a webhook has, and 0 for the other one; of configurations that are labelled for lockstep or for a managed namespace. "+
			"There is no series where lockstep does not watch them.",
		[]string{"namespace", "type", "webhook", "policy"}, nil)}
}

func (p *policyMetrics) all() []prometheus.Collector { return []prometheus.Collector{p} }

// ObserveWebhookPolicies says how to learn the policies of webhooks.
func (m *Metrics) ObserveWebhookPolicies(policies func() []WebhookPolicy) {
	m.policies.mu.Lock()
	defer m.policies.mu.Unlock()
	m.policies.policies = policies
}

// Describe implements prometheus.Collector.
func (p *policyMetrics) Describe(into chan<- *prometheus.Desc) { into <- p.policy }

// Collect implements prometheus.Collector.
func (p *policyMetrics) Collect(into chan<- prometheus.Metric) {
	p.mu.Lock()
	policies := p.policies
	p.mu.Unlock()
	if policies == nil {
		return
	}
	ignored := map[WebhookPolicy]bool{} // of several webhooks with the same name one suffices
	for _, one := range policies() {
		named := WebhookPolicy{Namespace: one.Namespace, Type: one.Type, Webhook: one.Webhook}
		ignored[named] = ignored[named] || one.Ignored
	}
	for named, ignores := range ignored {
		for policy, set := range map[string]bool{"Fail": !ignores, "Ignore": ignores} {
			into <- prometheus.MustNewConstMetric(p.policy, prometheus.GaugeValue, number(set), named.Namespace, named.Type, named.Webhook, policy)
		}
	}
}
