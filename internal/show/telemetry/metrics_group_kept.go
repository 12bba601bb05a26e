package telemetry

import (
	"context"
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"
)

// GroupMetrics are the metrics of one group. All methods are safe for concurrent use. After
// Forget, they have no effect.
type GroupMetrics struct {
	of   *groupDescs
	key  groupKey
	born time.Time // when all counts were zero

	mu          sync.Mutex
	forgotten   bool
	reconciles  tallies // by result
	deleted     tallies // by zone and reason
	overwrites  tallies // by zone
	refusals    tallies // by webhook and reason
	calls       tallies // by purpose and outcome
	duration    histogram
	step        histogram
	zoneRollout histogram
	rollout     histogram
	lastSuccess time.Time  // end of the last successful reconcile, or start of the first failed one after it
	fails       bool       // the last reconcile failed
	seen        bool       // Show was called
	shown       GroupState // its last state; for each zone, since when it is active
}

type groupKey struct{ namespace, group string }

// Group returns the metrics of a group. Their series exist once a value has been recorded.
func (m *Metrics) Group(namespace, group string) *GroupMetrics {
	key := groupKey{namespace, group}
	m.group.mu.Lock()
	defer m.group.mu.Unlock()
	g, known := m.group.known[key]
	if !known {
		g = &GroupMetrics{of: &m.group.groupDescs, key: key, born: time.Now()}
		m.group.known[key] = g
	}
	return g
}

// Forget deletes all series of a group that does not exist any more. Its cost does not depend on
// the number of other groups.
func (m *Metrics) Forget(namespace, group string) {
	key := groupKey{namespace, group}
	m.group.mu.Lock()
	g, known := m.group.known[key]
	delete(m.group.known, key)
	m.group.mu.Unlock()
	if known {
		g.change(func() { g.forgotten = true })
	}
}

// change calls a function that changes the metrics, unless the group was forgotten.
func (g *GroupMetrics) change(do func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.forgotten {
		do()
	}
}

// Reconciled counts a reconcile of the group. Results come from a fixed set, such as those of
// loop.Result. If the span in ctx is sampled, it becomes the exemplar of the duration.
func (g *GroupMetrics) Reconciled(ctx context.Context, result string, success bool, took time.Duration) {
	g.change(func() {
		g.reconciles.add(1, result, "")
		g.duration.observe(g.of.duration.bounds, took, trace.SpanContextFromContext(ctx))
		g.succeeds(success, took)
	})
}

// succeeds records whether the last reconcile succeeded. The group counts as in order until the
// first failed reconcile began.
func (g *GroupMetrics) succeeds(success bool, took time.Duration) {
	switch now := time.Now(); {
	case success:
		g.lastSuccess = now
	case !g.fails && !g.lastSuccess.IsZero():
		g.lastSuccess = now.Add(-took)
	}
	g.fails = !success
}

// PodDeleted counts a deleted pod, by the code of the reason.
func (g *GroupMetrics) PodDeleted(zone, reason string) {
	g.change(func() { g.deleted.add(1, zone, reason) })
}

// ReplicasSet starts the count of overwrites of a zone's replicas at 0.
func (g *GroupMetrics) ReplicasSet(zone string) {
	g.change(func() { g.overwrites.add(0, zone, "") })
}

// ReplicasOverwritten counts that another writer has overwritten the replicas of a zone.
func (g *GroupMetrics) ReplicasOverwritten(zone string) {
	g.change(func() { g.overwrites.add(1, zone, "") })
}

// Refused counts a refused downscale or eviction, by the code of the reason.
func (g *GroupMetrics) Refused(webhook, reason string) {
	g.change(func() { g.refusals.add(1, webhook, reason) })
}

// PodCalled counts a call to a pod of the group.
func (g *GroupMetrics) PodCalled(purpose, outcome string) {
	g.change(func() { g.calls.add(1, purpose, outcome) })
}

// Stepped records how long it took to replace one pod.
func (g *GroupMetrics) Stepped(took time.Duration) { g.lasted(&g.step, g.of.step, took) }

// ZoneRolled records how long the rollout of one zone took.
func (g *GroupMetrics) ZoneRolled(took time.Duration) {
	g.lasted(&g.zoneRollout, g.of.zoneRollout, took)
}

// Rolled records how long the rollout of the group took.
func (g *GroupMetrics) Rolled(took time.Duration) { g.lasted(&g.rollout, g.of.rollout, took) }

func (g *GroupMetrics) lasted(in *histogram, desc histogramDesc, took time.Duration) {
	g.change(func() { in.observe(desc.bounds, max(took, 0), trace.SpanContext{}) })
}

// Show replaces the state of the group. Series of zones, waits and holders that the new state
// does not contain disappear.
func (g *GroupMetrics) Show(state GroupState) {
	g.change(func() {
		g.shown, g.seen = g.since(state), true
		g.forgetZones()
		g.begin()
	})
}

// since adds to each zone the time since when its activity has lasted.
func (g *GroupMetrics) since(state GroupState) GroupState {
	state.Zones = slices.Clone(state.Zones)
	for i, z := range state.Zones {
		state.Zones[i].Since = g.activeSince(z, state.At)
	}
	return state
}

// activeSince returns since when the activity of a zone has lasted. It uses the time in the hold,
// which a restart does not change; otherwise the time since when this process has seen no other
// activity.
func (g *GroupMetrics) activeSince(z ZoneState, at time.Time) time.Time {
	if !z.Since.IsZero() {
		return z.Since
	}
	if before, known := g.shown.zone(z.Name); known && before.Activity == z.Activity {
		return before.Since
	}
	return at
}

// forgetZones drops the counts of zones that do not exist any more.
func (g *GroupMetrics) forgetZones() {
	gone := func(t tally) bool {
		_, still := g.shown.zone(t.a)
		return !still
	}
	g.deleted = slices.DeleteFunc(g.deleted, gone)
	g.overwrites = slices.DeleteFunc(g.overwrites, gone)
}

// begin starts counts at zero. Prometheus would not detect the first increment of a series that
// starts at one.
func (g *GroupMetrics) begin() {
	for _, z := range g.shown.Zones {
		for _, cause := range g.shown.Causes {
			g.deleted.add(0, z.Name, cause)
		}
	}
	for _, lasts := range []*histogram{&g.step, &g.zoneRollout, &g.rollout} {
		lasts.begun = true
	}
}
