package dashboard

// chosen is what the variables choose of groups.
const chosen = `namespace=~"$namespace", group=~"$group"`

// ours is what keeps metrics of other processes out.
const ours = ` and on (job, instance) lockstep_build_info`

// rows are the dashboard from top to bottom. Whoever leads shows the groups: series
// are joined over processes by max.
var rows = []row{
	{"Overview", []panel{
		{
			"Zones by activity", "What goes on, in how many zones.", number, "short", 8,
			one(`count by (activity) (max by (namespace, group, zone, activity) (lockstep_group_zone_activity{`+chosen+`}))`, "{{activity}}"),
		},
		{
			"Updated pods", "How many pods have the revision that their zone asks for, Ready or not.", lines, "percentunit", 16,
			one(`sum by (namespace, group) (max by (namespace, group, zone) (lockstep_group_zone_pods{state="updated", `+chosen+`}))`+
				` / sum by (namespace, group) (max by (namespace, group, zone) (lockstep_group_zone_pods{state="desired", `+chosen+`}) > 0)`, "{{namespace}}/{{group}}"),
		},
		{
			"What waits, and why", "docs/reasons.md says what each reason means. An empty zone stands for the whole group.", list, "short", 12,
			one(`max by (namespace, group, zone, reason) (lockstep_group_zone_waiting{`+chosen+`}) == 1`, ""),
		},
		{
			"Who holds which group", "Nothing else is disrupted in the group meanwhile.", list, "short", 12,
			one(`max by (namespace, group, operation, zone) (lockstep_group_hold_held{`+chosen+`}) == 1`, ""),
		},
		{
			"What a person should know", "Nothing waits for it.", list, "short", 12,
			one(`max by (namespace, group, zone, reason) (lockstep_group_zone_remarks{`+chosen+`}) == 1`, ""),
		},
		{
			"Alerts", "That are pending or firing.", list, "short", 12,
			one(`ALERTS{alertname=~"Lockstep.*"}`, ""),
		},
	}},
	{"Group", []panel{
		{
			"Pods by zone", "", lines, "short", 12,
			one(`max by (namespace, group, zone, state) (lockstep_group_zone_pods{`+chosen+`})`, "{{namespace}}/{{group}} {{zone}} {{state}}"),
		},
		{
			"Pods that are down, and the budget", "Down may be more than the budget: pods break by themselves.", lines, "short", 12,
			[]query{
				{expr: `max by (namespace, group, zone) (lockstep_group_zone_pods{state="down", ` + chosen + `})`, legend: "{{namespace}}/{{group}} {{zone}} down"},
				{expr: `max by (namespace, group, zone) (lockstep_group_zone_budget{` + chosen + `})`, legend: "{{namespace}}/{{group}} {{zone}} budget"},
			},
		},
		{
			"What goes on in each zone", "", timeline, "short", 12,
			one(`max by (namespace, group, zone, activity) (lockstep_group_zone_activity{`+chosen+`})`, "{{namespace}}/{{group}} {{zone}} {{activity}}"),
		},
		{
			"Who holds", "", timeline, "short", 12,
			one(`max by (namespace, group, operation, zone) (lockstep_group_hold_held{`+chosen+`})`, "{{namespace}}/{{group}} {{operation}} {{zone}}"),
		},
		{
			"For how long a zone does what it does", "", lines, "s", 8,
			one(`time() - max by (namespace, group, zone) (lockstep_group_zone_activity_start_timestamp_seconds{`+chosen+`})`, "{{namespace}}/{{group}} {{zone}}"),
		},
		{
			"For how long the group is held", "", lines, "s", 8,
			one(`time() - max by (namespace, group) (lockstep_group_hold_acquired_timestamp_seconds{`+chosen+`})`, "{{namespace}}/{{group}}"),
		},
		{
			"Changes of holder", "As the Lease counts them.", lines, "short", 8,
			one(`max by (namespace, group) (increase(lockstep_group_hold_transitions_total{`+chosen+`}[$__rate_interval]))`, "{{namespace}}/{{group}}"),
		},
		{
			"Deleted pods", "By zone and reason.", lines, "short", 8,
			one(`sum by (namespace, group, zone, reason) (increase(lockstep_group_pods_deleted_total{`+chosen+`}[$__rate_interval]))`, "{{namespace}}/{{group}} {{zone}} {{reason}}"),
		},
		{
			"One step", "From the note of a pod to its replacement, within the chosen time.", lines, "s", 8,
			[]query{
				{expr: `histogram_quantile(0.5, sum by (namespace, group, le) (increase(lockstep_group_step_duration_seconds_bucket{` + chosen + `}[$__range])))`, legend: "{{namespace}}/{{group}} p50"},
				{expr: `histogram_quantile(0.99, sum by (namespace, group, le) (increase(lockstep_group_step_duration_seconds_bucket{` + chosen + `}[$__range])))`, legend: "{{namespace}}/{{group}} p99"},
			},
		},
		{
			"Mean time of a rollout", "Of a zone and of the group, within the chosen time.", lines, "s", 8,
			[]query{
				{expr: `sum by (namespace, group) (increase(lockstep_group_zone_rollout_duration_seconds_sum{` + chosen + `}[$__range])) / sum by (namespace, group) (increase(lockstep_group_zone_rollout_duration_seconds_count{` + chosen + `}[$__range]))`, legend: "{{namespace}}/{{group}} zone"},
				{expr: `sum by (namespace, group) (increase(lockstep_group_rollout_duration_seconds_sum{` + chosen + `}[$__range])) / sum by (namespace, group) (increase(lockstep_group_rollout_duration_seconds_count{` + chosen + `}[$__range]))`, legend: "{{namespace}}/{{group}}"},
			},
		},
		{
			"Looks by result", "moved is none that failed: the world changed meanwhile.", lines, "ops", 12,
			one(`sum by (namespace, group, result) (rate(lockstep_group_reconciles_total{`+chosen+`}[$__rate_interval]))`, "{{namespace}}/{{group}} {{result}}"),
		},
		{
			"Time of a look", "p99, writes included.", lines, "s", 12,
			one(`histogram_quantile(0.99, sum by (namespace, group, le) (rate(lockstep_group_reconcile_duration_seconds_bucket{`+chosen+`}[$__rate_interval])))`, "{{namespace}}/{{group}}"),
		},
	}},
	{"Webhooks", []panel{
		{
			"Reviews", "By webhook and verdict.", lines, "reqps", 8,
			one(`sum by (webhook, verdict) (rate(lockstep_admission_reviews_total[$__rate_interval]))`, "{{webhook}} {{verdict}}"),
		},
		{
			"Time of a review", "p99; prepare-downscale waits for pods.", lines, "s", 8,
			one(`histogram_quantile(0.99, sum by (webhook, le) (rate(lockstep_admission_duration_seconds_bucket[$__rate_interval])))`, "{{webhook}}"),
		},
		{
			"Refusals", "By webhook and reason.", lines, "reqps", 8,
			one(`sum by (webhook, reason) (rate(lockstep_admission_reviews_total{verdict="denied"}[$__rate_interval]))`, "{{webhook}} {{reason}}"),
		},
		{
			"Reviews without a verdict", "", lines, "reqps", 8,
			one(`sum by (webhook, verdict) (rate(lockstep_admission_reviews_total{verdict=~"malformed|busy|broken"}[$__rate_interval]))`, "{{webhook}} {{verdict}}"),
		},
		{
			"Calls to pods", "By purpose, outcome and why there was none.", lines, "reqps", 8,
			one(`sum by (purpose, outcome, why) (rate(lockstep_pod_call_duration_seconds_count[$__rate_interval]))`, "{{purpose}} {{outcome}} {{why}}"),
		},
		{
			"Time of a call to a pod", "p99.", lines, "s", 8,
			one(`histogram_quantile(0.99, sum by (purpose, le) (rate(lockstep_pod_call_duration_seconds_bucket[$__rate_interval])))`, "{{purpose}}"),
		},
		{
			"Refusals of the group", "By webhook and reason.", lines, "reqps", 8,
			one(`sum by (namespace, group, webhook, reason) (rate(lockstep_group_refusals_total{`+chosen+`}[$__rate_interval]))`, "{{namespace}}/{{group}} {{webhook}} {{reason}}"),
		},
		{
			"Calls to pods of the group", "By purpose and outcome.", lines, "reqps", 8,
			one(`sum by (namespace, group, purpose, outcome) (rate(lockstep_group_pod_calls_total{`+chosen+`}[$__rate_interval]))`, "{{namespace}}/{{group}} {{purpose}} {{outcome}}"),
		},
		{
			"The certificate is valid for", "", number, "s", 8,
			one(`min(lockstep_webhook_certificate_expiry_timestamp_seconds) - time()`, ""),
		},
		{
			"Faults of webhook configurations", "", number, "short", 8,
			one(`max by (fault) (lockstep_webhook_configuration_faults)`, "{{fault}}"),
		},
	}},
	{"Evictions", []panel{
		{
			"Answers to evictions", "By verdict and reason.", lines, "reqps", 12,
			one(`sum by (verdict, reason) (rate(lockstep_admission_reviews_total{webhook="pod-eviction"}[$__rate_interval]))`, "{{verdict}} {{reason}}"),
		},
		{
			"Time of an answer", "", lines, "s", 12,
			[]query{
				{expr: `histogram_quantile(0.5, sum by (verdict, le) (rate(lockstep_admission_duration_seconds_bucket{webhook="pod-eviction"}[$__rate_interval])))`, legend: "{{verdict}} p50"},
				{expr: `histogram_quantile(0.99, sum by (verdict, le) (rate(lockstep_admission_duration_seconds_bucket{webhook="pod-eviction"}[$__rate_interval])))`, legend: "{{verdict}} p99"},
			},
		},
		{
			"Not bound to a pod", "The webhook pod-eviction-pin is not called for these.", lines, "reqps", 8,
			one(`sum(rate(lockstep_evictions_unpinned_total[$__rate_interval]))`, "evictions"),
		},
		{
			"Groups held by evictions", "", lines, "short", 8,
			one(`count(max by (namespace, group) (lockstep_group_hold_held{operation="eviction"}))`, "groups"),
		},
		{
			"Budgets that cannot be used", "", list, "short", 8,
			one(`max by (namespace, budget) (lockstep_budget_invalid) == 1`, ""),
		},
	}},
	{"Queues and API server", []panel{
		{
			"Keys that wait", "", lines, "short", 8,
			one(`sum by (name) (lockstep_workqueue_depth)`, "{{name}}"),
		},
		{
			"Time until a worker comes", "p99.", lines, "s", 8,
			one(`histogram_quantile(0.99, sum by (name, le) (rate(lockstep_workqueue_queue_duration_seconds_bucket[$__rate_interval])))`, "{{name}}"),
		},
		{
			"The namespaces that wait longest", "Mean time until a worker comes.", lines, "s", 8,
			one(`topk(10, sum by (namespace) (rate(lockstep_namespace_queue_duration_seconds_sum[$__rate_interval])) / sum by (namespace) (rate(lockstep_namespace_queue_duration_seconds_count[$__rate_interval])))`, "{{namespace}}"),
		},
		{
			"Requests", "By verb and answer.", lines, "reqps", 8,
			one(`sum by (verb, code) (rate(lockstep_kubernetes_requests_total[$__rate_interval]))`, "{{verb}} {{code}}"),
		},
		{
			"Time of a request", "p99 by resource.", lines, "s", 8,
			one(`histogram_quantile(0.99, sum by (verb, resource, le) (rate(lockstep_kubernetes_request_duration_seconds_bucket[$__rate_interval])))`, "{{verb}} {{resource}}"),
		},
		{
			"Requests that are sent again", "By client-go.", lines, "reqps", 8,
			one(`sum by (verb, code) (rate(lockstep_kubernetes_request_retries_total[$__rate_interval]))`, "{{verb}} {{code}}"),
		},
		{
			"Wait for a rate limit of ours", "p99.", lines, "s", 8,
			one(`histogram_quantile(0.99, sum by (verb, le) (rate(lockstep_kubernetes_throttle_duration_seconds_bucket[$__rate_interval])))`, "{{verb}}"),
		},
		{
			"Age of caches", "Since the watch has told anything, bookmarks included.", lines, "s", 8,
			one(`time() - max by (cache, instance) (lockstep_cache_advanced_timestamp_seconds)`, "{{cache}} {{instance}}"),
		},
		{
			"Events", "By what becomes of them.", lines, "ops", 8,
			one(`sum by (result) (rate(lockstep_event_writes_total[$__rate_interval]))`, "{{result}}"),
		},
	}},
	{"Process", []panel{
		{"Who leads", "", timeline, "short", 8, one(`max by (instance) (lockstep_leader)`, "{{instance}}")},
		{"Version", "", list, "short", 8, one(`max by (instance, version, goversion) (lockstep_build_info)`, "")},
		{"Namespaces that opted in", "", number, "short", 4, one(`max(lockstep_namespaces_managed)`, "")},
		{"Missing permissions", "", number, "short", 4, one(`max(lockstep_permissions_missing)`, "")},
		{"CPU", "", lines, "short", 8, one(`rate(process_cpu_seconds_total[$__rate_interval])`+ours, "{{instance}}")},
		{"Memory", "", lines, "bytes", 8, one(`process_resident_memory_bytes`+ours, "{{instance}}")},
		{"Goroutines", "", lines, "short", 8, one(`go_goroutines`+ours, "{{instance}}")},
		{
			"Panics", "Each is a bug in lockstep.", lines, "short", 12,
			one(`sum by (loop) (increase(lockstep_panics_total[$__rate_interval]))`, "{{loop}}"),
		},
		{"Traces that are lost", "Batches of spans.", lines, "short", 12, one(`sum(increase(lockstep_trace_export_failures_total[$__rate_interval]))`, "batches")},
	}},
}
