package group

import (
	"slices"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// shrink returns the next action for the recorded downscale or, if none is recorded, for a
// downscale that happened without an admission.
//
//	no record                undoOrphanedPreparation, adoptDownscale, begin
//	record before a restore  endRestored
//	it has ended             end
//	Undoing                  undo: notify the prepared pods that they stay
//	Preparing, lockstep's    prepare: call the pods that it removes
//	Preparing, a webhook's   giveUp, once no process can work on it any more
//	Admitted, lockstep's     carryOut: lower spec.replicas
//	Admitted, a webhook's    recall, if its update does not arrive
func (b *groupState) shrink() []plan.Action {
	switch d := b.Hold.Downscale; {
	case b.Hold.Unreadable != "" || b.Key.Kind == plan.KindBudget || b.Hold.HeldByNewerVersion(b.Now):
		return nil
	case d.None():
		if steps := b.undoOrphanedPreparation(); steps != nil {
			return steps
		}
		if steps := b.adoptDownscale(); steps != nil {
			return steps
		}
		return b.begin()
	case b.behindDownscale(d):
		return b.endRestored(d)
	case b.ended:
		return b.end(d)
	case d.Stage == Undoing:
		return b.undo(d)
	case b.lowering.Zone == d.Zone:
		return b.begin()
	case d.Stage == Preparing && d.Ours && b.DownscaleStatus(d) == Awaited:
		return b.prepare(d)
	case d.Stage == Preparing:
		return b.giveUp(d)
	case d.Stage == Admitted && d.Ours && b.DownscaleStatus(d) == Awaited:
		return b.carryOut(d)
	case d.Stage == Admitted:
		return b.recall(d)
	}
	return nil
}

// begin records the downscale that is due, if any. The same plan disrupts no pod
// (downscaleFirst).
func (b *groupState) begin() []plan.Action {
	if b.lowering.None() {
		return nil
	}
	z, _ := b.zoneState(b.lowering.Zone)
	return []plan.Action{RecordDownscale{Downscale: b.lowering, Former: b.former(z.Name), Because: z.wish.because}}
}

// prepare calls the pods that a recorded downscale of lockstep's own removes, and continues
// once all have agreed.
func (b *groupState) prepare(d Downscale) []plan.Action {
	leaves, because := b.stillDue(d)
	left := b.stageDeadline(d).Sub(b.Now) - (PrepareLimit - AnswerLimit) // it takes time to record the result
	late := left <= 0
	called := b.Called
	if !called.sameAttempt(d) {
		called = PodCall{}
	}
	switch {
	case unknownYet[because.Code] && !late:
		return nil // it is unknown whether the downscale is still wanted
	case (!because.None() || late) && !b.Hold.Own && b.Now.Before(b.stageDeadline(d)):
		return nil // another process may still call pods
	case !because.None() || late:
		return b.takeBack(d)
	case len(leaves.ask) > 0 && !called.includes(d, leaves.ask):
		return []plan.Action{PreparePods{Downscale: d, Pods: leaves.ask, Within: left}}
	case called.Underway:
		return nil
	case called.Failed != "" && called.Delivered:
		return []plan.Action{RecordDownscale{Downscale: d.TakenBack(b.Now), Because: reason.PreparationFailed, Failed: d, Why: called.Failed}}
	case called.Failed != "":
		return b.endUndelivered(d, called.Failed) // no pod received a call
	}
	d.Stage, d.Since, d.Called = Admitted, b.Now, Fingerprint(leaves.ask)
	return []plan.Action{RecordDownscale{Downscale: d, Because: leaves.zone.wish.because}}
}

// carryOut carries out a recorded downscale of lockstep's own, or makes it impossible if it is
// no longer wanted or allowed.
func (b *groupState) carryOut(d Downscale) []plan.Action {
	leaves, because := b.stillDue(d)
	switch late := !b.Now.Before(b.stageDeadline(d)); {
	case !late && unknownYet[because.Code]:
		return nil
	case late || !because.None():
		return []plan.Action{CancelDownscale{Downscale: d}}
	}
	return []plan.Action{SetReplicas{
		Zone: d.Zone, UID: d.UID, Version: d.Version, From: d.From, To: d.To, Because: leaves.zone.wish.because,
	}}
}

// stillDue returns the pods that a recorded downscale of lockstep's own removes if it has not
// happened yet, or the current objection to it. Time may have passed since the record, so every
// condition is checked again.
func (b *groupState) stillDue(d Downscale) (departure, plan.Refusal) {
	z, _ := b.zoneState(d.Zone)
	if b.Hold.Holder != plan.DownscaleOperation.For(d.Zone) {
		return departure{}, plan.Refusal{Code: reason.GroupHeld} // a client has changed the Lease
	}
	switch unseen := z.wish.objection; {
	case z.Replicas != d.From || b.DownscaleStatus(d) != Awaited:
		return departure{}, plan.Refusal{Code: reason.DeletionCancelled}
	case z.wish.none() && unseen.Code == reason.ReferenceNotRead, !z.wishesFor(d) && z.wish.immediate <= d.To && unseen.Code == reason.PodNotAcknowledged:
		return departure{}, unseen
	case !z.wishesFor(d):
		return departure{}, plan.Refusal{Code: reason.DeletionCancelled}
	}
	return b.stillAllowed(z, d)
}

// unknownYet are objections that only mean that this process has just started: it does not know
// yet whether a downscale that another process recorded is still wanted.
var unknownYet = map[reason.Code]bool{reason.ReferenceNotRead: true, reason.PodNotAcknowledged: true}

// stillAllowed is stillDue without the check that the downscale is still wanted.
func (b *groupState) stillAllowed(z *zoneState, d Downscale) (departure, plan.Refusal) {
	leaves := b.departure(z, DownscaleRequest{Zone: d.Zone, UID: d.UID, Version: d.Version, From: d.From, To: d.To})
	if d.Stage == Admitted && d.Called != Fingerprint(leaves.ask) {
		return leaves, plan.Refusal{Code: reason.PodStarting} // a pod became Callable after the call
	}
	return leaves, firstOf(barred(z), firstObjection(b, leaves, downscaleGuards))
}

// giveUp undoes a preparation after its limit, when no process works on it any more.
func (b *groupState) giveUp(d Downscale) []plan.Action {
	if b.DownscaleStatus(d) == InEffect || b.Now.Before(b.stageDeadline(d)) {
		return nil
	}
	return b.takeBack(d)
}

// recall ends an admitted downscale whose update does not arrive. It updates the StatefulSet,
// so that the update cannot arrive any more, and then undoes the preparation.
func (b *groupState) recall(d Downscale) []plan.Action {
	if b.Now.Before(b.stageDeadline(d)) {
		return nil
	}
	switch b.DownscaleStatus(d) {
	case Awaited:
		return []plan.Action{CancelDownscale{Downscale: d}}
	case Overtaken:
		return b.takeBack(d)
	case Unseen, InEffect:
	}
	return nil
}

// takeBack begins to undo a downscale. A downscale of lockstep's own that is no longer wanted
// has not failed, so its record no longer says that it is lockstep's own.
func (b *groupState) takeBack(d Downscale) []plan.Action {
	z, _ := b.zoneState(d.Zone)
	d.Ours = d.Ours && z.wishesFor(d)
	return []plan.Action{RecordDownscale{Downscale: b.takenBack(d), Because: reason.DownscaleCancelled}}
}

// undo notifies pods that were prepared in vain that they stay, and ends the downscale once all
// have answered. If the downscale is in effect after all, nothing can be undone, and undo waits
// for its end.
func (b *groupState) undo(d Downscale) []plan.Action {
	if c := b.DownscaleStatus(d); c == Unseen || c == InEffect {
		return nil
	}
	pods, called := b.prepared(d), b.Called
	switch {
	case len(pods) == 0:
		return nil // a StatefulSet was created again; it is unknown which pods it has adopted
	case !called.includes(d, pods), !called.Underway && called.Failed != "" && !b.Now.Before(called.Again):
		return []plan.Action{CancelPreparation{Downscale: d, Pods: pods}}
	case called.Underway || called.Failed != "":
		return nil
	}
	return b.end(d)
}

// end removes a downscale from the hold, or records what is left of the previous one in its
// place.
func (b *groupState) end(d Downscale) []plan.Action {
	if before, leave := b.before(d); leave {
		return []plan.Action{RecordDownscale{Downscale: before, Because: reason.DownscaleDetected}}
	}
	return []plan.Action{EndDownscale{Downscale: d, Effective: b.DownscaleStatus(d) == InEffect || d.Generation == SeenInEffect, Replaced: b.replaced(d)}}
}

// replaced reports whether another StatefulSet has the name of the downscale's zone by now.
func (b *groupState) replaced(d Downscale) bool {
	z, exists := b.Zone(d.Zone)
	return exists && z.UID != d.UID
}

// endUndelivered is end for a downscale that failed before any pod received a call.
func (b *groupState) endUndelivered(d Downscale, why string) []plan.Action {
	if before, leave := b.before(d); leave {
		return []plan.Action{RecordDownscale{Downscale: before, Because: reason.PreparationFailed, Failed: d, Why: why}}
	}
	return []plan.Action{EndDownscale{Downscale: d, Failed: why, Replaced: b.replaced(d)}}
}

// undoOrphanedPreparation records a downscale again if this process called pods for it that
// stay, and the hold no longer records it. The call may have arrived after another process
// notified the pods that they stay.
func (b *groupState) undoOrphanedPreparation() []plan.Action {
	a := b.Called
	if a.Downscale.Stage != Preparing || a.Underway || !a.Delivered || !b.joinable(a.Downscale.Zone) {
		return nil
	}
	d := a.Downscale.TakenBack(b.Now)
	called := func(pod plan.Pod) bool { return slices.Contains(a.UIDs, pod.UID) }
	if !slices.ContainsFunc(b.prepared(d), called) {
		return nil
	}
	return []plan.Action{RecordDownscale{Downscale: d, Because: reason.DownscaleCancelled}}
}

// adoptDownscale records the downscale of a zone that has pods beyond its spec, if the group is
// free. The downscale happens anyway; its record excludes other operations.
func (b *groupState) adoptDownscale() []plan.Action {
	for _, z := range b.zoneStates {
		if b.adoptable(z) {
			return []plan.Action{RecordDownscale{Because: reason.DownscaleDetected, Downscale: b.seen(z)}}
		}
	}
	return nil
}
