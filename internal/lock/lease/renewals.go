package lease

import (
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
)

// renewals records when this process first saw the newest renewal by a holder that is Newer. It uses the
// monotonic clock of this process, because the time in the Lease comes from another clock.
type renewals map[plan.Key]renewal

type renewal struct {
	holder plan.Holder
	at     int64 // in microseconds, as in the Lease
	seen   time.Time
}

// date sets for how long this process has seen no renewal of a group's hold.
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
