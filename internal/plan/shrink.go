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
		for _, due := range []func() []Action{b.inVain, b.adoptDecrease} {
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

// end takes a decrease off the hold. Where pods still leave by the one before it, that is
// noted again by the same write.
func (b *board) end(d Decrease) []Action {
	if z, exists := b.standing(d.Zone); exists && !z.surplus.None() {
		if seen := b.adoptDecrease(); seen != nil {
			return seen
		}
	}
	return []Action{EndDecrease{Decrease: d, Effective: b.Course(d) == InEffect}}
}

// adoptDecrease notes the decrease of a zone that has pods beyond its spec,
// if the group is free for it. It happens anyway; noted, it excludes others.
func (b *board) adoptDecrease() []Action {
	for _, z := range b.standings {
		if z.surplus.None() || z.Deleting || !b.joinable(z.Name) {
			continue
		}
		return []Action{NoteDecrease{Because: reason.DownscaleSeen, Decrease: Decrease{
			Zone: z.Name, UID: z.UID, Version: z.Version, Generation: Seen, From: z.extent(), To: z.Replicas, Stage: Admitted, Since: b.Now,
		}}}
	}
	return nil
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
		if d.asks() && z.Owns(pod.Ordinal) && d.Leaves(*z.Zone, pod.Ordinal) && pod.Callable() {
			pods = append(pods, pod)
		}
	}
	return pods
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
	return []Action{NoteDecrease{Decrease: d.TakenBack(b.Now), Because: reason.DownscaleNeverCame}}
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
		r.Until = b.later(b.patience(d))
	}
	return r
}

// later returns a time that has not come yet, or else the zero time.
func (b *board) later(t time.Time) time.Time {
	if t.After(b.Now) {
		return t
	}
	return time.Time{}
}

// patience returns when a stage that does not end by itself is ended, or the
// zero time. A time that nobody can have written by now ends it at once.
func (s *Snapshot) patience(d Decrease) time.Time {
	limit := map[Stage]time.Duration{Preparing: PrepareLimit, Admitted: UpdateLimit}[d.Stage]
	switch {
	case limit == 0:
		return time.Time{}
	case d.Since.After(s.Now.Add(limit)):
		return s.Now
	}
	return d.Since.Add(limit)
}

func (b *board) standing(name string) (*standing, bool) {
	for _, z := range b.standings {
		if z.Name == name {
			return z, true
		}
	}
	return &standing{Zone: &Zone{}}, false
}

// stampLimit is for how long the time of a downscale is written where it is missing.
const stampLimit = time.Minute

// stamp writes the times of downscales where they can be seen, in whole seconds.
// After a while the hold alone keeps them: what somebody does to the annotation then
// is his business.
func (b *board) stamp() []Action {
	var stamps []Action
	for _, z := range b.standings {
		shrank := b.shrankLately(z.Zone).Truncate(time.Second)
		if !z.Deleting && shrank.After(z.Downscaled.Time) {
			stamps = append(stamps, StampDownscale{Zone: z.Name, UID: z.UID, Version: z.Version, Time: shrank})
		}
	}
	return stamps
}

// shrankLately returns when a zone shrank, by the downscale that is in effect or by
// one that ended before its time was written: whoever changes the StatefulSet at that
// moment keeps it from being written, and the pods may be gone at once.
func (b *board) shrankLately(z *Zone) time.Time {
	if d := b.Hold.Decrease; d.Zone == z.Name {
		if b.Course(d) == InEffect {
			return d.Since
		}
		return time.Time{} // a write would void the note
	}
	at := b.Hold.Downscaled[z.Name]
	if at.After(b.Now) || b.Now.Sub(at) >= stampLimit || tells(z.Downscaled, at) {
		return time.Time{}
	}
	return at
}

// tells whether a time that was stamped is that of a downscale which the hold dates:
// it was noted before it came into effect, in whole seconds.
func tells(stamped Moment, at time.Time) bool {
	return !stamped.Time.Before(at.Add(-CarryLimit - RequestLimit).Truncate(time.Second))
}
