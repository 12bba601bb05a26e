package hold

import (
	"strings"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// Manual is the operation under which people hold a group.
const Manual plan.Operation = "manual"

// longestManual bounds what of a person's reason becomes part of a holder.
const longestManual = 50

// ManualFor returns the holder that a person is for a reason: what of it can be part
// of a name, in small letters. The second result is false where nothing can.
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

// Take returns the record by which a person takes a hold for a time, or says who has
// it. What people hold already, for the same reason too, is taken over only after its
// time. To renew it is to prolong it for the same reason, and never ends it sooner.
func Take(h plan.Hold, holder plan.Holder, now time.Time, lasts time.Duration, renew bool) (plan.Hold, plan.Refusal) {
	over := h.Lapsed(now)
	same := renew && h.Holder == holder
	switch {
	case h.Unreadable != "":
		return h, plan.Refusal{Code: reason.HoldUnreadable}
	case !h.Holder.Free() && !same && !over:
		return h, plan.Refusal{Code: reason.GroupHeld, Detail: string(h.Holder), Until: untilOf(h)}
	case len(h.Intents) > 0:
		return h, plan.Refusal{Code: reason.PodDisruptionPending, Pod: h.Intents[0].Pod, Zone: h.Intents[0].Zone}
	case !h.Downscale.None():
		return h, plan.Refusal{Code: reason.ZoneShrinking, Zone: h.Downscale.Zone}
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

// prolonged returns a record that lasts so long at least. One without an end has none
// after it.
func prolonged(h plan.Hold, now time.Time, lasts time.Duration) plan.Hold {
	if end := h.ExpiresAt(); !end.IsZero() && end.Before(now.Add(lasts)) {
		h.Renewed, h.Duration = now, lasts
	}
	return h
}

// untilOf returns when somebody from outside holds no more by himself. Operations of
// lockstep's, of newer versions too, end with an event.
func untilOf(h plan.Hold) time.Time {
	if h.Holder.Foreign() && !h.Holder.Newer() {
		return h.ExpiresAt()
	}
	return time.Time{}
}

// GiveBack returns the record of a hold that a person gives back. The second result
// is false for one that is not his to give: free, or of an operation of lockstep's, or
// with notes that cannot be read, which the write would erase. One from outside that is
// not called manual is given back by force.
func GiveBack(h plan.Hold, force bool) (plan.Hold, bool) {
	if h.Unreadable != "" || !h.Holder.Foreign() || (h.Holder.Operation() != Manual && !force) {
		return h, false
	}
	next := h
	next.Own = false
	next.Holder, next.Since = "", time.Time{}
	next.Renewed, next.Duration = time.Time{}, 0
	return next, true
}
