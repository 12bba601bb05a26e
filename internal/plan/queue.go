package plan

import (
	"slices"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// Waiting is a place in the queue for a group: an operation that was refused
// because another one was under way. The entry that is longest there comes first.
type Waiting struct {
	Operation Operation
	Zone      string
	Since     time.Time
	LastSeen  time.Time // when it asked last
}

// Counts reports whether the place is kept. A time that is not to be believed keeps
// nobody waiting.
func (w Waiting) Counts(now time.Time) bool {
	return now.Before(w.Until()) && !w.LastSeen.After(now.Add(TurnLimit))
}

// Until returns when the place is lost if nobody asks again.
func (w Waiting) Until() time.Time { return w.LastSeen.Add(TurnLimit) }

const (
	// TurnLimit is for how long a refused operation keeps its place in the
	// queue after it was last seen: two rounds of an autoscaler, and some.
	TurnLimit = 35 * time.Second
	// AskAgain is how often somebody who waits says so in the hold.
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

// since returns since when an operation waits: it has just come if it has no place.
func (b *groupState) since(operation Operation, zone string) time.Time {
	if w, waits := b.queuePlace(operation, zone); waits {
		return w.Since
	}
	return b.Now
}

// waitingBefore objects while an operation of another zone waits that asked
// before that time and has not been silent for too long; only those operations
// count, if any are named. A rollout waits for its turn in one zone: a place that it
// took for another one is nobody's.
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
// taken down within the budget although an operation of another zone waits. That one cannot
// go on anyway before all pods are back that are away there, so nobody loses by it as long
// as one of these pods overtook nobody itself: it is noted without Overtook, or in the
// holder's zone it is down and not noted at all. Once only pods are away that overtook, no
// other one joins them, so whoever waits is kept for the time of one more pod at most (ADR 22).
func (b *groupState) zonesThatMayOvertake() map[string]bool {
	if len(b.activeIntents) == 0 && b.Hold.Holder.Free() {
		return nil
	}
	zones := map[string]bool{}
	holder, _ := b.zoneState(b.Hold.Holder.Zone())
	noted := 0 // pods that count as down in the holder's zone since they are noted
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

// enqueueWaiting lets what evictions keep from its turn wait in the queue: the rollout
// of the zone whose turn it is, and downscales of lockstep's own.
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

// byEvictions reports whether it is for evictions that somebody waits.
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

// keepsPlace returns when a place in the queue has to be taken anew, or the zero
// time for who has none.
func (b *groupState) keepsPlace(zone string) time.Time {
	var again time.Time
	for _, operation := range []Operation{RolloutOperation, DownscaleOperation} {
		if w, waits := b.queuePlace(operation, zone); waits {
			again = earlier(again, b.ahead(w.LastSeen.Add(AskAgain)))
		}
	}
	return again
}
