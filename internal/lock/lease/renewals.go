package lease

import (
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
)

// renewals knows since when this process has known the newest renewal of a holder that is
// Newer, by its own clock that only goes forward: the time in the Lease is another clock's.
type renewals map[plan.Key]renewal

type renewal struct {
	holder plan.Holder
	at     int64 // as it is written
	seen   time.Time
}

// date fills in for how long no renewal of a group's record was seen.
func (r renewals) date(key plan.Key, h *plan.Hold, now time.Time) {
	if !h.Holder.Newer() {
		delete(r, key)
		return
	}
	last, known := r[key]
	if at := h.Renewed.UnixMicro(); !known || last.holder != h.Holder || last.at != at {
		last = renewal{h.Holder, at, now}
		r[key] = last
	}
	h.Unrenewed = now.Sub(last.seen)
}
