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
			"Unix time at which the current holder took the hold of the group."),
		expiry: groupDesc("lockstep_group_hold_expiry_timestamp_seconds",
			"Unix time at which the hold expires if the holder does not renew it."),
		changes: groupDesc("lockstep_group_hold_transitions_total",
			"Changes of the holder, from leaseTransitions of the Lease; takeovers and hand-overs by all replicas count."),
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
