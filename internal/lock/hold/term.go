package hold

import (
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
)

const (
	// Duration is how long a hold counts as fresh after its last renewal.
	Duration = 60 * time.Second
	// RenewEvery is how often whoever works on a hold renews it.
	RenewEvery = 20 * time.Second
	// Margin is how long before a hold could expire its writers stop. It is
	// longer than RequestTimeout.
	Margin = 15 * time.Second
	// RequestTimeout bounds every single request made under a hold.
	RequestTimeout = 10 * time.Second
)

// Deadline returns until when requests may be sent under a record.
func Deadline(record plan.Hold) time.Time {
	return record.Renewed.Add(record.Duration - Margin)
}

// RenewAt returns when the hold has to be renewed next, or the zero time when
// it is none of lockstep's operations, or may not be written over.
func RenewAt(h plan.Hold) time.Time {
	if h.Holder.Free() || h.Holder.Foreign() || h.Unreadable != "" {
		return time.Time{}
	}
	return h.Renewed.Add(RenewEvery)
}

func renewalDue(s *plan.Snapshot) bool {
	at := RenewAt(s.Hold)
	return !at.IsZero() && !s.Now.Before(at)
}

// LapsesAt returns when somebody from outside holds no more, or the zero time when
// nobody from outside does.
func LapsesAt(h plan.Hold, now time.Time) time.Time {
	if h.Lapsed(now) {
		return time.Time{}
	}
	return untilOf(h)
}
