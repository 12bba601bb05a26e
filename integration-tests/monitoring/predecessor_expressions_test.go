package monitoring_test

import (
	"fmt"
	"strings"
)

// formerSelector selects the series of a panel of the predecessor's dashboard. Its variables are a cluster and a
// namespace, and the namespace is part of the job.
const formerSelector = `cluster=~".+", job=~"(` + namespace + `)/(rollout-operator)"`

// formerReviews selects series of webhooks.
const formerReviews = formerSelector + `, route=~"admission.*"`

// formerWindow is the window of a rate in the dashboard.
const formerWindow = "20s"

// Metrics of the predecessor that are histograms.
const (
	formerReviewed   = "rollout_operator_request_duration_seconds"
	formerReconciled = "rollout_operator_group_reconcile_duration_seconds"
	formerRequested  = "rollout_operator_kubernetes_api_client_request_duration_seconds"
)

// formerPanel is a panel of the dashboard: its title, one of its expressions, and the labels that name its lines.
type formerPanel struct {
	title, expr string
	labels      []string
}

// formerPanels returns the panels of the predecessor's compiled dashboard that use its metrics. Mimir's mixin includes
// this dashboard unchanged. A variable of the dashboard selects classic or native histograms, so those panels are
// listed twice. Loki's mixin uses none of these metrics.
func formerPanels() []formerPanel {
	all := []formerPanel{
		{"Reconciliation attempts by rollout group", sumRate("namespace, rollout_group", "rollout_operator_group_reconciles_total"), []string{"namespace", "rollout_group"}},
		{"Reconciliation failures by rollout group", sumRate("namespace, rollout_group", "rollout_operator_group_reconciles_failed_total"), []string{"namespace", "rollout_group"}},
		{"Time since last successful reconcile", `time() - max by (namespace, rollout_group) (` + formerLastSuccess + `{` + formerSelector + `})`, []string{"namespace", "rollout_group"}},
		{"Running instances", `sum(up{` + formerSelector + `})`, nil},
		{"Configuration changes", `sum by (result) (rollout_operator_zpdb_configurations_observed_total{result!~".*ignored", ` + formerSelector + `})`, []string{"result"}},
		{"Request rate by status", sumRate("job, status", "rollout_operator_zpdb_eviction_requests_total"), []string{"job", "status"}},
		{"In-flight requests", `sum by (job) (rollout_operator_zpdb_inflight_eviction_requests{` + formerSelector + `})`, []string{"job"}},
		{"Rate limited requests by API group", sumRate("api_group", formerLimited), []string{"api_group"}},
		{
			"Percent of requests rejected by rate limiter", sumRate("api_group", formerLimited) + ` / (` + sumRate("api_group", formerLimited) +
				` + ` + sumRate("api_group", formerRequested+"_count") + `) >= 0`, []string{"api_group"},
		},
		{"Throughput by API group", sumRate("api_group", formerRequested+"_count"), []string{"api_group"}},
		{"Peak throughput by API group", `max_over_time((` + sumRate("api_group", formerRequested+"_count") + `)[30m:1s])`, []string{"api_group"}},
	}
	for _, kind := range []histogramKind{classic, native} {
		all = append(all,
			formerPanel{"Throughput of webhooks by status", byStatus(kind.counts(formerReviewed, formerReviews)), []string{"status"}},
			formerPanel{"Throughput by webhook", `sum by (route) (` + kind.counts(formerReviewed, formerReviews) + `)`, []string{"route"}},
			formerPanel{"Latency of all webhooks, 99th percentile", kind.quantile(0.99, "", formerReviewed, formerReviews), nil},
			formerPanel{"Latency of all webhooks, median", kind.quantile(0.5, "", formerReviewed, formerReviews), nil},
			formerPanel{"Latency of all webhooks, average", kind.average("", formerReviewed, formerReviews), nil},
			formerPanel{"p99 latency by webhook", kind.quantile(0.99, "route", formerReviewed, formerReviews), []string{"route"}},
			formerPanel{"Average reconcile duration by rollout group", kind.average("namespace, rollout_group", formerReconciled, formerSelector), []string{"namespace", "rollout_group"}},
			formerPanel{"Throughput of requests by status", byStatus(kind.counts(formerRequested, formerSelector)), []string{"status"}},
			formerPanel{"Throughput of requests by route", `sum by (method, path) (` + kind.counts(formerRequested, formerSelector) + `)`, []string{"method", "path"}},
			formerPanel{"Average latency of requests by route", kind.average("method, path", formerRequested, formerSelector), []string{"method", "path"}},
			formerPanel{"Average latency of all requests", kind.average("", formerRequested, formerSelector), nil},
		)
	}
	return all
}

const (
	formerLastSuccess = "rollout_operator_last_successful_group_reconcile_timestamp_seconds"
	formerLimited     = "rollout_operator_kubernetes_api_client_rate_limited_requests_total"
)

// sumRate returns the rate of a counter, by labels.
func sumRate(by, metric string) string {
	return fmt.Sprintf("sum by (%s) (rate(%s{%s}[%s]))", by, metric, formerSelector, formerWindow)
}

// byStatus sums rates by the class of the HTTP status, or by the word if there was no status.
func byStatus(rates string) string {
	return `sum by (status) (label_replace(label_replace(` + rates +
		`, "status", "${1}xx", "status_code", "([0-9]).."), "status", "${1}", "status_code", "([a-zA-Z_]+)"))`
}

// histogramKind is how the dashboard reads a histogram.
type histogramKind struct{ native bool }

var classic, native = histogramKind{}, histogramKind{native: true}

// counts returns the rate of a histogram's count.
func (k histogramKind) counts(metric, selector string) string {
	return k.part("count", metric, selector)
}

func (k histogramKind) part(part, metric, selector string) string {
	if k.native {
		return fmt.Sprintf("histogram_%s(rate(%s{%s}[%s]))", part, metric, selector, formerWindow)
	}
	return fmt.Sprintf("rate(%s_%s{%s}[%s])", metric, part, selector, formerWindow)
}

// average returns the average of a histogram in milliseconds.
func (k histogramKind) average(by, metric, selector string) string {
	return fmt.Sprintf("1e3 * sum by (%s) (%s) / sum by (%s) (%s)", by, k.part("sum", metric, selector), by, k.part("count", metric, selector))
}

// quantile returns a quantile of a histogram in milliseconds.
func (k histogramKind) quantile(q float64, by, metric, selector string) string {
	buckets, le := metric, ""
	if !k.native {
		buckets, le = metric+"_bucket", "le, "
	}
	return fmt.Sprintf("histogram_quantile(%g, sum by (%s) (rate(%s{%s}[%s]))) * 1e3", q, strings.TrimSuffix(le+by, ", "), buckets, selector, formerWindow)
}

// formerAlert is an alert about metrics of the predecessor.
type formerAlert struct{ name, expr, lasts, severity string }

// formerAlerts returns the alerts of the predecessor's compiled mixin and, as the last one, Mimir's.
func formerAlerts() []formerAlert {
	return []formerAlert{
		{"IncorrectWebhookConfigurationFailurePolicy", `count by (type, webhook, namespace) (kube_validating_webhook_failure_policy{policy="Ignore", webhook=~"^(pod-eviction|zpdb-validation).+"} > 0)`, "5m", "warning"},
		{"BadZoneAwarePodDisruptionBudgetConfiguration", `sum by (job, namespace) (rate(rollout_operator_zpdb_configurations_observed_total{result="invalid"}[5m])) > 0`, "5m", "warning"},
		{"HighNumberInflightZpdbRequests", `avg_over_time(rollout_operator_zpdb_inflight_eviction_requests[5m]) > 10`, "5m", "warning"},
		{"KubernetesAPIClientRateLimited", `sum by (namespace, api_group) (rate(` + formerLimited + `[5m])) > 0`, "15m", "warning"},
		{"RolloutOperatorNotReconciling", notReconciling(600), "5m", "critical"},
	}
}

// notReconciling returns the groups whose last success was more than this number of seconds ago.
func notReconciling(seconds int) string {
	return fmt.Sprintf("max by (cluster, namespace, rollout_group) (time() - %s) > %d", formerLastSuccess, seconds)
}
