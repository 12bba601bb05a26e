package hold

import (
	"strings"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// Manual is the operation of holds that people take.
const Manual plan.Operation = "manual"

// longestManual limits the part of a person's reason that becomes part of a holder.
const longestManual = 50

// ManualFor returns the holder for a person's reason, reduced to lower-case letters, digits and hyphens. The
// second result is false if nothing of the reason remains.
func ManualFor(why string) (plan.Holder, bool) {
	var b strings.Builder
	for _, r := range strings.ToLower(why) {
		switch {
		case b.Len() >= longestManual:
		case 'a' <= r && r <= 'z', '0' <= r && r <= '9':
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
	}
	name := strings.Trim(b.String(), "-")
	return Manual.For(name), name != ""
}

// Take returns the record by which a person takes a hold for a time, or why the hold cannot be taken. A hold
// that another person has, even for the same reason, can be taken only after it expired. With renew, Take
// prolongs a hold that has the same reason, and never shortens it.
func Take(h plan.Record, holder plan.Holder, now time.Time, lasts time.Duration, renew bool) (plan.Record, plan.Refusal) {
	over := h.Lapsed(now)
	same := renew && h.Holder == holder
	switch {
	case h.Unreadable != "":
		return h, plan.Refusal{Code: reason.HoldUnreadable}
	case !h.Holder.Free() && !same && !over:
		return h, plan.Refusal{Code: reason.GroupHeld, Detail: string(h.Holder), Until: untilOf(h.Hold)}
	case len(h.Intents) > 0:
		return h, plan.Refusal{Code: reason.PodDisruptionPending, Pod: h.Intents[0].Pod, Zone: h.Intents[0].Zone}
	case !h.InProgress().Free():
		return h, plan.Refusal{Code: reason.ZoneShrinking, Zone: h.InProgress().Zone()}
	}
	next := h
	next.Exists, next.Own = true, false
	if same && !over {
		return prolonged(next, now, lasts), plan.Refusal{}
	}
	next.Holder = holder
	next.Transitions++
	next.Renewed, next.Duration = now, lasts
	return next, plan.Refusal{}
}

// prolonged returns a record that lasts at least so long. A hold without an end keeps none.
func prolonged(h plan.Record, now time.Time, lasts time.Duration) plan.Record {
	if end := h.ExpiresAt(); !end.IsZero() && end.Before(now.Add(lasts)) {
		h.Renewed, h.Duration = now, lasts
	}
	return h
}

// untilOf returns when a hold from outside lockstep expires. Operations of lockstep, also of newer versions,
// end with an event.
func untilOf(h plan.Hold) time.Time {
	if h.Holder.Foreign() && !h.Holder.Newer() {
		return h.ExpiresAt()
	}
	return time.Time{}
}

// GiveBack returns the record after a person releases a hold. The second result is false if a person may not
// release it: it is free, belongs to an operation of lockstep, or has an unreadable record, which the write
// would erase. A hold from outside that is not manual requires force.
func GiveBack(h plan.Record, force bool) (plan.Record, bool) {
	if h.Unreadable != "" || !h.Holder.Foreign() || (h.Holder.Operation() != Manual && !force) {
		return h, false
	}
	next := h
	next.Own = false
	next.Holder, next.Since = "", time.Time{}
	next.Renewed, next.Duration = time.Time{}, 0
	return next, true
}
