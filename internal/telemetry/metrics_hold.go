package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// holdMetrics is about who holds a group.
type holdMetrics struct {
	held     *prometheus.GaugeVec
	acquired *prometheus.GaugeVec
	expiry   *prometheus.GaugeVec
	changes  *prometheus.CounterVec
}

func newHoldMetrics(of func(more ...string) []string) holdMetrics {
	return holdMetrics{
		held: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "lockstep_group_hold_held",
			Help: "1 while this operation in this zone holds the group.",
		}, of("operation", "zone")),
		acquired: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "lockstep_group_hold_acquired_timestamp_seconds",
			Help: "Unix time at which whoever holds the group took it.",
		}, of()),
		expiry: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "lockstep_group_hold_expiry_timestamp_seconds",
			Help: "Unix time until which the hold counts as fresh unless it is renewed.",
		}, of()),
		changes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "lockstep_group_hold_transitions_total",
			Help: "How often the hold went to another holder, as its Lease counts it: who takes it and who is handed it over both count, whatever replica wrote it.",
		}, of()),
	}
}

func (h holdMetrics) all() []prometheus.Collector {
	return []prometheus.Collector{h.held, h.acquired, h.expiry, h.changes}
}

// HoldState says who holds the group, and what the Lease says about it.
type HoldState struct {
	Operation   string // one of lockstep's, or "other" for somebody else's holder; empty: nobody
	Zone        string
	Acquired    time.Time // zero: the Lease does not say
	Expires     time.Time // zero: the Lease does not say
	Transitions int
}

func (g *GroupMetrics) showHold(h HoldState) {
	of := g.of.hold
	g.countChanges(h.Transitions)
	if h.Operation == "" {
		return
	}
	g.show(of.held, 1, h.Operation, h.Zone)
	if !h.Acquired.IsZero() {
		g.show(of.acquired, unix(h.Acquired))
	}
	if !h.Expires.IsZero() {
		g.show(of.expiry, unix(h.Expires))
	}
}

// countChanges follows the Lease's own count. That of a Lease made anew begins at
// zero, as a counter may.
func (g *GroupMetrics) countChanges(n int) {
	in := g.of.hold.changes
	labels := g.counting(in)
	if n < g.changes {
		in.DeleteLabelValues(labels...)
		g.changes = 0
	}
	in.WithLabelValues(labels...).Add(float64(n - g.changes))
	g.changes = n
}

func unix(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }
