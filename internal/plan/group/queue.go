package group

import (
	"slices"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// queuePlace returns the place of an operation in the queue, if it has one.
func (b *groupState) queuePlace(operation plan.Operation, zone string) (plan.Waiting, bool) {
	i := slices.IndexFunc(b.Hold.Waiting, func(w plan.Waiting) bool { return w.Operation == operation && w.Zone == zone })
	if i < 0 || !b.Hold.Waiting[i].Counts(b.Now) {
		return plan.Waiting{}, false
	}
	return b.Hold.Waiting[i], true
}

// since returns since when an operation waits. An operation without a place starts to wait now.
func (b *groupState) since(operation plan.Operation, zone string) time.Time {
	if w, waits := b.queuePlace(operation, zone); waits {
		return w.Since
	}
	return b.Now
}

// waitingBefore objects while an operation of another zone keeps a place that it took before
// since. If operations are named, only these count. A rollout waits for its turn in one
// zone: the place that it took for another zone does not count.
func (b *groupState) waitingBefore(since time.Time, zone string, operations ...plan.Operation) plan.Refusal {
	for _, w := range b.Hold.Waiting {
		_, exists := b.Zone(w.Zone)
		counts := len(operations) == 0 || slices.Contains(operations, w.Operation)
		counts = counts && (w.Operation != plan.RolloutOperation || w.Zone == b.turn)
		if counts && (exists || w.Zone == plan.Partitions) && w.Zone != zone && w.Since.Before(since) && w.Counts(b.Now) {
			return plan.Refusal{Code: reason.QueuedBehindOtherZone, Zone: w.Zone, Detail: string(w.Operation), Until: w.Until()}
		}
	}
	return plan.Refusal{}
}

// zonesThatMayOvertake returns the zones, with Partitions among them, in which pods may be
// disrupted within the budget although an operation of another zone waits. That operation
// cannot continue anyway before all pods that are down there are back. So it loses nothing as
// long as one of these pods did not overtake: its intent is without Overtook, or it is in the
// holder's zone and down without an intent. Once every pod that is down there overtook, no
// further pod may overtake. So an operation waits at most for the time of one more pod
// (ADR 22).
func (b *groupState) zonesThatMayOvertake() map[string]bool {
	if len(b.activeIntents) == 0 && b.Hold.Holder.Free() {
		return nil
	}
	zones := map[string]bool{}
	holder, _ := b.zoneState(b.Hold.Holder.Zone())
	recorded := 0 // pods that count as down in the holder's zone because of an intent
	for _, intent := range b.activeIntents {
		if !intent.Overtook {
			zones[intent.Evicts().Zone()] = true
		}
		if intent.Zone == holder.Name && holder.Wants(intent.Pod) {
			recorded++
		}
	}
	if holder.down > recorded && !b.Hold.Holder.Foreign() {
		zones[holder.Name] = true
	}
	return zones
}

// enqueueWaiting adds to the queue the operations that wait for evictions: the rollout of the
// zone that has the turn, and downscales of lockstep's own.
func (b *groupState) enqueueWaiting(rollout plan.Refusal) []plan.Action {
	var steps []plan.Action
	for _, z := range b.zoneStates {
		if z.Name == b.turn && b.byEvictions(rollout) && !b.heldBy(z.Name) {
			steps = append(steps, b.enqueue(plan.RolloutOperation, z.Name)...)
		}
		if b.byEvictions(z.scaleObjection) {
			steps = append(steps, b.enqueue(plan.DownscaleOperation, z.Name)...)
		}
	}
	return steps
}

// byEvictions reports whether a refused operation waits for evictions.
func (b *groupState) byEvictions(r plan.Refusal) bool {
	held := r.Code == reason.GroupHeld && b.Hold.Holder.Operation() == plan.EvictionOperation
	return held || (r.Code == reason.QueuedBehindOtherZone && r.Detail == string(plan.EvictionOperation))
}

func (b *groupState) enqueue(operation plan.Operation, zone string) []plan.Action {
	w, waits := b.queuePlace(operation, zone)
	if waits && b.Now.Before(w.LastSeen.Add(plan.AskAgain)) {
		return nil
	}
	return []plan.Action{plan.Enqueue{Waiting: plan.Waiting{Operation: operation, Zone: zone, Since: b.since(operation, zone), LastSeen: b.Now}}}
}

// keepsPlace returns when an operation of the zone must renew its place in the queue, or the
// zero time if there is none.
func (b *groupState) keepsPlace(zone string) time.Time {
	var again time.Time
	for _, operation := range []plan.Operation{plan.RolloutOperation, plan.DownscaleOperation} {
		if w, waits := b.queuePlace(operation, zone); waits {
			again = earlier(again, b.ahead(w.LastSeen.Add(plan.AskAgain)))
		}
	}
	return again
}

// KeepsPlace reports whether an operation that was refused for a reason keeps its place in the queue.
func KeepsPlace(because reason.Code) bool {
	return because == reason.GroupHeld || because == reason.QueuedBehindOtherZone
}
