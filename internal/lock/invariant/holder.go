package invariant

import (
	"slices"
	"strings"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
)

// holderOf writes the holder of an operation in a zone.
func holderOf(operation plan.Operation, zone string) plan.Holder {
	return plan.Holder(string(operation) + "/" + zone)
}

// byPartitions is the holder of evictions that go by partitions.
var byPartitions = holderOf(plan.EvictionOperation, plan.Partitions)

// operationIn reports whether an operation of lockstep has the hold, and in which zone.
func operationIn(h plan.Holder) (zone string, is bool) {
	operation, zone, _ := strings.Cut(string(h), "/")
	switch plan.Operation(operation) {
	case plan.RolloutOperation, plan.DownscaleOperation, plan.EvictionOperation:
		return zone, true
	}
	return "", false
}

// isOutside reports whether somebody outside of lockstep has the hold.
func isOutside(h plan.Holder) bool {
	_, ours := operationIn(h)
	return h != "" && !ours
}

// hasExpired reports whether the time of a hold is over. A hold that does not say how long
// it counts never expires.
func hasExpired(h *plan.Hold, now time.Time) bool {
	return !h.Renewed.IsZero() && h.Duration > 0 && now.Sub(h.Renewed) > h.Duration
}

// isNewer reports whether an operation has the hold that only newer versions of lockstep know.
func isNewer(h plan.Holder) bool {
	operation, _, _ := strings.Cut(string(h), "/")
	return operation == "progressive" || operation == "statefulcluster" || operation == "replicated"
}

// isOver reports whether somebody outside of lockstep has the hold no more. That is a question
// of time, but for newer versions of lockstep: theirs is over only if nothing is noted, and if
// this process itself has seen no renewal for as long as the hold lasts.
func isOver(h *plan.Hold, now time.Time) bool {
	if isNewer(h.Holder) && (len(h.Intents) > 0 || h.Downscale.Zone != "" || h.Unrenewed < h.Duration) {
		return false
	}
	return hasExpired(h, now)
}

// leavesHold reports whether nothing is left of the operation that has the hold: its zone
// is whole and has no other pods, or is not shown at all. Somebody outside of lockstep has
// the hold until it expires.
func (v *view) leavesHold(h plan.Holder) bool {
	if isOutside(h) {
		return isOver(&v.Hold, v.Now)
	}
	name, _ := operationIn(h)
	z, shown := v.zoneNamed(name)
	return !shown || (v.isWhole(z) && len(z.Pods) == z.Replicas)
}

// leavesHoldToOrphans reports whether only orphans keep the zone of the operation that has the hold from
// being whole.
func (v *view) leavesHoldToOrphans(h plan.Holder) bool {
	name, ours := operationIn(h)
	z, shown := v.zoneNamed(name)
	return ours && shown && v.isServedByOrphans(z) && !slices.ContainsFunc(z.Pods, func(p plan.Pod) bool { return !z.asksFor(p.Ordinal) })
}
