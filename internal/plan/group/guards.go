package group

import (
	"slices"
	"strconv"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// disruption is a pod that an operation would delete or evict.
type disruption struct {
	zone     *zoneState
	pod      *candidate // nil if only the zone is judged
	inTheWay bool       // it is an orphan, and the StatefulSet creates a pod of its name once it is deleted
}

// A guard objects to a request, or allows it by returning no Refusal.
type guard[Q any] func(*groupState, Q) plan.Refusal

// replaceGuards apply to every replacement of an outdated pod. The first objection is reported.
var replaceGuards = []guard[disruption]{
	wrongUpdateStrategy, // guarantee 3: another controller would interfere
	paused,              // a user paused this zone
	zoneInTransition,    // only the newest spec decides which pods are outdated
	notAdopted,          // guarantee 5: only a pod that its StatefulSet controls is deleted
}

// disruptionGuards apply after the guards above to the replacement of a pod that is up.
var disruptionGuards = []guard[disruption]{
	downscaleFirst,       // a downscale of lockstep's own goes before a zone begins
	notItsTurn,           // one zone after the other, in order
	othersBeforeRollout,  // a zone begins only if no refused operation waits
	heldElsewhere,        // guarantee 1: one operation in one zone at a time
	otherZoneUnavailable, // guarantee 2: the other zones are available
	zoneShrinking,        // a downscale of this zone ends first
	budgetSpent,          // guarantee 4: at most so many pods of a zone are down
	partitionTooFresh,    // a budget may ask for time between zones
	tooManyIntents,       // the disruption is recorded, and the hold has limited room
}

// mayReplace returns the first objection to the replacement of one candidate.
func (b *groupState) mayReplace(d disruption) plan.Refusal {
	if r := firstObjection(b, d, replaceGuards); !r.None() {
		return r
	}
	if !d.pod.Up() {
		return plan.Refusal{}
	}
	return firstObjection(b, d, disruptionGuards)
}

// firstObjection returns the first objection of the guards, list by list.
func firstObjection[Q any](b *groupState, called Q, lists ...[]guard[Q]) plan.Refusal {
	for _, guards := range lists {
		for _, object := range guards {
			if r := object(b, called); !r.None() {
				return r
			}
		}
	}
	return plan.Refusal{}
}

func wrongUpdateStrategy(b *groupState, _ disruption) plan.Refusal {
	for _, z := range b.zoneStates {
		if !z.OnDelete {
			return plan.Refusal{Code: reason.WrongUpdateStrategy, Zone: z.Name}
		}
	}
	return plan.Refusal{}
}

func paused(b *groupState, d disruption) plan.Refusal {
	if d.zone.PausedAt(b.Now) {
		return plan.Refusal{Code: reason.Paused, Until: d.zone.PausedUntil.Time}
	}
	return plan.Refusal{}
}

func zoneInTransition(_ *groupState, d disruption) plan.Refusal { return lifecycle(d.zone.Zone) }

// notAdopted objects to the deletion of a pod that no StatefulSet controls yet. If a
// StatefulSet was created again, its status may be complete before its controller has adopted
// the pods.
func notAdopted(_ *groupState, d disruption) plan.Refusal {
	if d.pod.Unadopted {
		return plan.Refusal{Code: reason.PodNotAdopted, Pod: d.pod.Name}
	}
	return plan.Refusal{}
}

// heldElsewhere allows an operation that joins the zone of the holder. It also allows an
// operation that could take over, because no intent counts and the holder's zone is available.
// A live read decides about the takeover again.
func heldElsewhere(b *groupState, d disruption) plan.Refusal {
	h := &b.Hold
	switch recorded := b.recordedElsewhere(d.zone.Name); {
	case h.Unreadable != "":
		return plan.Refusal{Code: reason.HoldUnreadable}
	case !recorded.None():
		return recorded
	case h.Holder.Free():
		return plan.Refusal{}
	case h.Holder.Foreign():
		return b.foreignHold()
	case h.Holder.Zone() == d.zone.Name:
		return plan.Refusal{}
	case b.availableOrSettled(h.Holder.Zone()), d.inTheWay && b.waitsForOrphan(h.Holder.Zone()):
		return plan.Refusal{}
	}
	return b.refusedByHolder(h.Holder.Zone(), "")
}

// recordedElsewhere objects while an intent or a downscale of another zone counts, whichever
// operation has the hold. An eviction that counts by partitions has no zone: only evictions of
// its kind can join it.
func (b *groupState) recordedElsewhere(zone string) plan.Refusal {
	if stands := b.downscaleElsewhere(zone); !stands.None() && !b.ended {
		return stands
	}
	for _, intent := range b.Hold.Intents {
		if _, counts := b.activeIntents[intent.Pod]; counts && (intent.Zone != zone || intent.Partition != "") {
			return b.refusedByHolder(intent.Zone, intent.Pod)
		}
	}
	return plan.Refusal{}
}

// downscaleElsewhere objects while the Lease records a downscale of another zone or, if zone is
// empty, of any zone. That includes a downscale that has ended: evictions wait until the
// leading replica has removed it.
func (b *groupState) downscaleElsewhere(zone string) plan.Refusal {
	if d := b.Hold.Downscale; !d.None() && d.Zone != zone {
		return b.refusedByHolder(d.Zone, "")
	}
	return plan.Refusal{}
}

// refusedByHolder says that another zone has the hold, and whether the hold is overdue. The hold of a
// rollout never is, because the process that plans here renews it.
func (b *groupState) refusedByHolder(zone, pod string) plan.Refusal {
	holder := b.Hold.Holder
	code := reason.GroupHeld
	if b.Hold.Expired(b.Now) && holder.Operation() != plan.RolloutOperation {
		code = reason.StaleHold
	}
	if _, exists := b.Zone(zone); !exists {
		return plan.Refusal{Code: code, Pod: pod, Detail: "by a zone that left the group"}
	}
	r := plan.Refusal{Code: code, Zone: zone, Pod: pod}
	if _, ours := b.Zone(holder.Zone()); ours && !holder.Foreign() {
		r.Detail = string(holder) // an operation and a zone, never the text of a user
	}
	return r
}

func (b *groupState) foreignHold() plan.Refusal {
	if b.Hold.Lapsed(b.Now) {
		return plan.Refusal{} // its intents are checked before
	}
	if b.Hold.Holder.Newer() {
		return plan.Refusal{Code: reason.GroupHeld, Detail: "held by a newer version of lockstep"}
	}
	return plan.Refusal{Code: reason.GroupHeld, Detail: "held from outside lockstep", Until: b.Hold.ExpiresAt()}
}

// availableOrSettled reports whether a zone is available or, if it left the group, settled.
func (b *groupState) availableOrSettled(zone string) bool {
	for _, z := range b.zoneStates {
		if z.Name == zone {
			return z.available()
		}
	}
	return !slices.ContainsFunc(b.unsettled(), func(z *FormerZone) bool { return z.Name == zone })
}

func otherZoneUnavailable(b *groupState, d disruption) plan.Refusal {
	if objection := b.formerZonesSettled(d.inTheWay); !objection.None() {
		return objection
	}
	for _, z := range b.zoneStates {
		if z.Name != d.zone.Name && !z.available() && !(d.inTheWay && b.servedByOrphans(z)) {
			return plan.Refusal{
				Code: reason.OtherZoneUnavailable, Zone: z.Name, Pod: z.unavailableBecause.Pod,
				Detail: string(z.unavailableBecause.Code), Until: z.unavailableBecause.Until,
			}
		}
	}
	return plan.Refusal{}
}

func notItsTurn(b *groupState, d disruption) plan.Refusal {
	if b.turn != d.zone.Name {
		return plan.Refusal{Code: reason.NotItsTurn, Zone: b.turn}
	}
	return plan.Refusal{}
}

func zoneShrinking(b *groupState, d disruption) plan.Refusal {
	return firstOf(d.zone.surplus, b.shrinkage(d.zone.Zone))
}

// othersBeforeRollout objects while an operation waits that comes before the rollout,
// unless the rollout may overtake it.
func othersBeforeRollout(b *groupState, d disruption) plan.Refusal {
	if b.mayOvertake[d.zone.Name] && budgetSpent(b, d).None() {
		return plan.Refusal{}
	}
	return b.beforeRollout(d.zone)
}

// beforeRollout returns which operation of another zone waits that comes before the rollout of
// a zone. If a rollout or a downscale of the zone has the hold, only evictions in other zones
// can come before: they take turns with its pods.
func (b *groupState) beforeRollout(z *zoneState) plan.Refusal {
	if b.heldBy(z.Name) {
		return b.waitingBefore(b.since(plan.RolloutOperation, z.Name), z.Name, plan.EvictionOperation)
	}
	return b.waitingBefore(b.since(plan.RolloutOperation, z.Name), z.Name)
}

// heldBy reports whether a rollout or a downscale of that zone has the hold.
func (b *groupState) heldBy(zone string) bool {
	return b.Hold.Holder == plan.RolloutOperation.For(zone) || b.Hold.Holder == plan.DownscaleOperation.For(zone)
}

// budgetSpent objects if the deletion would leave more pods down than the budget allows. Each
// pod counts once. Pods beyond the spec count as well: the spec may be older than they are, or
// may be raised before they are deleted. The objection names a pod that uses up the budget,
// because users need to know that pod.
func budgetSpent(b *groupState, d disruption) plan.Refusal {
	down := d.zone.down + d.zone.surplusDown
	after := down
	if !d.pod.alreadyDown {
		after++
	}
	if after <= d.zone.budget {
		return plan.Refusal{}
	}
	r := firstOf(d.zone.culprit, d.zone.surplus, b.leftover(d.zone.Zone))
	count := strconv.Itoa(down) + " of at most " + strconv.Itoa(d.zone.budget) + " down"
	if r.Detail != "" {
		count = r.Detail + ", " + count
	}
	r.Detail = count
	return r
}

func tooManyIntents(b *groupState, d disruption) plan.Refusal {
	if b.intentCount >= plan.MaxIntents && !d.pod.hasIntent {
		return plan.Refusal{Code: reason.TooManyIntents}
	}
	return plan.Refusal{}
}
