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
	pods        *prometheus.GaugeVec
	budget      *prometheus.GaugeVec
	waiting     *prometheus.GaugeVec
	remarks     *prometheus.GaugeVec
	hold        *prometheus.GaugeVec
}

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
		pods: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "lockstep_group_zone_pods",
			Help: "Pods of the zone by state: desired by the spec, ready, outdated in revision, down for whatever reason, noted in the hold.",
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
		hold: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "lockstep_group_hold_held",
			Help: "1 while this operation in this zone holds the group.",
		}, of("operation", "zone")),
	}
}

func (g groupMetrics) all() []prometheus.Collector {
	return []prometheus.Collector{g.reconciles, g.duration, g.lastSuccess, g.deleted, g.pods, g.budget, g.waiting, g.remarks, g.hold}
}

// GroupState is all that is shown of a group at one time. Names are those of
// objects, and reasons are codes of the catalogue, never free text.
type GroupState struct {
	Zones   []ZoneState
	Waiting []string  // reasons for which the whole group waits
	Hold    HoldState // zero when nobody holds
}

// ZoneState is what is shown of one zone.
type ZoneState struct {
	Name     string
	Desired  int // pods that the spec asks for
	Ready    int
	Outdated int // pods of another revision than asked for
	Down     int // missing, terminating or not Ready
	Noted    int // pods with an open intent
	Budget   int
	Waiting  []string // reasons; none when the zone waits for nothing
	Remarks  []string // reasons that a person should know although nothing waits for them
}

// HoldState says who holds the group.
type HoldState struct {
	Operation string // one of lockstep's, or "other" for somebody else's holder
	Zone      string
}

// GroupMetrics are the series of one group. All methods may be called from any
// goroutine; after the group was forgotten they do nothing.
type GroupMetrics struct {
	of  *groupMetrics
	key groupKey

	mu        sync.Mutex
	forgotten bool
	counted   map[series]struct{} // stay until the group is forgotten
	shown     map[series]struct{} // stay until Show says otherwise
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
		g = &GroupMetrics{of: &m.group, key: key, counted: map[series]struct{}{}, shown: map[series]struct{}{}}
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
	observe(ctx, g.of.duration.WithLabelValues(g.counting(g.of.duration)...), took)
	if success {
		g.of.lastSuccess.WithLabelValues(g.counting(g.of.lastSuccess)...).SetToCurrentTime()
	}
}

// PodDeleted counts a pod that was deleted, by the code of the reason.
func (g *GroupMetrics) PodDeleted(zone, reason string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.forgotten {
		return
	}
	g.of.deleted.WithLabelValues(g.counting(g.of.deleted, zone, reason)...).Inc()
}

// Show replaces everything that was shown of the group, so what is not in the
// state any more (a zone, a wait, a holder) disappears.
func (g *GroupMetrics) Show(state GroupState) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.forgotten {
		return
	}
	before := g.shown
	g.shown = make(map[series]struct{}, len(before))
	for _, z := range state.Zones {
		g.showZone(z)
	}
	for _, why := range state.Waiting {
		g.show(g.of.waiting, 1, "", why)
	}
	if state.Hold.Operation != "" {
		g.show(g.of.hold, 1, state.Hold.Operation, state.Hold.Zone)
	}
	for s := range before {
		if _, still := g.shown[s]; !still {
			g.remove(s)
		}
	}
}

func (g *GroupMetrics) showZone(z ZoneState) {
	g.show(g.of.pods, z.Desired, z.Name, "desired")
	g.show(g.of.pods, z.Ready, z.Name, "ready")
	g.show(g.of.pods, z.Outdated, z.Name, "outdated")
	g.show(g.of.pods, z.Down, z.Name, "down")
	g.show(g.of.pods, z.Noted, z.Name, "noted")
	g.show(g.of.budget, z.Budget, z.Name)
	for _, why := range z.Waiting {
		g.show(g.of.waiting, 1, z.Name, why)
	}
	for _, why := range z.Remarks {
		g.show(g.of.remarks, 1, z.Name, why)
	}
}

func (g *GroupMetrics) show(in *prometheus.GaugeVec, n int, labels ...string) {
	g.shown[newSeries(in, labels)] = struct{}{}
	in.WithLabelValues(g.labels(labels)...).Set(float64(n))
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

// observe records a duration, with the trace that it belongs to.
func observe(ctx context.Context, in prometheus.Observer, took time.Duration) {
	span := trace.SpanContextFromContext(ctx)
	traced, ok := in.(prometheus.ExemplarObserver)
	if !ok || !span.IsSampled() {
		in.Observe(took.Seconds())
		return
	}
	traced.ObserveWithExemplar(took.Seconds(), prometheus.Labels{"trace_id": span.TraceID().String()})
}
