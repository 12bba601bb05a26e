package invariant

import (
	"slices"
	"strings"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
)

// holderOf returns the holder of an operation in a zone.
func holderOf(operation plan.Operation, zone string) plan.Holder {
	return plan.Holder(string(operation) + "/" + zone)
}

// byPartitions is the holder of evictions that are counted by partitions.
var byPartitions = holderOf(plan.EvictionOperation, plan.Partitions)

// operationIn reports whether an operation of lockstep has the hold, and in which zone.
func operationIn(h plan.Holder) (zone string, is bool) {
	operation, zone, _ := strings.Cut(string(h), "/")
	switch plan.Operation(operation) {
	case plan.RolloutOperation, plan.DownscaleOperation, plan.EvictionOperation, plan.StatefulClusterOperation:
		return zone, true
	}
	return "", false
}

// isOutside reports whether the hold belongs to a holder outside of lockstep.
func isOutside(h plan.Holder) bool {
	_, ours := operationIn(h)
	return h != "" && !ours
}

// hasExpired reports whether a hold has expired. A hold without a duration never expires.
func hasExpired(h *group.Hold, now time.Time) bool {
	return !h.Renewed.IsZero() && h.Duration > 0 && now.Sub(h.Renewed) > h.Duration
}

// isNewer reports whether the operation that has the hold is known only to newer versions of lockstep.
func isNewer(h plan.Holder) bool {
	operation, _, _ := strings.Cut(string(h), "/")
	return operation == "progressive" || operation == "replicated"
}

// isOver reports whether a hold from outside of lockstep has ended, which depends on its expiry. The hold of
// a newer version of lockstep must also have no intents and no downscale, and this process must have seen no
// renewal for the duration of the hold.
func isOver(h *group.Hold, now time.Time) bool {
	if isNewer(h.Holder) && (len(h.Intents) > 0 || h.Downscale.Zone != "" || h.Unrenewed < h.Duration) {
		return false
	}
	return hasExpired(h, now)
}

// leavesHold reports whether the operation that has the hold has ended: its zone is available without surplus
// pods, or does not exist. A hold from outside of lockstep lasts until it expires.
func (v *view) leavesHold(h plan.Holder) bool {
	if isOutside(h) {
		return isOver(&v.Hold, v.Now)
	}
	name, _ := operationIn(h)
	z, shown := v.zoneNamed(name)
	return !shown || (v.allAvailable(z) && len(z.Pods) == z.Replicas)
}

// leavesHoldToOrphans reports whether the zone of the operation that has the hold would be available without
// surplus pods if orphans counted as its pods.
func (v *view) leavesHoldToOrphans(h plan.Holder) bool {
	name, ours := operationIn(h)
	z, shown := v.zoneNamed(name)
	return ours && shown && v.isServedByOrphans(z) && !slices.ContainsFunc(z.Pods, func(p plan.Pod) bool { return !z.asksFor(p.Ordinal) })
}
