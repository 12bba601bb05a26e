package group

import (
	"slices"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// Plan returns the next actions for a rollout group. The plan is empty exactly when the goal
// is reached: every zone is available, runs its update revision as its current one, and has the
// replicas that it should have; the pods and resources to notify have been notified; and no
// operation of lockstep has the hold.
//
// Order: cancelled deletions, deletions, the next step of a downscale, raises; then the actions
// for finished zones, resources, the hold, delayed pods, intents that only a live read ends,
// the zones that the hold remembers, and the queue; then the waits. internal/act carries the
// actions out in the order of their Effects.
func Plan(s Snapshot) []plan.Action {
	b := newGroupState(s)
	var actions, after, waits []plan.Action
	var turn plan.Refusal // the objection in the zone that has the turn

	for _, z := range b.zoneStates {
		replacements, objection := b.replace(z)
		actions = append(actions, replacements...)
		if wait := b.waitsFor(z, replacements, objection); !wait.Because.None() {
			waits = append(waits, wait)
		}
		if z.Name == b.turn {
			turn = objection
		}
	}

	actions = append(b.cancelDeletions(actions), actions...)
	actions = append(actions, b.shrink()...)
	raises := b.scaleUps(actions)
	actions = append(dropWritesToRaised(actions, raises), raises...)

	for _, z := range b.zoneStates {
		after = append(after, b.adopt(z)...)
	}
	after = b.dropWritesThatCancel(append(after, b.stamp()...), actions)
	after = append(after, b.reports()...)
	after = append(dropWritesToRaised(after, raises), b.release(actions)...)
	after = append(after, b.notify()...)
	after = append(after, b.endIntents()...)
	after = append(after, b.recordMembers()...)
	after = append(after, b.enqueueWaiting(turn)...)

	if len(waits) == 0 {
		waits = b.waitForHold()
	}
	waits = append(waits, b.waitForLeft()...)
	return slices.Concat(actions, after, waits)
}

// replace judges every outdated pod of a zone. It returns the deletions to which no guard
// objects, and the first objection.
func (b *groupState) replace(z *zoneState) ([]plan.Action, plan.Refusal) {
	var deletes []plan.Action
	var first plan.Refusal
	for i := range z.candidates {
		c := &z.candidates[i]
		if r := b.mayReplace(disruption{zone: z, pod: c}); !r.None() {
			first = firstOf(first, r)
			continue
		}
		deletes = append(deletes, b.deletion(z, c))
		if !c.alreadyDown {
			z = z.without(c)
		}
		if !c.hasIntent {
			b.intentCount++
		}
	}
	return deletes, first
}

// without returns the zone as it will be once the pod of c, which is not down yet, is deleted.
func (z zoneState) without(c *candidate) *zoneState {
	z.down++
	z.blame(plan.Refusal{Code: reason.PodDisruptionPending, Pod: c.Name})
	return &z
}

func (b *groupState) deletion(z *zoneState, c *candidate) plan.DeletePod {
	because, overtakes := reason.OutdatedRevision, c.overtook
	if !c.Up() {
		because = reason.OutdatedAndUnavailable
	} else if !b.beforeRollout(z).None() {
		overtakes = true
	}
	return plan.DeletePod{
		Zone: z.Name, Pod: c.Name, UID: c.UID, Version: c.Version, Because: because,
		Up: c.Up(), AlreadyRecorded: c.intentPending, UnknownRevision: c.Revision != z.CurrentRevision, Overtakes: overtakes,
	}
}

// cancelDeletions cancels recorded deletions that could still be carried out and are no longer
// planned.
func (b *groupState) cancelDeletions(actions []plan.Action) []plan.Action {
	wanted := map[string]bool{}
	for _, d := range plan.Only[plan.DeletePod](actions) {
		if d.AlreadyRecorded {
			wanted[d.Pod] = true
		}
	}
	if b.Hold.HeldByNewerVersion(b.Now) {
		return nil
	}
	var cancelled []plan.Action
	for _, intent := range b.Hold.Intents {
		if b.IntentStatus(intent) == plan.Pending && !wanted[intent.Pod] {
			cancelled = append(cancelled, plan.CancelDeletion{Intent: intent, Because: b.objectionTo(intent)})
		}
	}
	return cancelled
}

// objectionTo returns the current objection to a pending intent.
func (b *groupState) objectionTo(intent plan.Intent) plan.Refusal {
	for _, z := range b.zoneStates {
		for i := range z.candidates {
			if c := &z.candidates[i]; c.Name == intent.Pod {
				return b.mayReplace(disruption{zone: z, pod: c})
			}
		}
	}
	return plan.Refusal{Code: reason.DeletionCancelled}
}

// adopt makes the update revision the current one if every pod of the zone runs it and is
// available. The status must say so as well: lockstep does not write to a status that its
// controller is about to write.
func (b *groupState) adopt(z *zoneState) []plan.Action {
	if !z.revisionPending() || !b.againstAdoption(z).None() || !b.Key.Rolled() {
		return nil
	}
	return []plan.Action{AdoptRevision{Zone: z.Name, UID: z.UID, Version: z.Version, Revision: z.UpdateRevision}}
}

// revisionPending reports whether a zone is finished except for its current revision.
func (z *zoneState) revisionPending() bool {
	return z.available() && len(z.candidates) == 0 && z.UpdateRevision != "" && z.CurrentRevision != z.UpdateRevision
}

func (b *groupState) againstAdoption(z *zoneState) plan.Refusal {
	return firstOf(wrongUpdateStrategy(b, disruption{zone: z}), paused(b, disruption{zone: z}), statusLags(z.Zone))
}

func statusLags(z *Zone) plan.Refusal {
	if z.Counting {
		return plan.Refusal{Code: reason.StatusBehind}
	}
	return plan.Refusal{}
}

// release gives the hold back once no intent and no downscale counts, the zone of the holder is
// available, and the operation is finished. A rollout also gives it back if it cannot continue,
// or if it yields to evictions. The pods that this plan deletes are among the intents that
// count.
func (b *groupState) release(actions []plan.Action) []plan.Action {
	holder := b.Hold.Holder
	if holder.Free() || holder.Foreign() || b.Hold.Unreadable != "" || b.intentCount > 0 {
		return nil
	}
	if (!b.Hold.Downscale.None() && !b.ended) || plan.Has[RecordDownscale](actions) {
		return nil
	}
	for _, z := range b.zoneStates {
		if z.Name == holder.Zone() && (!z.available() || (holder.Operation() == plan.RolloutOperation && b.goesOn(z) && !b.yields(z))) {
			return nil
		}
	}
	return []plan.Action{plan.Release{Holder: holder}}
}

// yields reports whether a rollout lets evictions in another zone have their turn.
func (b *groupState) yields(z *zoneState) bool {
	return !b.waitingBefore(b.since(plan.RolloutOperation, z.Name), z.Name, plan.EvictionOperation).None()
}

// goesOn reports whether outdated pods are left, and only other zones and budgets can prevent
// their replacement.
func (b *groupState) goesOn(z *zoneState) bool {
	return len(z.candidates) > 0 && b.canRoll(z.Zone) && wrongUpdateStrategy(b, disruption{}).None()
}

// waitsFor returns what an unfinished zone waits for, if anything.
func (b *groupState) waitsFor(z *zoneState, replacements []plan.Action, objection plan.Refusal) plan.Wait {
	because := firstOf(objection, z.unavailableBecause)
	if because.None() && z.revisionPending() && b.Key.Rolled() {
		because = b.againstAdoption(z)
	}
	pods := because.Until
	because = z.mostUrgent(because)
	if z.reports() {
		because = firstOf(because, b.contested(z.Mirror))
	}
	because = firstOf(because, b.unreleased(z.Zone))
	idle := !b.Key.Rolled() && b.Hold.Holder.Free() // StatefulSets without a group wait only during an operation
	if len(replacements) > 0 || because.None() || idle {
		return plan.Wait{}
	}
	again := earlier(earlier(earlier(pods, z.scaleObjection.Until), z.stableAt), earlier(b.keepsPlace(z.Name), b.restoredDue(z.Name)))
	return plan.Wait{Zone: z.Name, Because: because, Again: again}
}

// mostUrgent returns which of two objections is reported: the one to the replacement of pods, or
// the one to a change of replicas. The latter is reported if it needs a person and the former
// does not end by itself.
func (z *zoneState) mostUrgent(because plan.Refusal) plan.Refusal {
	if needsPerson(z.scaleObjection) && (because.None() || needsPerson(because)) {
		return z.scaleObjection
	}
	return firstOf(because, z.scaleObjection)
}

func needsPerson(r plan.Refusal) bool {
	entry, _ := reason.Explain(r.Code)
	return entry.Kind == reason.Attention
}

// waitForLeft returns the waits for zones that left the group and are not settled.
func (b *groupState) waitForLeft() []plan.Action {
	var waits []plan.Action
	for _, z := range b.unsettled() {
		if !z.Uncovered { // waitForHold has the waits for the records of an uncovered zone
			waits = append(waits, plan.Wait{Zone: z.Name, Because: b.leftGroup(z)})
		}
	}
	return waits
}

// waitForHold returns the waits outside the zones of the group: for a hold that cannot be read,
// and for records of zones that left the group.
func (b *groupState) waitForHold() []plan.Action {
	if b.Hold.Unreadable != "" && len(b.Zones) > 0 {
		return []plan.Action{plan.Wait{Zone: b.Zones[0].Name, Because: plan.Refusal{Code: reason.HoldUnreadable}}}
	}
	var waits []plan.Action
	d := b.Hold.Downscale
	if _, exists := b.Zone(d.Zone); !d.None() && !exists {
		waits = append(waits, plan.Wait{Zone: d.Zone, Because: plan.Refusal{Code: reason.ZoneShrinking}})
	}
	for _, intent := range b.Hold.Intents {
		_, counts := b.activeIntents[intent.Pod]
		if _, exists := b.Zone(intent.Zone); counts && !exists {
			waits = append(waits, plan.Wait{Zone: intent.Zone, Because: plan.Refusal{Code: reason.PodDisruptionPending, Pod: intent.Pod}})
		}
	}
	return waits
}
