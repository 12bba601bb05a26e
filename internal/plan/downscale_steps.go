package plan

import (
	"slices"

	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// shrink returns what is due for the downscale that the hold notes or, where
// there is none, for one that happened without anybody's yes.
//
//	nothing is noted        undoOrphanedPreparation, adoptDownscale, begin
//	noted before a restore  endRestored
//	it is over              end
//	Undoing                 undo: tell those who were prepared in vain that they stay
//	Preparing, lockstep's   prepare: ask those who leave
//	Preparing, a webhook's  giveUp, once nobody can be at it any more
//	Admitted, lockstep's    carryOut: lower spec.replicas
//	Admitted, a webhook's   recall, where its update does not come
func (b *groupState) shrink() []Action {
	switch d := b.Hold.Downscale; {
	case b.Hold.Unreadable != "" || b.Key.Kind == KindBudget || b.Hold.Respected(b.Now):
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

// begin notes the downscale that is due, if one is. No pod is taken down beside it.
func (b *groupState) begin() []Action {
	if b.lowering.None() {
		return nil
	}
	z, _ := b.zoneState(b.lowering.Zone)
	return []Action{RecordDownscale{Downscale: b.lowering, Former: b.former(z.Name), Because: z.wish.because}}
}

// prepare asks who leaves by a downscale of lockstep's own, once that is noted, and
// goes on when all have agreed.
func (b *groupState) prepare(d Downscale) []Action {
	leaves, because := b.stillDue(d)
	left := b.patience(d).Sub(b.Now) - (PrepareLimit - AnswerLimit) // it takes time to write down what came of it
	late := left <= 0
	asked := b.Asked
	if !asked.sameAttempt(d) {
		asked = Asked{}
	}
	switch {
	case unknownYet[because.Code] && !late:
		return nil // it is not known yet whether it is still wanted
	case (!because.None() || late) && !b.Hold.Own && b.Now.Before(b.patience(d)):
		return nil // another process may still be asking
	case !because.None() || late:
		return b.takeBack(d)
	case len(leaves.ask) > 0 && !asked.includes(d, leaves.ask):
		return []Action{PreparePods{Downscale: d, Pods: leaves.ask, Within: left}}
	case asked.Underway:
		return nil
	case asked.Failed != "" && asked.Heard:
		return []Action{RecordDownscale{Downscale: d.TakenBack(b.Now), Because: reason.PreparationFailed, Failed: d, Why: asked.Failed}}
	case asked.Failed != "":
		return b.endUnheard(d, asked.Failed) // there is nothing to undo
	}
	d.Stage, d.Since, d.Asked = Admitted, b.Now, Fingerprint(leaves.ask)
	return []Action{RecordDownscale{Downscale: d, Because: leaves.zone.wish.because}}
}

// carryOut makes a downscale that the hold notes as lockstep's own, or makes it
// impossible where it is not wanted or allowed any more.
func (b *groupState) carryOut(d Downscale) []Action {
	leaves, because := b.stillDue(d)
	switch late := !b.Now.Before(b.patience(d)); {
	case !late && unknownYet[because.Code]:
		return nil
	case late || !because.None():
		return []Action{CancelDownscale{Downscale: d}}
	}
	return []Action{SetReplicas{
		Zone: d.Zone, UID: d.UID, Version: d.Version, From: d.From, To: d.To, Because: leaves.zone.wish.because,
	}}
}

// stillDue tells who leaves by a downscale of lockstep's own that is noted and
// has not come yet, or what speaks against it now: time may have passed, so
// what was true when it was noted is asked again.
func (b *groupState) stillDue(d Downscale) (departure, Refusal) {
	z, _ := b.zoneState(d.Zone)
	if b.Hold.Holder != DownscaleOperation.For(d.Zone) {
		return departure{}, Refusal{Code: reason.GroupHeld} // somebody has changed the Lease by hand
	}
	switch unseen := z.wish.objection; {
	case z.Replicas != d.From || b.DownscaleStatus(d) != Awaited:
		return departure{}, Refusal{Code: reason.DeletionCancelled}
	case z.wish.none() && unseen.Code == reason.ReferenceNotRead, !z.wishesFor(d) && z.wish.asked <= d.To && unseen.Code == reason.PodNotAcknowledged:
		return departure{}, unseen
	case !z.wishesFor(d):
		return departure{}, Refusal{Code: reason.DeletionCancelled}
	}
	return b.stillAllowed(z, d)
}

// unknownYet are objections that only mean that this process has just begun to work: it
// cannot tell yet whether a downscale that another one noted is still wanted.
var unknownYet = map[reason.Code]bool{reason.ReferenceNotRead: true, reason.PodNotAcknowledged: true}

// stillAllowed is stillDue but for whether the downscale is still wanted.
func (b *groupState) stillAllowed(z *zoneState, d Downscale) (departure, Refusal) {
	leaves := b.departure(z, DownscaleRequest{Zone: d.Zone, UID: d.UID, Version: d.Version, From: d.From, To: d.To})
	if d.Stage == Admitted && d.Asked != Fingerprint(leaves.ask) {
		return leaves, Refusal{Code: reason.PodStarting} // somebody came up who was not asked
	}
	return leaves, firstOf(barred(z), firstObjection(b, leaves, downscaleGuards))
}

// giveUp undoes a preparation whose time is over, so that nobody works on it any more.
func (b *groupState) giveUp(d Downscale) []Action {
	if b.DownscaleStatus(d) == InEffect || b.Now.Before(b.patience(d)) {
		return nil
	}
	return b.takeBack(d)
}

// recall ends an admitted downscale whose update does not come: the StatefulSet
// is touched, so that the update cannot come any more, and then the preparation
// is undone.
func (b *groupState) recall(d Downscale) []Action {
	if b.Now.Before(b.patience(d)) {
		return nil
	}
	switch b.DownscaleStatus(d) {
	case Awaited:
		return []Action{CancelDownscale{Downscale: d}}
	case Overtaken:
		return b.takeBack(d)
	case Unseen, InEffect:
	}
	return nil
}

// takeBack begins to undo a downscale. One of lockstep's own that is not wished
// for any more has not failed: it is nobody's now.
func (b *groupState) takeBack(d Downscale) []Action {
	z, _ := b.zoneState(d.Zone)
	d.Ours = d.Ours && z.wishesFor(d)
	return []Action{RecordDownscale{Downscale: b.takenBack(d), Because: reason.DownscaleCancelled}}
}

// undo tells pods that were prepared in vain that they stay, and ends the downscale
// when all have answered. Where it is in effect after all, there is nothing to take
// back, and its end is waited for.
func (b *groupState) undo(d Downscale) []Action {
	if c := b.DownscaleStatus(d); c == Unseen || c == InEffect {
		return nil
	}
	pods, asked := b.prepared(d), b.Asked
	switch {
	case len(pods) == 0:
		return nil // whom a StatefulSet has adopted that was made anew is not known yet
	case !asked.includes(d, pods), !asked.Underway && asked.Failed != "" && !b.Now.Before(asked.Again):
		return []Action{CancelPreparation{Downscale: d, Pods: pods}}
	case asked.Underway || asked.Failed != "":
		return nil
	}
	return b.end(d)
}

// end takes a downscale off the hold, or puts the one before it in its place.
func (b *groupState) end(d Downscale) []Action {
	if before, leave := b.before(d); leave {
		return []Action{RecordDownscale{Downscale: before, Because: reason.DownscaleDetected}}
	}
	return []Action{EndDownscale{Downscale: d, Effective: b.DownscaleStatus(d) == InEffect || d.Generation == SeenInEffect, Replaced: b.replaced(d)}}
}

// replaced reports whether another StatefulSet has the name of the zone of a downscale by now.
func (b *groupState) replaced(d Downscale) bool {
	z, exists := b.Zone(d.Zone)
	return exists && z.UID != d.UID
}

// endUnheard is end for a downscale that failed before any pod heard of it.
func (b *groupState) endUnheard(d Downscale, why string) []Action {
	if before, leave := b.before(d); leave {
		return []Action{RecordDownscale{Downscale: before, Because: reason.PreparationFailed, Failed: d, Why: why}}
	}
	return []Action{EndDownscale{Downscale: d, Failed: why, Replaced: b.replaced(d)}}
}

// undoOrphanedPreparation notes again a downscale for which this process has asked pods that
// stay, and of which the hold says nothing any more: they may have heard that after
// somebody else told them to stay.
func (b *groupState) undoOrphanedPreparation() []Action {
	a := b.Asked
	if a.Downscale.Stage != Preparing || a.Underway || !a.Heard || !b.joinable(a.Downscale.Zone) {
		return nil
	}
	d := a.Downscale.TakenBack(b.Now)
	asked := func(pod Pod) bool { return slices.Contains(a.UIDs, pod.UID) }
	if !slices.ContainsFunc(b.prepared(d), asked) {
		return nil
	}
	return []Action{RecordDownscale{Downscale: d, Because: reason.DownscaleCancelled}}
}

// adoptDownscale notes the downscale of a zone that has pods beyond its spec,
// if the group is free for it. It happens anyway; noted, it excludes others.
func (b *groupState) adoptDownscale() []Action {
	for _, z := range b.zoneStates {
		if b.adoptable(z) {
			return []Action{RecordDownscale{Because: reason.DownscaleDetected, Downscale: b.seen(z)}}
		}
	}
	return nil
}
