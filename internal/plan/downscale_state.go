package plan

import (
	"fmt"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// over reports whether a downscale has come to its end: nothing is left of it, or
// it cannot happen and there is nothing to undo.
func (b *groupState) over(d Downscale) bool {
	z, exists := b.zoneState(d.Zone)
	switch b.DownscaleStatus(d) {
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

// undone reports whether nobody is left who was prepared in vain. A StatefulSet that was
// made anew has adopted the pods of the former one once it is observed.
func (b *groupState) undone(d Downscale) bool {
	z, _ := b.zoneState(d.Zone)
	anew := z.UID != d.UID
	return (d.Stage == Undoing || anew) && (z.Observed || !anew) && len(b.prepared(d)) == 0
}

// shrinkage says why a zone in which a downscale is noted is not whole.
func (b *groupState) shrinkage(zone *Zone) Refusal {
	d := b.Hold.Downscale
	if d.Zone != zone.Name || b.ended {
		return Refusal{}
	}
	if r := b.unanswered(d); !r.None() {
		return r
	}
	r := Refusal{Code: reason.ZoneShrinking, Detail: fmt.Sprintf("%d to %d, %s", d.From, d.To, d.Stage)}
	if b.DownscaleStatus(d) != InEffect {
		r.Until = b.ahead(b.patience(d))
	}
	return r
}

// unanswered says which pods keep a preparation from being undone.
func (b *groupState) unanswered(d Downscale) Refusal {
	if d.Stage != Undoing || !b.Asked.sameAttempt(d) || b.Asked.Failed == "" {
		return Refusal{}
	}
	return Refusal{Code: reason.PodNotNotified, Detail: b.Asked.Failed, Until: b.ahead(b.Asked.Again)}
}

// prepared returns the pods that may have been asked to prepare and will stay.
func (b *groupState) prepared(d Downscale) []Pod {
	z, _ := b.zoneState(d.Zone)
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

// mayHaveAsked reports whether a pod may have been asked to prepare. One that was made long
// after all were to be told that they stay was not, unless its date is not to be believed.
func (b *groupState) mayHaveAsked(d Downscale, pod Pod) bool {
	made := pod.Created.Time()
	return d.asks() && (d.Stage != Undoing || made.Before(d.Since.Add(lateCalls)) || made.After(b.Now))
}

// asks reports whether pods that leave are asked to prepare.
func (d Downscale) asks() bool { return d.Call != Call{} }

// before returns the downscale of the zone before this one, where pods still leave by
// it: they may have been asked to prepare as well, in the same way (decreaseUnderWay).
func (b *groupState) before(d Downscale) (Downscale, bool) {
	z, exists := b.zoneState(d.Zone)
	if !exists || !b.adoptable(z) {
		return Downscale{}, false
	}
	seen := b.seen(z)
	if seen.Call = d.Call; !d.asks() && z.Prepares && z.Call.Invalid == "" {
		seen.Call = z.Call // this one had nobody to ask
	}
	return seen, true
}

// adoptable reports whether pods leave a zone beyond its spec and the group is free to
// note that.
func (b *groupState) adoptable(z *zoneState) bool {
	return !z.surplus.None() && !z.Deleting && b.joinable(z.Name)
}

// seen is the downscale by which a zone has come to the replicas it asks for.
func (b *groupState) seen(z *zoneState) Downscale {
	return Downscale{
		Zone: z.Name, UID: z.UID, Version: z.Version, Generation: SeenInEffect, From: z.extent(), To: z.Replicas, Stage: Admitted, Since: b.Now,
	}
}

// extent returns the least spec.replicas above the present one that would ask
// for every pod there is.
func (z *zoneState) extent() int {
	most := z.Replicas + 1 // a pod below the first ordinal is beyond the spec as well
	for _, pod := range z.Pods {
		most = max(most, pod.Ordinal-z.Start+1)
	}
	return most
}

// joinable reports whether an operation in the zone may have the hold as it is:
// nobody has it, or only somebody from outside who has lapsed, or an operation in the
// same zone.
func (b *groupState) joinable(zone string) bool {
	h := b.Hold.Holder
	free := h.Free() || b.Hold.Lapsed(b.Now)
	return b.notedElsewhere(zone).None() && (free || (!h.Foreign() && h.Zone() == zone))
}

// String returns the course in lower case.
func (c DownscaleStatus) String() string {
	switch c {
	case Unseen:
		return "unseen"
	case Awaited:
		return "awaited"
	case InEffect:
		return "in effect"
	case Overtaken:
		return "overtaken"
	}
	return fmt.Sprintf("DownscaleStatus(%d)", int(c))
}
