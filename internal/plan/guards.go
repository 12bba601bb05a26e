package plan

import (
	"slices"
	"strconv"

	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// MaxIntents bounds the open intents of a group: they live in one annotation.
const MaxIntents = 100

// disruption is a pod that somebody wants to take down.
type disruption struct {
	zone     *zoneState
	pod      *candidate // nil where only the zone is asked about
	inTheWay bool       // it is an orphan, and the StatefulSet creates a pod of its name once it is gone
}

// A guard objects to what is asked or, by returning no Refusal, lets it pass.
type guard[Q any] func(*groupState, Q) Refusal

// replaceGuards bind every replacement of an outdated pod; the first
// objection is the one told.
var replaceGuards = []guard[disruption]{
	wrongUpdateStrategy, // guarantee 3: another controller would interfere
	paused,              // somebody asked this zone to stand still
	zoneInTransition,    // what is outdated is judged against the newest spec only
	notAdopted,          // guarantee 5: only a pod that its StatefulSet controls is deleted
}

// takedownGuards bind the replacement of a pod that is up, beyond the above.
var takedownGuards = []guard[disruption]{
	downscaleFirst,       // a downscale of lockstep's own comes before a zone begins
	notItsTurn,           // one zone after the other, in order
	othersBeforeRollout,  // a zone begins only when nobody waits who was refused
	heldElsewhere,        // guarantee 1: one operation in one zone at a time
	otherZoneUnavailable, // guarantee 2: the rest of the group serves
	zoneShrinking,        // a downscale of this zone settles first
	budgetSpent,          // guarantee 4: at most so many pods of a zone
	partitionTooFresh,    // where a budget asks for time between zones
	tooManyIntents,       // a takedown is always noted, and the hold can only carry so many
}

// mayReplace asks the guards about one candidate.
func (b *groupState) mayReplace(d disruption) Refusal {
	if r := firstObjection(b, d, replaceGuards); !r.None() {
		return r
	}
	if !d.pod.Up() {
		return Refusal{}
	}
	return firstObjection(b, d, takedownGuards)
}

// firstObjection asks the guards of each list in order.
func firstObjection[Q any](b *groupState, asked Q, lists ...[]guard[Q]) Refusal {
	for _, guards := range lists {
		for _, object := range guards {
			if r := object(b, asked); !r.None() {
				return r
			}
		}
	}
	return Refusal{}
}

func wrongUpdateStrategy(b *groupState, _ disruption) Refusal {
	for _, z := range b.zoneStates {
		if !z.OnDelete {
			return Refusal{Code: reason.WrongUpdateStrategy, Zone: z.Name}
		}
	}
	return Refusal{}
}

func paused(b *groupState, d disruption) Refusal {
	if d.zone.PausedAt(b.Now) {
		return Refusal{Code: reason.Paused, Until: d.zone.PausedUntil.Time}
	}
	return Refusal{}
}

func zoneInTransition(_ *groupState, d disruption) Refusal { return lifecycle(d.zone.Zone) }

// notAdopted objects to the deletion of a pod that no StatefulSet controls yet. The status of a
// StatefulSet that was created again may be complete before its controller has adopted the pods.
func notAdopted(_ *groupState, d disruption) Refusal {
	if d.pod.Unadopted {
		return Refusal{Code: reason.PodNotAdopted, Pod: d.pod.Name}
	}
	return Refusal{}
}

// heldElsewhere lets pass what joins the zone of the holder, and what could
// take over: no intent counts and the holder's zone is whole. The takeover
// itself is decided again on a live read.
func heldElsewhere(b *groupState, d disruption) Refusal {
	h := &b.Hold
	switch noted := b.notedElsewhere(d.zone.Name); {
	case h.Unreadable != "":
		return Refusal{Code: reason.HoldUnreadable}
	case !noted.None():
		return noted
	case h.Holder.Free():
		return Refusal{}
	case h.Holder.Foreign():
		return b.foreignHold()
	case h.Holder.Zone() == d.zone.Name:
		return Refusal{}
	case b.availableOrSettled(h.Holder.Zone()), d.inTheWay && b.waitsForOrphan(h.Holder.Zone()):
		return Refusal{}
	}
	return b.held(h.Holder.Zone(), "")
}

// notedElsewhere objects while an intent or a downscale of another zone counts, whoever
// holds. An eviction that goes by partitions is of no zone: nothing joins it but others
// of its kind.
func (b *groupState) notedElsewhere(zone string) Refusal {
	if stands := b.downscaleElsewhere(zone); !stands.None() && !b.ended {
		return stands
	}
	for _, intent := range b.Hold.Intents {
		if _, counts := b.activeIntents[intent.Pod]; counts && (intent.Zone != zone || intent.Partition != "") {
			return b.held(intent.Zone, intent.Pod)
		}
	}
	return Refusal{}
}

// decreaseElsewhere objects while a downscale of another zone stands in the Lease; where
// no zone is named, of any. One that is over stands, too: evictions wait until whoever
// leads has taken it off.
func (b *groupState) downscaleElsewhere(zone string) Refusal {
	if d := b.Hold.Downscale; !d.None() && d.Zone != zone {
		return b.held(d.Zone, "")
	}
	return Refusal{}
}

// held says that another zone has the hold, and whether it is overdue. A
// rollout's hold never is: whoever plans here renews it.
func (b *groupState) held(zone, pod string) Refusal {
	holder := b.Hold.Holder
	code := reason.GroupHeld
	if b.Hold.Expired(b.Now) && holder.Operation() != RolloutOperation {
		code = reason.StaleHold
	}
	if _, exists := b.Zone(zone); !exists {
		return Refusal{Code: code, Pod: pod, Detail: "by a zone that left the group"}
	}
	r := Refusal{Code: code, Zone: zone, Pod: pod}
	if _, ours := b.Zone(holder.Zone()); ours && !holder.Foreign() {
		r.Detail = string(holder) // so it is an operation and a zone, not anybody's text
	}
	return r
}

func (b *groupState) foreignHold() Refusal {
	if b.Hold.Lapsed(b.Now) {
		return Refusal{} // its intents were asked about before
	}
	if b.Hold.Holder.Newer() {
		return Refusal{Code: reason.GroupHeld, Detail: "held by a newer version of lockstep"}
	}
	return Refusal{Code: reason.GroupHeld, Detail: "held from outside lockstep", Until: b.Hold.ExpiresAt()}
}

// availableOrSettled reports whether a zone is whole. One that left the group is if it is settled.
func (b *groupState) availableOrSettled(zone string) bool {
	for _, z := range b.zoneStates {
		if z.Name == zone {
			return z.available()
		}
	}
	return !slices.ContainsFunc(b.unsettled(), func(z *LeftZone) bool { return z.Name == zone })
}

func otherZoneUnavailable(b *groupState, d disruption) Refusal {
	if left := b.leftZone(); !left.None() {
		return left
	}
	for _, z := range b.zoneStates {
		if z.Name != d.zone.Name && !z.available() && !(d.inTheWay && b.servedByOrphans(z)) {
			return Refusal{
				Code: reason.OtherZoneUnavailable, Zone: z.Name, Pod: z.unavailableBecause.Pod,
				Detail: string(z.unavailableBecause.Code), Until: z.unavailableBecause.Until,
			}
		}
	}
	return Refusal{}
}

func notItsTurn(b *groupState, d disruption) Refusal {
	if b.turn != d.zone.Name {
		return Refusal{Code: reason.NotItsTurn, Zone: b.turn}
	}
	return Refusal{}
}

func zoneShrinking(b *groupState, d disruption) Refusal {
	return firstOf(d.zone.surplus, b.shrinkage(d.zone.Zone))
}

// othersBeforeRollout objects while an operation waits that comes before the rollout,
// unless the rollout may overtake it.
func othersBeforeRollout(b *groupState, d disruption) Refusal {
	if b.mayOvertake[d.zone.Name] && budgetSpent(b, d).None() {
		return Refusal{}
	}
	return b.beforeRollout(d.zone)
}

// beforeRollout returns which operation of another zone waits that comes before the rollout
// of a zone. A rollout that has the hold goes on, but for evictions in other zones, which
// take turns with its pods.
func (b *groupState) beforeRollout(z *zoneState) Refusal {
	if b.heldBy(z.Name) {
		return b.waitingBefore(b.since(RolloutOperation, z.Name), z.Name, EvictionOperation)
	}
	return b.waitingBefore(b.since(RolloutOperation, z.Name), z.Name)
}

// heldBy reports whether a rollout or a downscale of that zone has the hold.
func (b *groupState) heldBy(zone string) bool {
	return b.Hold.Holder == RolloutOperation.For(zone) || b.Hold.Holder == DownscaleOperation.For(zone)
}

// budgetSpent objects when the deletion would leave more pods down than the budget
// allows, counting each once. Pods beyond the spec count as well: the spec may be older
// than they are, or raised before they are gone. It names a pod that spends the budget,
// since that is what a person wants to know.
func budgetSpent(b *groupState, d disruption) Refusal {
	down := d.zone.down + d.zone.surplusDown
	after := down
	if !d.pod.alreadyDown {
		after++
	}
	if after <= d.zone.budget {
		return Refusal{}
	}
	r := firstOf(d.zone.culprit, d.zone.surplus, b.leftover(d.zone.Zone))
	count := strconv.Itoa(down) + " of at most " + strconv.Itoa(d.zone.budget) + " down"
	if r.Detail != "" {
		count = r.Detail + ", " + count
	}
	r.Detail = count
	return r
}

func tooManyIntents(b *groupState, d disruption) Refusal {
	if b.intentCount >= MaxIntents && !d.pod.hasIntent {
		return Refusal{Code: reason.TooManyIntents}
	}
	return Refusal{}
}
