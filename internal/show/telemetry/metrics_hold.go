package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// holdDescs are about who holds a group.
type holdDescs struct{ held, acquired, expiry, changes *prometheus.Desc }

func newHoldDescs() holdDescs {
	return holdDescs{
		held: groupDesc("lockstep_group_hold_held",
			"1 while this operation in this zone holds the group.", "operation", "zone"),
		acquired: groupDesc("lockstep_group_hold_acquired_timestamp_seconds",
			"Unix time at which whoever holds the group took it."),
		expiry: groupDesc("lockstep_group_hold_expiry_timestamp_seconds",
			"Unix time until which the hold counts as fresh unless it is renewed."),
		changes: groupDesc("lockstep_group_hold_transitions_total",
			"How often the hold went to another holder, as its Lease counts it: who takes it and who is handed it over both count, whatever replica wrote it."),
	}
}

// HoldState says who holds the group, and what the Lease says about it.
type HoldState struct {
	Operation   string // one of lockstep's, or "other" for somebody else's holder; empty: nobody
	Zone        string
	Acquired    time.Time // zero: the Lease does not say
	Expires     time.Time // zero: the Lease does not say
	Transitions int
}

// collect makes the series about a hold. Its changes are the Lease's own count, which
// began before this process did; that of a Lease made anew begins at zero, as a counter may.
func (d holdDescs) collect(s *series, h HoldState) {
	s.counted(d.changes, h.Transitions)
	if h.Operation == "" {
		return
	}
	s.gauge(d.held, 1, h.Operation, h.Zone)
	if !h.Acquired.IsZero() {
		s.gauge(d.acquired, unix(h.Acquired))
	}
	if !h.Expires.IsZero() {
		s.gauge(d.expiry, unix(h.Expires))
	}
}

func unix(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }
