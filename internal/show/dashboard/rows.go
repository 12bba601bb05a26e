package dashboard

// chosen selects the groups that the variables select.
const chosen = `namespace=~"$namespace", group=~"$group"`

// chosenPools selects the StatefulClusters of the namespaces that the variables select.
const chosenPools = `namespace=~"$namespace"`

// ours excludes metrics of other processes.
const ours = ` and on (job, instance) lockstep_build_info`

// rows are the dashboard's rows from top to bottom. Only the leader has series of groups; queries
// combine the processes by max.
var rows = []row{
	{"Overview", []panel{
		{
			"Zones by activity", "Number of zones with each activity.", number, "short", 8,
			one(`count by (activity) (max by (namespace, group, zone, activity) (lockstep_group_zone_activity{`+chosen+`}))`, "{{activity}}"),
		},
		{
			"Updated pods", "Share of pods at the update revision of their zone, Ready or not.", lines, "percentunit", 16,
			one(`sum by (namespace, group) (max by (namespace, group, zone) (lockstep_group_zone_pods{state="updated", `+chosen+`}))`+
				` / sum by (namespace, group) (max by (namespace, group, zone) (lockstep_group_zone_pods{state="desired", `+chosen+`}) > 0)`, "{{namespace}}/{{group}}"),
		},
		{
			"Waits and reasons", "docs/reasons.md explains each reason. An empty zone means the whole group.", list, "short", 12,
			one(`max by (namespace, group, zone, reason) (lockstep_group_zone_waiting{`+chosen+`}) == 1`, ""),
		},
		{
			"Holders of groups", "While an operation holds a group, no other operation disrupts it.", list, "short", 12,
			one(`max by (namespace, group, operation, zone) (lockstep_group_hold_held{`+chosen+`}) == 1`, ""),
		},
		{
			"Reasons for attention", "No operation waits for these.", list, "short", 12,
			one(`max by (namespace, group, zone, reason) (lockstep_group_zone_remarks{`+chosen+`}) == 1`, ""),
		},
		{
			"Alerts", "Pending or firing.", list, "short", 12,
			one(`ALERTS{alertname=~"Lockstep.*"}`, ""),
		},
	}},
	{"Group", []panel{
		{
			"Pods by zone", "", lines, "short", 12,
			one(`max by (namespace, group, zone, state) (lockstep_group_zone_pods{`+chosen+`})`, "{{namespace}}/{{group}} {{zone}} {{state}}"),
		},
		{
			"Pods down, and the budget", "More pods can be down than the budget allows, because pods also fail by themselves.", lines, "short", 12,
			[]query{
				{expr: `max by (namespace, group, zone) (lockstep_group_zone_pods{state="down", ` + chosen + `})`, legend: "{{namespace}}/{{group}} {{zone}} down"},
				{expr: `max by (namespace, group, zone) (lockstep_group_zone_budget{` + chosen + `})`, legend: "{{namespace}}/{{group}} {{zone}} budget"},
			},
		},
		{
			"Activity of each zone", "", timeline, "short", 12,
			one(`max by (namespace, group, zone, activity) (lockstep_group_zone_activity{`+chosen+`})`, "{{namespace}}/{{group}} {{zone}} {{activity}}"),
		},
		{
			"Holder", "", timeline, "short", 12,
			one(`max by (namespace, group, operation, zone) (lockstep_group_hold_held{`+chosen+`})`, "{{namespace}}/{{group}} {{operation}} {{zone}}"),
		},
		{
			"Duration of the current activity", "", lines, "s", 8,
			one(`time() - max by (namespace, group, zone) (lockstep_group_zone_activity_start_timestamp_seconds{`+chosen+`})`, "{{namespace}}/{{group}} {{zone}}"),
		},
		{
			"Age of the hold", "", lines, "s", 8,
			one(`time() - max by (namespace, group) (lockstep_group_hold_acquired_timestamp_seconds{`+chosen+`})`, "{{namespace}}/{{group}}"),
		},
		{
			"Changes of the holder", "From leaseTransitions of the Lease.", lines, "short", 8,
			one(`max by (namespace, group) (increase(lockstep_group_hold_transitions_total{`+chosen+`}[$__rate_interval]))`, "{{namespace}}/{{group}}"),
		},
		{
			"Deleted pods", "By zone and reason.", lines, "short", 8,
			one(`sum by (namespace, group, zone, reason) (increase(lockstep_group_pods_deleted_total{`+chosen+`}[$__rate_interval]))`, "{{namespace}}/{{group}} {{zone}} {{reason}}"),
		},
		{
			"Duration of a step", "From the intent of a pod until its replacement is available, within the selected time range.", lines, "s", 8,
			[]query{
				{expr: `histogram_quantile(0.5, sum by (namespace, group, le) (increase(lockstep_group_step_duration_seconds_bucket{` + chosen + `}[$__range])))`, legend: "{{namespace}}/{{group}} p50"},
				{expr: `histogram_quantile(0.99, sum by (namespace, group, le) (increase(lockstep_group_step_duration_seconds_bucket{` + chosen + `}[$__range])))`, legend: "{{namespace}}/{{group}} p99"},
			},
		},
		{
			"Mean duration of a rollout", "Of a zone and of the group, within the selected time range.", lines, "s", 8,
			[]query{
				{expr: `sum by (namespace, group) (increase(lockstep_group_zone_rollout_duration_seconds_sum{` + chosen + `}[$__range])) / sum by (namespace, group) (increase(lockstep_group_zone_rollout_duration_seconds_count{` + chosen + `}[$__range]))`, legend: "{{namespace}}/{{group}} zone"},
				{expr: `sum by (namespace, group) (increase(lockstep_group_rollout_duration_seconds_sum{` + chosen + `}[$__range])) / sum by (namespace, group) (increase(lockstep_group_rollout_duration_seconds_count{` + chosen + `}[$__range]))`, legend: "{{namespace}}/{{group}}"},
			},
		},
		{
			"Reconciles by result", "moved is not a failure: an object changed during the reconcile.", lines, "ops", 12,
			one(`sum by (namespace, group, result) (rate(lockstep_group_reconciles_total{`+chosen+`}[$__rate_interval]))`, "{{namespace}}/{{group}} {{result}}"),
		},
		{
			"Duration of a reconcile", "p99, including writes.", lines, "s", 12,
			one(`histogram_quantile(0.99, sum by (namespace, group, le) (rate(lockstep_group_reconcile_duration_seconds_bucket{`+chosen+`}[$__rate_interval])))`, "{{namespace}}/{{group}}"),
		},
	}},
	{"Webhooks", []panel{
		{
			"Reviews", "By webhook and verdict.", lines, "reqps", 8,
			one(`sum by (webhook, verdict) (rate(lockstep_admission_reviews_total[$__rate_interval]))`, "{{webhook}} {{verdict}}"),
		},
		{
			"Duration of a review", "p99; prepare-downscale waits for pods.", lines, "s", 8,
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
			"Calls to pods", "By purpose, outcome and why a call had no valid answer.", lines, "reqps", 8,
			one(`sum by (purpose, outcome, why) (rate(lockstep_pod_call_duration_seconds_count[$__rate_interval]))`, "{{purpose}} {{outcome}} {{why}}"),
		},
		{
			"Duration of a call to a pod", "p99.", lines, "s", 8,
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
			"Remaining validity of the certificate", "", number, "s", 8,
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
			"Duration of an answer", "", lines, "s", 12,
			[]query{
				{expr: `histogram_quantile(0.5, sum by (verdict, le) (rate(lockstep_admission_duration_seconds_bucket{webhook="pod-eviction"}[$__rate_interval])))`, legend: "{{verdict}} p50"},
				{expr: `histogram_quantile(0.99, sum by (verdict, le) (rate(lockstep_admission_duration_seconds_bucket{webhook="pod-eviction"}[$__rate_interval])))`, legend: "{{verdict}} p99"},
			},
		},
		{
			"Evictions without a UID", "API servers do not call the webhook pod-eviction-pin for these.", lines, "reqps", 8,
			one(`sum(rate(lockstep_evictions_unpinned_total[$__rate_interval]))`, "evictions"),
		},
		{
			"Groups held by evictions", "", lines, "short", 8,
			one(`count(max by (namespace, group) (lockstep_group_hold_held{operation="eviction"}))`, "groups"),
		},
		{
			"Invalid budgets", "", list, "short", 8,
			one(`max by (namespace, budget) (lockstep_budget_invalid) == 1`, ""),
		},
	}},
	{"Queues and API server", []panel{
		{
			"Queue depth", "", lines, "short", 8,
			one(`sum by (name) (lockstep_workqueue_depth)`, "{{name}}"),
		},
		{
			"Wait for a worker", "p99.", lines, "s", 8,
			one(`histogram_quantile(0.99, sum by (name, le) (rate(lockstep_workqueue_queue_duration_seconds_bucket[$__rate_interval])))`, "{{name}}"),
		},
		{
			"Namespaces with the longest waits", "Mean wait for a worker.", lines, "s", 8,
			one(`topk(10, sum by (namespace) (rate(lockstep_namespace_queue_duration_seconds_sum[$__rate_interval])) / sum by (namespace) (rate(lockstep_namespace_queue_duration_seconds_count[$__rate_interval])))`, "{{namespace}}"),
		},
		{
			"Requests", "By verb and answer.", lines, "reqps", 8,
			one(`sum by (verb, code) (rate(lockstep_kubernetes_requests_total[$__rate_interval]))`, "{{verb}} {{code}}"),
		},
		{
			"Duration of a request", "p99 by resource.", lines, "s", 8,
			one(`histogram_quantile(0.99, sum by (verb, resource, le) (rate(lockstep_kubernetes_request_duration_seconds_bucket[$__rate_interval])))`, "{{verb}} {{resource}}"),
		},
		{
			"Retried requests", "Sent again by client-go.", lines, "reqps", 8,
			one(`sum by (verb, code) (rate(lockstep_kubernetes_request_retries_total[$__rate_interval]))`, "{{verb}} {{code}}"),
		},
		{
			"Wait for the client's rate limit", "p99.", lines, "s", 8,
			one(`histogram_quantile(0.99, sum by (verb, le) (rate(lockstep_kubernetes_throttle_duration_seconds_bucket[$__rate_interval])))`, "{{verb}}"),
		},
		{
			"Age of caches", "Time since the last event or bookmark of the watch.", lines, "s", 8,
			one(`time() - max by (cache, instance) (lockstep_cache_advanced_timestamp_seconds)`, "{{cache}} {{instance}}"),
		},
		{
			"Events", "By result.", lines, "ops", 8,
			one(`sum by (result) (rate(lockstep_event_writes_total[$__rate_interval]))`, "{{result}}"),
		},
	}},
	{"Process", []panel{
		{"Leader", "", timeline, "short", 8, one(`max by (instance) (lockstep_leader)`, "{{instance}}")},
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
		{"Lost traces", "Batches of spans.", lines, "short", 12, one(`sum(increase(lockstep_trace_export_failures_total[$__rate_interval]))`, "batches")},
	}},
	{"StatefulClusters", []panel{
		{
			"Pods of StatefulClusters", "", lines, "short", 12,
			one(`max by (namespace, name, state) (lockstep_statefulcluster_replicas{`+chosenPools+`})`, "{{namespace}}/{{name}} {{state}}"),
		},
		{
			"Unavailable pods of StatefulClusters", "Pods that spec.replicas asks for and that are not available.", lines, "short", 12,
			one(`max by (namespace, name) (lockstep_statefulcluster_unavailable{`+chosenPools+`})`, "{{namespace}}/{{name}}"),
		},
		{
			"Waits of StatefulClusters", "docs/reasons.md explains each reason.", list, "short", 12,
			one(`max by (namespace, name, reason) (lockstep_statefulcluster_waiting{`+chosenPools+`}) == 1`, ""),
		},
		{
			"Ended identities", "By reason.", lines, "short", 12,
			one(`sum by (namespace, name, reason) (increase(lockstep_statefulcluster_retirements_total{`+chosenPools+`}[$__rate_interval]))`, "{{namespace}}/{{name}} {{reason}}"),
		},
		{
			"Claims of ended identities", "They stay unless a policy deletes them.", lines, "short", 12,
			one(`max by (namespace, name) (lockstep_statefulcluster_retired_claims{`+chosenPools+`})`, "{{namespace}}/{{name}}"),
		},
		{
			"Time until a missing pod is replaced", "Until as many pods as asked for are available, of all StatefulClusters, within the selected time range.", lines, "s", 12,
			[]query{
				{expr: `histogram_quantile(0.5, sum by (le) (increase(lockstep_statefulcluster_hole_seconds_bucket[$__range])))`, legend: "p50"},
				{expr: `histogram_quantile(0.99, sum by (le) (increase(lockstep_statefulcluster_hole_seconds_bucket[$__range])))`, legend: "p99"},
			},
		},
		{
			"Updates in place", "By outcome.", lines, "short", 12,
			one(`sum by (namespace, name, outcome) (increase(lockstep_statefulcluster_inplace_updates_total{`+chosenPools+`}[$__rate_interval]))`, "{{namespace}}/{{name}} {{outcome}}"),
		},
		{
			"Duration of an update in place", "From its record until the pod is available, of all StatefulClusters, within the selected time range.", lines, "s", 12,
			[]query{
				{expr: `histogram_quantile(0.5, sum by (le) (increase(lockstep_statefulcluster_inplace_seconds_bucket[$__range])))`, legend: "p50"},
				{expr: `histogram_quantile(0.99, sum by (le) (increase(lockstep_statefulcluster_inplace_seconds_bucket[$__range])))`, legend: "p99"},
			},
		},
		{
			"Deleted claims of ended identities", "By the field of the policy.", lines, "short", 8,
			one(`sum by (namespace, name, policy) (increase(lockstep_statefulcluster_claims_deleted_total{`+chosenPools+`}[$__rate_interval]))`, "{{namespace}}/{{name}} {{policy}}"),
		},
		{
			"Refused births and lost claims", "Attempts to create pods or claims that the API server refused, and pods that lost a claim.", lines, "short", 8,
			[]query{
				{expr: `sum by (namespace, name) (increase(lockstep_statefulcluster_births_refused_total{` + chosenPools + `}[$__rate_interval]))`, legend: "{{namespace}}/{{name}} refused"},
				{expr: `sum by (namespace, name) (increase(lockstep_statefulcluster_claims_lost_total{` + chosenPools + `}[$__rate_interval]))`, legend: "{{namespace}}/{{name}} lost"},
			},
		},
		{
			"Remaining time of crash loops", "Until lockstep gives up the first identity.", lines, "s", 8,
			one(`min by (namespace, name) (lockstep_statefulcluster_crash_loop_expiry_timestamp_seconds{`+chosenPools+`}) - time()`, "{{namespace}}/{{name}}"),
		},
	}},
}
