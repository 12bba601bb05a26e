package telemetry

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
)

// groupMetrics is about rollout groups; namespace and group come first in every
// label set, and whatever else there is has few values per group.
type groupMetrics struct {
	reconciles  *prometheus.CounterVec
	duration    *prometheus.HistogramVec
	lastSuccess *prometheus.GaugeVec
	deleted     *prometheus.CounterVec
	refusals    *prometheus.CounterVec
	calls       *prometheus.CounterVec
	pods        *prometheus.GaugeVec
	budget      *prometheus.GaugeVec
	waiting     *prometheus.GaugeVec
	remarks     *prometheus.GaugeVec
	activity    *prometheus.GaugeVec
	activeSince *prometheus.GaugeVec
	step        *prometheus.HistogramVec
	zoneRollout *prometheus.HistogramVec
	rollout     *prometheus.HistogramVec
	hold        holdMetrics
}

// rolloutBuckets reach from a second to a day.
var rolloutBuckets = []float64{1, 10, 60, 300, 900, 1800, 3600, 7200, 21600, 86400}

func newGroupMetrics() groupMetrics {
	of := func(more ...string) []string { return append([]string{"namespace", "group"}, more...) }
	return groupMetrics{
		reconciles: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "lockstep_group_reconciles_total",
			Help: "How often the group was looked at, by what came of it.",
		}, of("result")),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "lockstep_group_reconcile_duration_seconds",
			Help:    "How long one look at the group took, its writes included.",
			Buckets: []float64{0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10},
		}, of()),
		lastSuccess: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "lockstep_group_last_success_timestamp_seconds",
			Help: "Unix time at which the group was last looked at without an error.",
		}, of()),
		deleted: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "lockstep_group_pods_deleted_total",
			Help: "Pods that lockstep deleted, by zone and reason.",
		}, of("zone", "reason")),
		refusals: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "lockstep_group_refusals_total",
			Help: "Evictions and downscales of the group that its hold, budgets and pods did not allow, by webhook and reason; dry runs apart.",
		}, of("webhook", "reason")),
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "lockstep_group_pod_calls_total",
			Help: "Calls to pods of the group, by purpose (prepare, undo, leave, stay) and outcome; whichever replica called.",
		}, of("purpose", "outcome")),
		pods: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "lockstep_group_zone_pods",
			Help: "Pods of the zone by state: desired by the spec; of those ready, updated (of the revision asked for) and outdated (of another one); down for whatever reason; noted in the hold.",
		}, of("zone", "state")),
		budget: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "lockstep_group_zone_budget",
			Help: "How many pods of the zone may be down at the same time.",
		}, of("zone")),
		waiting: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "lockstep_group_zone_waiting",
			Help: "1 while the zone waits for this reason; an empty zone stands for the whole group.",
		}, of("zone", "reason")),
		remarks: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "lockstep_group_zone_remarks",
			Help: "1 while there is something about the zone that a person should know although nothing waits for it, such as replicas that are forced.",
		}, of("zone", "reason")),
		activity: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "lockstep_group_zone_activity",
			Help: "1 for what goes on in the zone: Settled, Rolling, Shrinking, Evicting, Recovering or Blocked.",
		}, of("zone", "activity")),
		activeSince: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "lockstep_group_zone_activity_start_timestamp_seconds",
			Help: "Unix time since when the activity of the zone is what it is: when it took the hold or, without one, when this process saw it first.",
		}, of("zone")),
		step: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "lockstep_group_step_duration_seconds",
			Help:    "Time from the note of a pod that a rollout deletes until its replacement was available.",
			Buckets: []float64{0.5, 2, 5, 15, 30, 60, 120, 300, 900, 3600},
		}, of()),
		zoneRollout: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "lockstep_group_zone_rollout_duration_seconds",
			Help:    "Time that the rollout of one zone took, from its first pod until all of its pods were replaced and available, or until it was asked for another revision.",
			Buckets: rolloutBuckets,
		}, of()),
		rollout: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "lockstep_group_rollout_duration_seconds",
			Help:    "Time that the rollout of the group took, from the first pod of the first zone until nothing was left to be rolled.",
			Buckets: rolloutBuckets,
		}, of()),
		hold: newHoldMetrics(of),
	}
}

func (g groupMetrics) all() []prometheus.Collector {
	return append([]prometheus.Collector{
		g.reconciles, g.duration, g.lastSuccess, g.deleted, g.refusals, g.calls, g.pods, g.budget, g.waiting, g.remarks, g.activity, g.activeSince, g.step, g.zoneRollout, g.rollout,
	}, g.hold.all()...)
}

// GroupState is all that is shown of a group at one time. Names are those of
// objects, and reasons are codes of the catalogue, never free text.
type GroupState struct {
	At      time.Time // when the group was looked at
	Zones   []ZoneState
	Waiting []string  // reasons for which the whole group waits
	Causes  []string  // reasons for which pods are deleted: all that there are
	Hold    HoldState // zero when nobody holds
}

// ZoneState is what is shown of one zone.
type ZoneState struct {
	Name     string
	Desired  int // pods that the spec asks for
	Ready    int
	Updated  int // pods of the revision that is asked for
	Outdated int // pods of another revision than asked for
	Down     int // missing, terminating or not Ready
	Noted    int // pods with an open intent
	Budget   int
	Waiting  []string // reasons; none when the zone waits for nothing
	Remarks  []string // reasons that a person should know although nothing waits for them
	Activity string
	Since    time.Time // when it took the hold; zero: it has none, or nobody knows
}

// GroupMetrics are the series of one group. All methods may be called from any
// goroutine; after the group was forgotten they do nothing.
type GroupMetrics struct {
	of  *groupMetrics
	key groupKey

	mu        sync.Mutex
	forgotten bool
	counted   map[series]struct{} // stay until the group is forgotten
	shown     map[series]float64  // stay until Show says otherwise
	before    map[series]float64  // shown the time before
	active    map[string]activity // by zone
	changes   int                 // of holder that were counted
}

// activity is what goes on in a zone, and since when.
type activity struct {
	name  string
	since time.Time
}

type groupKey struct{ namespace, group string }

// series is one line of a scrape: where it is kept, and the two labels that
// follow namespace and group. Those who need fewer leave them empty.
type series struct {
	in   vector
	a, b string
}

// vector is the part of prometheus' vectors that removes a series.
type vector interface {
	DeleteLabelValues(labels ...string) bool
}

// Group returns the series of a group, which begin to exist when something is
// said about it.
func (m *Metrics) Group(namespace, group string) *GroupMetrics {
	key := groupKey{namespace, group}
	m.mu.Lock()
	defer m.mu.Unlock()
	g, known := m.groups[key]
	if !known {
		g = &GroupMetrics{of: &m.group, key: key, counted: map[series]struct{}{}, shown: map[series]float64{}}
		m.groups[key] = g
	}
	return g
}

// Forget removes all series of a group that exists no more. The cost is that of
// the group, however many others there are.
func (m *Metrics) Forget(namespace, group string) {
	key := groupKey{namespace, group}
	m.mu.Lock()
	g, known := m.groups[key]
	delete(m.groups, key)
	m.mu.Unlock()
	if known {
		g.forget()
	}
}

// Reconciled counts a look at the group. Results are a closed set of words,
// such as those of loop.Result. The span in ctx, if it is sampled, becomes the
// exemplar of the duration.
func (g *GroupMetrics) Reconciled(ctx context.Context, result string, success bool, took time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.forgotten {
		return
	}
	g.of.reconciles.WithLabelValues(g.counting(g.of.reconciles, result)...).Inc()
	observe(trace.SpanContextFromContext(ctx), g.of.duration.WithLabelValues(g.counting(g.of.duration)...), took)
	if success {
		g.of.lastSuccess.WithLabelValues(g.counting(g.of.lastSuccess)...).SetToCurrentTime()
	}
}

// PodDeleted counts a pod that was deleted, by the code of the reason.
func (g *GroupMetrics) PodDeleted(zone, reason string) { g.count(g.of.deleted, zone, reason) }

// Refused counts a downscale or an eviction that was refused, by the code of the reason.
func (g *GroupMetrics) Refused(webhook, reason string) { g.count(g.of.refusals, webhook, reason) }

// PodCalled counts a call to a pod of the group.
func (g *GroupMetrics) PodCalled(purpose, outcome string) { g.count(g.of.calls, purpose, outcome) }

func (g *GroupMetrics) count(in *prometheus.CounterVec, labels ...string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.forgotten {
		return
	}
	in.WithLabelValues(g.counting(in, labels...)...).Inc()
}

// Stepped records how long it took to replace one pod.
func (g *GroupMetrics) Stepped(took time.Duration) { g.lasted(g.of.step, took) }

// ZoneRolled records how long the rollout of one zone took.
func (g *GroupMetrics) ZoneRolled(took time.Duration) { g.lasted(g.of.zoneRollout, took) }

// Rolled records how long the rollout of the group took.
func (g *GroupMetrics) Rolled(took time.Duration) { g.lasted(g.of.rollout, took) }

func (g *GroupMetrics) lasted(in *prometheus.HistogramVec, took time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.forgotten {
		return
	}
	in.WithLabelValues(g.counting(in)...).Observe(max(took, 0).Seconds())
}

// Show replaces everything that was shown of the group, so what is not in the
// state any more (a zone, a wait, a holder) disappears.
func (g *GroupMetrics) Show(state GroupState) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.forgotten {
		return
	}
	g.before = g.shown
	g.shown = make(map[series]float64, len(g.before))
	active := make(map[string]activity, len(state.Zones))
	for _, z := range state.Zones {
		active[z.Name] = g.activeIn(z, state.At)
		g.showZone(z, active[z.Name])
	}
	g.forgetZones(active)
	g.active = active
	g.begin(state)
	for _, why := range state.Waiting {
		g.show(g.of.waiting, 1, "", why)
	}
	g.showHold(state.Hold)
	for s := range g.before {
		if _, still := g.shown[s]; !still {
			g.remove(s)
		}
	}
	g.before = nil
}

// begin lets what is counted begin at zero: of what is born at one nobody sees the first.
func (g *GroupMetrics) begin(state GroupState) {
	for _, z := range state.Zones {
		for _, cause := range state.Causes {
			if _, begun := g.counted[newSeries(g.of.deleted, []string{z.Name, cause})]; !begun {
				g.of.deleted.WithLabelValues(g.counting(g.of.deleted, z.Name, cause)...)
			}
		}
	}
	for _, lasts := range []*prometheus.HistogramVec{g.of.step, g.of.zoneRollout, g.of.rollout} {
		if _, begun := g.counted[newSeries(lasts, nil)]; !begun {
			lasts.WithLabelValues(g.counting(lasts)...)
		}
	}
}

// forgetZones drops what was counted of zones that are no more.
func (g *GroupMetrics) forgetZones(active map[string]activity) {
	for s := range g.counted {
		if _, still := active[s.a]; s.in == vector(g.of.deleted) && !still {
			g.remove(s)
			delete(g.counted, s)
		}
	}
}

// activeIn says since when the activity of a zone is what it is: by the hold, which
// a restart does not change, else as long as this process has seen no other one.
func (g *GroupMetrics) activeIn(z ZoneState, at time.Time) activity {
	before, known := g.active[z.Name]
	switch {
	case !z.Since.IsZero():
		return activity{z.Activity, z.Since}
	case known && before.name == z.Activity:
		return before
	}
	return activity{z.Activity, at}
}

func (g *GroupMetrics) showZone(z ZoneState, active activity) {
	for state, n := range map[string]int{
		"desired": z.Desired, "ready": z.Ready, "updated": z.Updated, "outdated": z.Outdated, "down": z.Down, "noted": z.Noted,
	} {
		g.show(g.of.pods, float64(n), z.Name, state)
	}
	g.show(g.of.budget, float64(z.Budget), z.Name)
	g.show(g.of.activity, 1, z.Name, active.name)
	g.show(g.of.activeSince, unix(active.since), z.Name)
	for _, why := range z.Waiting {
		g.show(g.of.waiting, 1, z.Name, why)
	}
	for _, why := range z.Remarks {
		g.show(g.of.remarks, 1, z.Name, why)
	}
}

// show sets what is another value than before: most looks change little.
func (g *GroupMetrics) show(in *prometheus.GaugeVec, v float64, labels ...string) {
	s := newSeries(in, labels)
	g.shown[s] = v
	if was, known := g.before[s]; !known || was != v {
		in.WithLabelValues(g.labels(labels)...).Set(v)
	}
}

// counting remembers a series and returns all of its labels.
func (g *GroupMetrics) counting(in vector, labels ...string) []string {
	g.counted[newSeries(in, labels)] = struct{}{}
	return g.labels(labels)
}

func (g *GroupMetrics) labels(more []string) []string {
	return append([]string{g.key.namespace, g.key.group}, more...)
}

func newSeries(in vector, labels []string) series {
	s := series{in: in}
	if len(labels) > 0 {
		s.a = labels[0]
	}
	if len(labels) > 1 {
		s.b = labels[1]
	}
	return s
}

func (g *GroupMetrics) forget() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.forgotten = true
	for s := range g.counted {
		g.remove(s)
	}
	for s := range g.shown {
		g.remove(s)
	}
	g.counted, g.shown = nil, nil
}

// remove deletes a series by exactly as many labels as its vector has.
func (g *GroupMetrics) remove(s series) {
	all := g.labels([]string{s.a, s.b})
	for n := len(all); n >= 2; n-- {
		if s.in.DeleteLabelValues(all[:n]...) {
			return
		}
	}
}
