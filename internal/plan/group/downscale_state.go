package group

import (
	"fmt"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// over reports whether a downscale has ended: all its pods are deleted, or it cannot happen and
// nothing is left to undo.
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

// undone reports whether no pod is left that was prepared in vain. A StatefulSet that was
// created again has adopted the pods of the former one once it is observed.
func (b *groupState) undone(d Downscale) bool {
	z, _ := b.zoneState(d.Zone)
	anew := z.UID != d.UID
	return (d.Stage == Undoing || anew) && (z.Observed || !anew) && len(b.prepared(d)) == 0
}

// shrinkage returns why a zone with a recorded downscale is unavailable.
func (b *groupState) shrinkage(zone *Zone) plan.Refusal {
	d := b.Hold.Downscale
	if d.Zone != zone.Name || b.ended {
		return plan.Refusal{}
	}
	if r := b.unanswered(d); !r.None() {
		return r
	}
	r := plan.Refusal{Code: reason.ZoneShrinking, Detail: fmt.Sprintf("%d to %d, %s", d.From, d.To, d.Stage)}
	if b.DownscaleStatus(d) != InEffect {
		r.Until = b.ahead(b.stageDeadline(d))
	}
	return r
}

// unanswered returns which calls have failed, so that a preparation is not undone yet.
func (b *groupState) unanswered(d Downscale) plan.Refusal {
	if d.Stage != Undoing || !b.Called.sameAttempt(d) || b.Called.Failed == "" {
		return plan.Refusal{}
	}
	return plan.Refusal{Code: reason.PodNotNotified, Detail: b.Called.Failed, Until: b.ahead(b.Called.Again)}
}

// prepared returns the pods that may have been called to prepare and will stay.
func (b *groupState) prepared(d Downscale) []plan.Pod {
	z, _ := b.zoneState(d.Zone)
	var pods []plan.Pod
	for _, pod := range z.Pods {
		if b.mayHaveCalled(d, pod) && z.Owns(pod.Ordinal) && d.Leaves(*z.Zone, pod.Ordinal) && pod.Callable() {
			pods = append(pods, pod)
		}
	}
	return pods
}

// lateCalls is how long a pending call may still arrive after the decision that pods stay, with
// a margin.
const lateCalls = time.Minute

// mayHaveCalled reports whether a pod may have been called to prepare. A pod that was created
// long after the decision that pods stay was not called. A creation time in the future proves
// nothing.
func (b *groupState) mayHaveCalled(d Downscale, pod plan.Pod) bool {
	made := pod.Created.Time()
	return d.asks() && (d.Stage != Undoing || made.Before(d.Since.Add(lateCalls)) || made.After(b.Now))
}

// asks reports whether the downscale calls pods to prepare.
func (d Downscale) asks() bool { return d.Call != Call{} }

// before returns the previous downscale of the zone if pods still leave by it. They may have
// been called to prepare as well, in the same way (downscaleUnderWay).
func (b *groupState) before(d Downscale) (Downscale, bool) {
	z, exists := b.zoneState(d.Zone)
	if !exists || !b.adoptable(z) {
		return Downscale{}, false
	}
	seen := b.seen(z)
	if seen.Call = d.Call; !d.asks() && z.Prepares && z.Call.Invalid == "" {
		seen.Call = z.Call // this downscale had no pod to call
	}
	return seen, true
}

// adoptable reports whether pods beyond its spec leave a zone, and the hold can record that.
func (b *groupState) adoptable(z *zoneState) bool {
	return !z.surplus.None() && !z.Deleting && b.joinable(z.Name)
}

// seen returns the record of the observed downscale of a zone to its current replicas.
func (b *groupState) seen(z *zoneState) Downscale {
	return Downscale{
		Zone: z.Name, UID: z.UID, Version: z.Version, Generation: SeenInEffect, From: z.extent(), To: z.Replicas, Stage: Admitted, Since: b.Now,
	}
}

// extent returns the least spec.replicas above the current one that would keep every existing
// pod.
func (z *zoneState) extent() int {
	most := z.Replicas + 1 // a pod below the first ordinal is beyond the spec as well
	for _, pod := range z.Pods {
		most = max(most, pod.Ordinal-z.Start+1)
	}
	return most
}

// joinable reports whether an operation in the zone may have the hold as it is: the hold is
// free, a foreign holder has lapsed, or an operation in the same zone has it. No intent or
// downscale of another zone may count.
func (b *groupState) joinable(zone string) bool {
	h := b.Hold.Holder
	free := h.Free() || b.Hold.Lapsed(b.Now)
	return b.recordedElsewhere(zone).None() && (free || (!h.Foreign() && h.Zone() == zone))
}

// String returns the status in lower case.
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
