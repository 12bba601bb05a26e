package group

import (
	"slices"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// DownscaleRequest is a downscale of spec.replicas that a client requests.
type DownscaleRequest struct {
	Zone    string
	UID     string       // of the StatefulSet that the request is based on
	Version plan.Version // of that StatefulSet; the admission is bound to it
	From    int
	To      int
}

// downscale returns the requested downscale.
func (r DownscaleRequest) downscale() Downscale {
	return Downscale{Zone: r.Zone, UID: r.UID, Version: r.Version, From: r.From, To: r.To}
}

// DownscaleAnswer is the answer to a DownscaleRequest.
type DownscaleAnswer struct {
	Because           plan.Refusal // the refusal; none: the downscale is allowed
	PredecessorReason string       // Because in the predecessor's words; empty: it has none, or they need no numbers
	Record            Downscale    // what the hold must record before the admission; zero: nothing
	Former            Downscale    // the rest of the previous downscale, recorded again if no pod receives the call of Record
	Ask               []plan.Pod   // the pods that must be prepared between the record and the admission
	Dated             bool         // the hold must record when the zone scales down, and nothing else, before the admission
}

// Allowed reports whether the downscale is admitted once the records and preparations in the answer
// are done.
func (v DownscaleAnswer) Allowed() bool { return v.Because.None() }

// departure is a downscale with its zone and the pods that it removes.
type departure struct {
	DownscaleRequest
	zone     *zoneState
	ask      []plan.Pod // the removed pods that must be prepared
	disrupts bool       // a removed pod is up
}

// requestGuards apply to a requested downscale. The first objection is reported.
var requestGuards = []guard[departure]{
	objectMoved,       // the object that is judged is the object that will be changed
	downscaleUnderWay, // at most one downscale is under way
	cannotPrepare,     // guarantee 7: the pods to be removed can be called to prepare
}

// downscaleGuards apply to a requested downscale, and to a recorded one until it is carried out.
var downscaleGuards = []guard[departure]{
	forDownscale(heldElsewhere),                      // guarantee 1: one operation in one zone at a time
	ifDisrupting(forDownscale(otherZoneUnavailable)), // guarantee 2: the other zones are available
	tooSoon, // guarantee 6: the minimum time between downscales
}

// queueGuards apply to a requested downscale, after the guards above.
var queueGuards = []guard[departure]{
	ifDisrupting(othersBeforeDownscale), // the operation that was refused first goes first
}

// mayShrink returns the first objection to a requested downscale.
func (b *groupState) mayShrink(d departure) plan.Refusal {
	return firstObjection(b, d, requestGuards, downscaleGuards, queueGuards)
}

// ifDisrupting applies a guard only to a downscale that removes a pod that is up.
func ifDisrupting(object guard[departure]) guard[departure] {
	return func(b *groupState, d departure) plan.Refusal {
		if !d.disrupts {
			return plan.Refusal{}
		}
		return object(b, d)
	}
}

// forDownscale applies a guard of rollouts to the zone of a downscale.
func forDownscale(object guard[disruption]) guard[departure] {
	return func(b *groupState, d departure) plan.Refusal {
		return object(b, disruption{zone: d.zone})
	}
}

// Admit decides about a downscale of a zone of the group. Admit and Plan share their rules, so
// each respects an operation that the other has begun.
//
// If all pods that a downscale removes are down or absent, the downscale waits for no other zone,
// only for the minimum time between downscales. If in addition no pod must be prepared and the hold
// is not available, the downscale needs no hold. So a repair never waits for an operation that
// waits for the repair. The hold still records the time of the downscale.
func Admit(s Snapshot, r DownscaleRequest) DownscaleAnswer {
	b := newGroupState(s.AsRecorded())
	answer := b.admit(r)
	answer.PredecessorReason = b.predecessorReason(r.Zone, answer.Because)
	return answer
}

func (b *groupState) admit(r DownscaleRequest) DownscaleAnswer {
	z, exists := b.zoneState(r.Zone)
	switch {
	case exists && z.UID == r.UID && z.Version >= r.Version:
	case b.Live:
		return DownscaleAnswer{Because: plan.Refusal{Code: reason.ObjectChanged, Zone: r.Zone}}
	default:
		return DownscaleAnswer{Because: plan.Refusal{Code: reason.CacheStale, Zone: r.Zone}}
	}
	d := b.departure(z, r)
	if b.isOwnRecordedDownscale(d) {
		return DownscaleAnswer{}
	}
	if because := barred(z); !because.None() {
		return DownscaleAnswer{Because: because} // before any pod is called to prepare
	}
	if because := b.mayShrink(d); !because.None() {
		if !d.disrupts && len(d.ask) == 0 {
			return b.admitWithoutHold(d)
		}
		return DownscaleAnswer{Because: because}
	}
	return DownscaleAnswer{Record: b.recordOf(d), Former: b.former(d.Zone), Ask: d.ask}
}

// StillAdmits is called once all pods that a recorded downscale removes are prepared. Preparation
// takes time, and the rest of the group continues meanwhile. StillAdmits returns the current
// objection to the downscale. The answer requires no record.
func StillAdmits(s Snapshot, recorded Downscale, called []plan.Pod) DownscaleAnswer {
	b := newGroupState(s.AsRecorded())
	because := b.stillAdmits(recorded, called)
	return DownscaleAnswer{Because: because, PredecessorReason: b.predecessorReason(recorded.Zone, because)}
}

func (b *groupState) stillAdmits(recorded Downscale, called []plan.Pod) plan.Refusal {
	z, exists := b.zoneState(recorded.Zone)
	if b.DownscaleStatus(recorded) == Unseen {
		return plan.Refusal{Code: reason.CacheStale, Zone: recorded.Zone}
	}
	if !exists || z.UID != recorded.UID {
		return plan.Refusal{Code: reason.ObjectChanged, Zone: recorded.Zone}
	}
	d := b.departure(z, DownscaleRequest{Zone: recorded.Zone, UID: recorded.UID, Version: recorded.Version, From: recorded.From, To: recorded.To})
	for _, pod := range d.ask {
		if !slices.ContainsFunc(called, func(p plan.Pod) bool { return p.UID == pod.UID }) {
			return plan.Refusal{Code: reason.PreparationFailed, Zone: z.Name, Pod: pod.Name, Detail: "it came up while the others were called"}
		}
	}
	return firstObjection(b, d, downscaleGuards)
}

// recordOf returns the record of a downscale that may happen.
func (b *groupState) recordOf(d departure) Downscale {
	record := d.downscale()
	record.Generation, record.Stage, record.Since = d.zone.Generation, Admitted, b.Now
	if len(d.ask) > 0 {
		record.Stage, record.Call = Preparing, d.zone.Call
	} else if former := b.Hold.Downscale; former.Zone == d.Zone && b.DownscaleStatus(former) == Overtaken {
		record.Call = former.Call // pods called for the former one leave by this one, or are notified that they stay
	}
	return record
}

// former returns what is left of a zone's downscale that the next one replaces: pods that are still
// to be deleted, or prepared pods that must be notified that they stay.
func (b *groupState) former(zone string) Downscale {
	d := b.Hold.Downscale
	if d.Zone != zone || b.ended {
		return Downscale{}
	}
	switch course := b.DownscaleStatus(d); {
	case course == InEffect:
		return d
	case course == Overtaken && d.asks():
		return b.takenBack(d)
	}
	return Downscale{}
}

// isOwnRecordedDownscale reports whether the request is for exactly the downscale that lockstep itself
// has recorded and may still carry out: all its pods are prepared. The record dates the downscale.
// So after CarryLimit, a request waits until the leading replica has ended that downscale, and then
// needs its own record.
func (b *groupState) isOwnRecordedDownscale(d departure) bool {
	recorded := b.Hold.Downscale
	if !recorded.Same(d.downscale()) || !recorded.Ours || recorded.Stage != Admitted || !b.Now.Before(recorded.Since.Add(CarryLimit)) {
		return false
	}
	_, because := b.stillDue(recorded)
	if because.Code == reason.ReferenceNotRead { // the process that recorded it has read the reference
		_, because = b.stillAllowed(d.zone, recorded)
	}
	return because.None()
}

func (b *groupState) departure(z *zoneState, r DownscaleRequest) departure {
	d := departure{DownscaleRequest: r, zone: z}
	for _, pod := range z.Pods {
		if !r.downscale().Leaves(*z.Zone, pod.Ordinal) {
			continue
		}
		d.disrupts = d.disrupts || pod.Up()
		if z.Prepares && pod.Callable() {
			d.ask = append(d.ask, pod)
		}
	}
	return d
}

// admitWithoutHold decides about a downscale that needs no hold. The hold must record its time even if
// no zone asks for time between downscales: zones may ask for it later.
func (b *groupState) admitWithoutHold(d departure) DownscaleAnswer {
	return DownscaleAnswer{Because: firstOf(holdUnreadable(b), objectMoved(b, d), shrinksElsewhere(b, d), tooSoon(b, d)), Dated: true}
}

// holdUnreadable objects if the hold cannot be read, because then nothing can be added to it.
func holdUnreadable(b *groupState) plan.Refusal {
	if b.Hold.Unreadable != "" {
		return plan.Refusal{Code: reason.HoldUnreadable}
	}
	return plan.Refusal{}
}

func objectMoved(_ *groupState, d departure) plan.Refusal {
	if d.zone.Version != d.Version {
		return plan.Refusal{Code: reason.ObjectChanged, Zone: d.Zone}
	}
	return plan.Refusal{}
}

// downscaleUnderWay lets a downscale follow a downscale that is in effect. It also lets a downscale
// replace an overtaken one, if the new one removes all pods that were prepared for the overtaken
// one. Both require that the pods are called in the same way, because a record has only one Call.
func downscaleUnderWay(b *groupState, d departure) plan.Refusal {
	recorded := b.Hold.Downscale
	if recorded.Zone != d.Zone || b.ended {
		return plan.Refusal{}
	}
	course := b.DownscaleStatus(recorded)
	asksAlike := len(d.ask) == 0 || !recorded.asks() || recorded.Call == d.zone.Call
	switch {
	case recorded.Stage == Undoing:
		return plan.Refusal{Code: reason.PreparationCancelled}
	case course == InEffect && asksAlike:
		return plan.Refusal{}
	case course == InEffect:
		return plan.Refusal{Code: reason.ZoneShrinking, Detail: recorded.String()}
	case course == Overtaken && (recorded.Stage == Admitted || recorded.Ours) && d.To <= recorded.To && asksAlike:
		return plan.Refusal{}
	}
	return plan.Refusal{Code: reason.ZoneShrinking, Detail: recorded.String(), Until: b.ahead(b.stageDeadline(recorded))}
}

func cannotPrepare(_ *groupState, d departure) plan.Refusal {
	if len(d.ask) > 0 && d.zone.Call.Invalid != "" {
		return plan.Refusal{Code: reason.InvalidPrepareCall, Detail: d.zone.Call.Invalid}
	}
	for _, pod := range d.ask {
		if pod.OnHost {
			return plan.Refusal{Code: reason.PodOnHostNetwork, Pod: pod.Name}
		}
	}
	return plan.Refusal{}
}

// othersBeforeDownscale objects while an operation of another zone waits that was refused before
// this downscale.
func othersBeforeDownscale(b *groupState, d departure) plan.Refusal {
	return b.waitingBefore(b.since(plan.DownscaleOperation, d.Zone), d.Zone)
}
