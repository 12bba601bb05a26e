package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// holdDescs are the descriptions of the metrics of a group's hold.
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

// HoldState is the holder of a group, with data of its Lease.
type HoldState struct {
	Operation   string // of lockstep, or "other" for a foreign holder; empty: the group is not held
	Zone        string
	Acquired    time.Time // zero: not in the Lease
	Expires     time.Time // zero: not in the Lease
	Transitions int
}

// collect creates the series of a hold. The number of changes is the Lease's own count, which
// began before this process did. If the Lease is created again, the count starts again at zero,
// which counters may do.
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
