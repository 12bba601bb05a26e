package plan

import (
	"slices"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// Waiting is a place in the queue for a group: an operation that was refused because another
// operation was in progress. The operation that has waited longest comes first.
type Waiting struct {
	Operation Operation
	Zone      string
	Since     time.Time
	LastSeen  time.Time // its last attempt
}

// Counts reports whether the operation keeps its place. A place with an implausible time does
// not count.
func (w Waiting) Counts(now time.Time) bool {
	return now.Before(w.Until()) && !w.LastSeen.After(now.Add(TurnLimit))
}

// Until returns when the operation loses its place if it does not try again.
func (w Waiting) Until() time.Time { return w.LastSeen.Add(TurnLimit) }

const (
	// TurnLimit is how long a refused operation keeps its place in the queue after its last
	// attempt. It is a little more than two rounds of an autoscaler.
	TurnLimit = 35 * time.Second
	// AskAgain is how often a waiting operation renews its place in the hold.
	AskAgain = 10 * time.Second
)

// queuePlace returns the place of an operation in the queue, if it has one.
func (b *groupState) queuePlace(operation Operation, zone string) (Waiting, bool) {
	i := slices.IndexFunc(b.Hold.Waiting, func(w Waiting) bool { return w.Operation == operation && w.Zone == zone })
	if i < 0 || !b.Hold.Waiting[i].Counts(b.Now) {
		return Waiting{}, false
	}
	return b.Hold.Waiting[i], true
}

// since returns since when an operation waits. An operation without a place starts to wait now.
func (b *groupState) since(operation Operation, zone string) time.Time {
	if w, waits := b.queuePlace(operation, zone); waits {
		return w.Since
	}
	return b.Now
}

// waitingBefore objects while an operation of another zone keeps a place that it took before
// since. If operations are named, only these count. A rollout waits for its turn in one
// zone: the place that it took for another zone does not count.
func (b *groupState) waitingBefore(since time.Time, zone string, operations ...Operation) Refusal {
	for _, w := range b.Hold.Waiting {
		_, exists := b.Zone(w.Zone)
		counts := len(operations) == 0 || slices.Contains(operations, w.Operation)
		counts = counts && (w.Operation != RolloutOperation || w.Zone == b.turn)
		if counts && (exists || w.Zone == Partitions) && w.Zone != zone && w.Since.Before(since) && w.Counts(b.Now) {
			return Refusal{Code: reason.QueuedBehindOtherZone, Zone: w.Zone, Detail: string(w.Operation), Until: w.Until()}
		}
	}
	return Refusal{}
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
	noted := 0 // pods that count as down in the holder's zone because of an intent
	for _, intent := range b.activeIntents {
		if !intent.Overtook {
			zones[intent.Evicts().Zone()] = true
		}
		if intent.Zone == holder.Name && holder.Wants(intent.Pod) {
			noted++
		}
	}
	if holder.down > noted && !b.Hold.Holder.Foreign() {
		zones[holder.Name] = true
	}
	return zones
}

// enqueueWaiting adds to the queue the operations that wait for evictions: the rollout of the
// zone that has the turn, and downscales of lockstep's own.
func (b *groupState) enqueueWaiting(rollout Refusal) []Action {
	var steps []Action
	for _, z := range b.zoneStates {
		if z.Name == b.turn && b.byEvictions(rollout) && !b.heldBy(z.Name) {
			steps = append(steps, b.enqueue(RolloutOperation, z.Name)...)
		}
		if b.byEvictions(z.scaleObjection) {
			steps = append(steps, b.enqueue(DownscaleOperation, z.Name)...)
		}
	}
	return steps
}

// byEvictions reports whether a refused operation waits for evictions.
func (b *groupState) byEvictions(r Refusal) bool {
	held := r.Code == reason.GroupHeld && b.Hold.Holder.Operation() == EvictionOperation
	return held || (r.Code == reason.QueuedBehindOtherZone && r.Detail == string(EvictionOperation))
}

func (b *groupState) enqueue(operation Operation, zone string) []Action {
	w, waits := b.queuePlace(operation, zone)
	if waits && b.Now.Before(w.LastSeen.Add(AskAgain)) {
		return nil
	}
	return []Action{Enqueue{Waiting{Operation: operation, Zone: zone, Since: b.since(operation, zone), LastSeen: b.Now}}}
}

// keepsPlace returns when an operation of the zone must renew its place in the queue, or the
// zero time if there is none.
func (b *groupState) keepsPlace(zone string) time.Time {
	var again time.Time
	for _, operation := range []Operation{RolloutOperation, DownscaleOperation} {
		if w, waits := b.queuePlace(operation, zone); waits {
			again = earlier(again, b.ahead(w.LastSeen.Add(AskAgain)))
		}
	}
	return again
}
