package telemetry

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// groupMetrics are the metrics of rollout groups. Their first labels are namespace and group;
// further labels have few values per group. There may be thousands of groups. Therefore
// groupMetrics stores numbers for each group; a scrape converts them to series.
type groupMetrics struct {
	groupDescs

	followed func() time.Time // the time until which the caches have followed the cluster

	mu    sync.Mutex
	known map[groupKey]*GroupMetrics
}

func newGroupMetrics(followed func() time.Time) *groupMetrics {
	return &groupMetrics{groupDescs: newGroupDescs(), followed: followed, known: map[groupKey]*GroupMetrics{}}
}

func (m *groupMetrics) all() []prometheus.Collector { return []prometheus.Collector{m} }

// Collect implements prometheus.Collector.
func (m *groupMetrics) Collect(into chan<- prometheus.Metric) {
	m.mu.Lock()
	groups := slices.Collect(maps.Values(m.known))
	m.mu.Unlock()
	all := series{followed: m.followed()}
	for _, g := range groups {
		g.collect(&all)
		for _, one := range all.made {
			into <- one
		}
	}
}

// groupDescs are the descriptions of the metrics of a group.
type groupDescs struct {
	reconciles  *prometheus.Desc
	duration    histogramDesc
	lastSuccess *prometheus.Desc
	deleted     *prometheus.Desc
	overwrites  *prometheus.Desc
	refusals    *prometheus.Desc
	calls       *prometheus.Desc
	pods        *prometheus.Desc
	budget      *prometheus.Desc
	waiting     *prometheus.Desc
	remarks     *prometheus.Desc
	activity    *prometheus.Desc
	activeSince *prometheus.Desc
	step        histogramDesc
	zoneRollout histogramDesc
	rollout     histogramDesc
	hold        holdDescs
}

// rolloutBuckets range from a second to a day.
var rolloutBuckets = []float64{1, 10, 60, 300, 900, 1800, 3600, 7200, 21600, 86400}

// groupDesc describes a metric of groups with additional labels.
func groupDesc(name, help string, more ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, append([]string{"namespace", "group"}, more...), nil)
}

func newGroupDescs() groupDescs {
	return groupDescs{
		reconciles: groupDesc("lockstep_group_reconciles_total",
			"Reconciles of the group by result.", "result"),
		duration: histogramDesc{groupDesc("lockstep_group_reconcile_duration_seconds",
			"Duration of a reconcile of the group, including its writes."),
			[]float64{0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10}},
		lastSuccess: groupDesc("lockstep_group_last_success_timestamp_seconds",
			"Unix time of the last successful reconcile: the current time if the last reconcile succeeded and the caches of pods, StatefulSets, Leases and namespaces advance; otherwise the time at which the first failed reconcile began or the cache stopped; 0 if no reconcile has succeeded yet."),
		deleted: groupDesc("lockstep_group_pods_deleted_total",
			"Pods that lockstep deleted, by zone and reason.", "zone", "reason"),
		overwrites: groupDesc("lockstep_group_replicas_overwritten_total",
			"How often another writer overwrote the spec.replicas that lockstep had set and that the zone should still have. Only zones whose replicas lockstep has set have a series.", "zone"),
		refusals: groupDesc("lockstep_group_refusals_total",
			"Evictions and downscales of the group that lockstep refused, by webhook and reason, without dry runs.", "webhook", "reason"),
		calls: groupDesc("lockstep_group_pod_calls_total",
			"Calls to pods of the group by purpose (prepare, undo, leave, stay) and outcome, counted by the replica that called.", "purpose", "outcome"),
		pods: groupDesc("lockstep_group_zone_pods",
			"Pods of the zone by state: desired (by the spec); of these ready, updated (at the update revision) and outdated (at another revision); down (for any reason); `noted` (with an intent in the group's Lease).", "zone", "state"),
		budget: groupDesc("lockstep_group_zone_budget",
			"How many pods of the zone may be down at the same time.", "zone"),
		waiting: groupDesc("lockstep_group_zone_waiting",
			"1 while the zone waits for this reason; an empty zone stands for the whole group.", "zone", "reason"),
		remarks: groupDesc("lockstep_group_zone_remarks",
			"1 while lockstep reports a reason for attention about the zone that no operation waits for, such as ReplicasForced.", "zone", "reason"),
		activity: groupDesc("lockstep_group_zone_activity",
			"1 for the current activity of the zone: Settled, Rolling, Shrinking, Evicting, Recovering or Blocked.", "zone", "activity"),
		activeSince: groupDesc("lockstep_group_zone_activity_start_timestamp_seconds",
			"Unix time at which the current activity of the zone began: when the operation took the hold or, without a hold, when this process first saw the activity.", "zone"),
		step: histogramDesc{groupDesc("lockstep_group_step_duration_seconds",
			"Time from the intent of a pod that a rollout deletes until its replacement was available."),
			[]float64{0.5, 2, 5, 15, 30, 60, 120, 300, 900, 3600}},
		zoneRollout: histogramDesc{groupDesc("lockstep_group_zone_rollout_duration_seconds",
			"Duration of the rollout of a zone, from its first pod until all of its pods were replaced and available, or until the update revision changed."),
			rolloutBuckets},
		rollout: histogramDesc{groupDesc("lockstep_group_rollout_duration_seconds",
			"Duration of the rollout of the group, from the first pod of the first zone until no pod was outdated."),
			rolloutBuckets},
		hold: newHoldDescs(),
	}
}

// Describe implements prometheus.Collector.
func (d groupDescs) Describe(into chan<- *prometheus.Desc) {
	for _, one := range []*prometheus.Desc{
		d.reconciles, d.duration.Desc, d.lastSuccess, d.deleted, d.overwrites, d.refusals, d.calls,
		d.pods, d.budget, d.waiting, d.remarks, d.activity, d.activeSince,
		d.step.Desc, d.zoneRollout.Desc, d.rollout.Desc,
		d.hold.held, d.hold.acquired, d.hold.expiry, d.hold.changes,
	} {
		into <- one
	}
}
