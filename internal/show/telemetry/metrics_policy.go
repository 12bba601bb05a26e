package telemetry

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// policyMetrics are the metrics of the failurePolicy of webhooks.
type policyMetrics struct {
	policy *prometheus.Desc

	mu       sync.Mutex
	policies func() []WebhookPolicy // nil if lockstep does not watch configurations
}

// WebhookPolicy is the failurePolicy of a webhook.
type WebhookPolicy struct {
	Namespace string // from the configuration's label; empty if it has none
	Type      string // ValidatingWebhook or MutatingWebhook
	Webhook   string
	Ignored   bool // the policy is Ignore
}

func newPolicyMetrics() *policyMetrics {
	return &policyMetrics{policy: prometheus.NewDesc("lockstep_webhook_failure_policy",
		"1 for the failurePolicy of a webhook and 0 for the other policy, for configurations with a label for lockstep or for a managed namespace. "+
			"There is no series if lockstep does not watch configurations.",
		[]string{"namespace", "type", "webhook", "policy"}, nil)}
}

func (p *policyMetrics) all() []prometheus.Collector { return []prometheus.Collector{p} }

// ObserveWebhookPolicies registers the function that every scrape calls for the policies.
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
	ignored := map[WebhookPolicy]bool{} // configurations may have webhooks of the same name
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
