package plan

import (
	"fmt"
	"time"

	"github.com/lockstep-dev/lockstep/internal/reason"
)

// shrink returns what is due for the decrease that the hold notes or, where
// there is none, for one that happened without anybody's yes.
func (b *board) shrink() []Action {
	switch d := b.Hold.Decrease; {
	case b.Hold.Unreadable != "" || b.Key.Covered:
		return nil
	case d.None():
		for _, due := range []func() []Action{b.undoOrphanedPreparation, b.adoptDecrease} {
			if steps := due(); steps != nil {
				return steps
			}
		}
		return b.begin()
	case b.ended:
		return b.end(d)
	case d.Stage == Undoing:
		return b.undo(d)
	case b.lowering.Zone == d.Zone:
		return b.begin()
	case d.Stage == Preparing && d.Ours && b.Course(d) == Awaited:
		return b.prepare(d)
	case d.Stage == Preparing:
		return b.giveUp(d)
	case d.Stage == Admitted && d.Ours && b.Course(d) == Awaited:
		return b.carryOut(d)
	case d.Stage == Admitted:
		return b.recall(d)
	}
	return nil
}

// end takes a decrease off the hold, or puts the one before it in its place.
func (b *board) end(d Decrease) []Action {
	if before, leave := b.before(d); leave {
		return []Action{NoteDecrease{Decrease: before, Because: reason.DownscaleSeen}}
	}
	return []Action{EndDecrease{Decrease: d, Effective: b.Course(d) == InEffect || d.Generation == Seen}}
}

// endUnheard is end for a decrease that failed before any pod heard of it.
func (b *board) endUnheard(d Decrease, why string) []Action {
	if before, leave := b.before(d); leave {
		return []Action{NoteDecrease{Decrease: before, Because: reason.PreparationFailed, Why: why}}
	}
	return []Action{EndDecrease{Decrease: d, Failed: why}}
}

// before returns the decrease of the zone before this one, where pods still leave by
// it: they may have been asked to prepare as well, in the same way (decreaseUnderWay).
func (b *board) before(d Decrease) (Decrease, bool) {
	z, exists := b.standing(d.Zone)
	if !exists || !b.adoptable(z) {
		return Decrease{}, false
	}
	seen := b.seen(z)
	if seen.Call = d.Call; !d.asks() && z.Prepares && z.Call.Invalid == "" {
		seen.Call = z.Call // this one had nobody to ask
	}
	return seen, true
}

// adoptDecrease notes the decrease of a zone that has pods beyond its spec,
// if the group is free for it. It happens anyway; noted, it excludes others.
func (b *board) adoptDecrease() []Action {
	for _, z := range b.standings {
		if b.adoptable(z) {
			return []Action{NoteDecrease{Because: reason.DownscaleSeen, Decrease: b.seen(z)}}
		}
	}
	return nil
}

// adoptable tells whether pods leave a zone beyond its spec and the group is free to
// note that.
func (b *board) adoptable(z *standing) bool {
	return !z.surplus.None() && !z.Deleting && b.joinable(z.Name)
}

// seen is the decrease by which a zone has come to the replicas it asks for.
func (b *board) seen(z *standing) Decrease {
	return Decrease{
		Zone: z.Name, UID: z.UID, Version: z.Version, Generation: Seen, From: z.extent(), To: z.Replicas, Stage: Admitted, Since: b.Now,
	}
}

// joinable tells whether an operation in the zone may have the hold as it is:
// nobody has it, or only somebody from outside who has lapsed, or an operation in the
// same zone.
func (b *board) joinable(zone string) bool {
	h := b.Hold.Holder
	free := h.Free() || b.Hold.Lapsed(b.Now)
	return b.notedElsewhere(zone).None() && (free || (!h.Foreign() && h.Zone() == zone))
}

// extent returns the least spec.replicas above the present one that would ask
// for every pod there is.
func (z *standing) extent() int {
	most := z.Replicas + 1 // a pod below the first ordinal is beyond the spec as well
	for _, pod := range z.Pods {
		most = max(most, pod.Ordinal-z.Start+1)
	}
	return most
}

// over tells whether a decrease has come to its end: nothing is left of it, or
// it cannot happen and there is nothing to undo.
func (b *board) over(d Decrease) bool {
	z, exists := b.standing(d.Zone)
	switch b.Course(d) {
	case InEffect:
		return z.surplus.None() && z.Observed
	case Overtaken:
		return !exists || (d.Stage == Admitted && !d.asks()) || b.undone(d)
	case Awaited:
		return b.undone(d)
	case Unseen:
	}
	return false
}

// undone tells whether nobody is left who was prepared in vain. A StatefulSet that was
// made anew has adopted the pods of the former one once it is observed.
func (b *board) undone(d Decrease) bool {
	z, _ := b.standing(d.Zone)
	anew := z.UID != d.UID
	return (d.Stage == Undoing || anew) && (z.Observed || !anew) && len(b.prepared(d)) == 0
}

// asks tells whether pods that leave are asked to prepare.
func (d Decrease) asks() bool { return d.Call != Call{} }

// prepared returns the pods that may have been asked to prepare and will stay.
func (b *board) prepared(d Decrease) []Pod {
	z, _ := b.standing(d.Zone)
	var pods []Pod
	for _, pod := range z.Pods {
		if b.mayHaveAsked(d, pod) && z.Owns(pod.Ordinal) && d.Leaves(*z.Zone, pod.Ordinal) && pod.Callable() {
			pods = append(pods, pod)
		}
	}
	return pods
}

// lateCalls is for how long a call may still arrive that was on its way when it was
// decided that pods stay, and some.
const lateCalls = time.Minute

// mayHaveAsked tells whether a pod may have been asked to prepare. One that was made long
// after all were to be told that they stay was not, unless its date is not to be believed.
func (b *board) mayHaveAsked(d Decrease, pod Pod) bool {
	made := pod.Created.Time()
	return d.asks() && (d.Stage != Undoing || made.Before(d.Since.Add(lateCalls)) || made.After(b.Now))
}

// giveUp undoes a preparation that nobody can be at any more.
func (b *board) giveUp(d Decrease) []Action {
	if b.Course(d) == InEffect || b.Now.Before(b.patience(d)) {
		return nil
	}
	return b.takeBack(d)
}

// recall ends an admitted decrease whose update does not come: the StatefulSet
// is touched, so that the update cannot come any more, and then the preparation
// is undone.
func (b *board) recall(d Decrease) []Action {
	if b.Now.Before(b.patience(d)) {
		return nil
	}
	switch b.Course(d) {
	case Awaited:
		return []Action{VoidDecrease{Decrease: d}}
	case Overtaken:
		return b.takeBack(d)
	case Unseen, InEffect:
	}
	return nil
}

// takeBack begins to undo a decrease. One of lockstep's own that is not wished
// for any more has not failed: it is nobody's now.
func (b *board) takeBack(d Decrease) []Action {
	z, _ := b.standing(d.Zone)
	d.Ours = d.Ours && z.wishesFor(d)
	return []Action{NoteDecrease{Decrease: b.takenBack(d), Because: reason.DownscaleNeverCame}}
}

// shrinkage says why a zone in which a decrease is noted is not whole.
func (b *board) shrinkage(zone *Zone) Refusal {
	d := b.Hold.Decrease
	if d.Zone != zone.Name || b.ended {
		return Refusal{}
	}
	if r := b.unanswered(d); !r.None() {
		return r
	}
	r := Refusal{Code: reason.ZoneShrinking, Detail: fmt.Sprintf("%d to %d, %s", d.From, d.To, d.Stage)}
	if b.Course(d) != InEffect {
		r.Until = b.ahead(b.patience(d))
	}
	return r
}
