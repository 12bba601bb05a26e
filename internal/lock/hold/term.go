package hold

import (
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
)

const (
	// Duration is how long a hold counts as fresh after its last renewal.
	Duration = 60 * time.Second
	// RenewEvery is how often an operation renews its hold.
	RenewEvery = 20 * time.Second
	// Margin is the time before the expiry of a hold in which no more requests are sent. It is longer than
	// RequestTimeout.
	Margin = 15 * time.Second
	// RequestTimeout limits each request under a hold.
	RequestTimeout = 10 * time.Second
	// ConfirmedFor is how long a plan counts as confirmed, from when lockstep began to read the StatefulSets again. After
	// that, no disruption of the plan begins.
	ConfirmedFor = 15 * time.Second
)

// Deadline returns the time until which requests may be sent under a record.
func Deadline(record plan.Record) time.Time {
	return record.Renewed.Add(record.Duration - Margin)
}

// RenewAt returns when the hold must be renewed next. It returns the zero time if no operation of lockstep
// has the hold, or if the record is unreadable and must not be overwritten.
func RenewAt(h plan.Hold) time.Time {
	if h.Holder.Free() || h.Holder.Foreign() || h.Unreadable != "" {
		return time.Time{}
	}
	return h.Renewed.Add(RenewEvery)
}

func renewalDue(s *situation) bool {
	at := RenewAt(s.Hold)
	return !at.IsZero() && !s.Now.Before(at)
}

// LapsesAt returns when a hold from outside lockstep will lapse. It returns the zero time for any other hold,
// and for one that has lapsed.
func LapsesAt(r plan.Record, now time.Time) time.Time {
	if r.Lapsed(now) {
		return time.Time{}
	}
	return untilOf(r.Hold)
}
