package telemetry

import (
	"context"
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"
)

// GroupMetrics are what is measured of one group. All methods may be called from any
// goroutine; after the group was forgotten they do nothing.
type GroupMetrics struct {
	of   *groupDescs
	key  groupKey
	born time.Time // since when everything is counted

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
	lastSuccess time.Time  // end of the last successful reconcile, or begin of the first failed one after it
	fails       bool       // the last reconcile failed
	seen        bool       // somebody has said how the group is
	shown       GroupState // how it is; of each zone since when it is active
}

type groupKey struct{ namespace, group string }

// Group returns the metrics of a group, whose series begin to exist when something is
// said about it.
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

// Forget removes all series of a group that exists no more. The cost is that of
// the group, however many others there are.
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

// change does something to what is kept of the group, unless it was forgotten.
func (g *GroupMetrics) change(do func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.forgotten {
		do()
	}
}

// Reconciled counts a look at the group. Results are a closed set of words,
// such as those of loop.Result. The span in ctx, if it is sampled, becomes the
// exemplar of the duration.
func (g *GroupMetrics) Reconciled(ctx context.Context, result string, success bool, took time.Duration) {
	g.change(func() {
		g.reconciles.add(1, result, "")
		g.duration.observe(g.of.duration.bounds, took, trace.SpanContextFromContext(ctx))
		g.succeeds(success, took)
	})
}

// succeeds records whether the last reconcile succeeded. The group was in order until the first
// failed reconcile began.
func (g *GroupMetrics) succeeds(success bool, took time.Duration) {
	switch now := time.Now(); {
	case success:
		g.lastSuccess = now
	case !g.fails && !g.lastSuccess.IsZero():
		g.lastSuccess = now.Add(-took)
	}
	g.fails = !success
}

// PodDeleted counts a pod that was deleted, by the code of the reason.
func (g *GroupMetrics) PodDeleted(zone, reason string) {
	g.change(func() { g.deleted.add(1, zone, reason) })
}

// ReplicasSet lets it be counted how often others overwrite the replicas of a zone, from 0.
func (g *GroupMetrics) ReplicasSet(zone string) {
	g.change(func() { g.overwrites.add(0, zone, "") })
}

// ReplicasOverwritten counts that another writer has overwritten the replicas of a zone.
func (g *GroupMetrics) ReplicasOverwritten(zone string) {
	g.change(func() { g.overwrites.add(1, zone, "") })
}

// Refused counts a downscale or an eviction that was refused, by the code of the reason.
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

// Show keeps the state instead of everything that was shown of the group, so what is
// not in it any more (a zone, a wait, a holder) disappears.
func (g *GroupMetrics) Show(state GroupState) {
	g.change(func() {
		g.shown, g.seen = g.since(state), true
		g.forgetZones()
		g.begin()
	})
}

// since completes a state by since when its zones do what they do.
func (g *GroupMetrics) since(state GroupState) GroupState {
	state.Zones = slices.Clone(state.Zones)
	for i, z := range state.Zones {
		state.Zones[i].Since = g.activeSince(z, state.At)
	}
	return state
}

// activeSince says since when the activity of a zone is what it is: by the hold, which
// a restart does not change, else as long as this process has seen no other one.
func (g *GroupMetrics) activeSince(z ZoneState, at time.Time) time.Time {
	if !z.Since.IsZero() {
		return z.Since
	}
	if before, known := g.shown.zone(z.Name); known && before.Activity == z.Activity {
		return before.Since
	}
	return at
}

// forgetZones drops what was counted of zones that are no more.
func (g *GroupMetrics) forgetZones() {
	gone := func(t tally) bool {
		_, still := g.shown.zone(t.a)
		return !still
	}
	g.deleted = slices.DeleteFunc(g.deleted, gone)
	g.overwrites = slices.DeleteFunc(g.overwrites, gone)
}

// begin lets what is counted begin at zero: of what is born at one nobody sees the first.
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
