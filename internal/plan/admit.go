package plan

import (
	"slices"

	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// DownscaleRequest is a downscale of spec.replicas that somebody asks for.
type DownscaleRequest struct {
	Zone    string
	UID     string  // of the StatefulSet as the request found it
	Version Version // of that one: what is admitted is bound to it
	From    int
	To      int
}

// downscale returns what is asked for.
func (r DownscaleRequest) downscale() Downscale {
	return Downscale{Zone: r.Zone, UID: r.UID, Version: r.Version, From: r.From, To: r.To}
}

// DownscaleAnswer is the answer to a DownscaleRequest.
type DownscaleAnswer struct {
	Because           Refusal   // none: it is allowed
	PredecessorReason string    // the predecessor's words for Because; empty: it has none, or they need no numbers
	Note              Downscale // what the hold must say before the yes; none where nothing has to
	Former            Downscale // what it says again where nobody hears of Note: what is left of the downscale before it
	Ask               []Pod     // who must be prepared between the note and the yes
	Dated             bool      // the hold must say when the zone shrinks before the yes, and nothing else
}

// Allowed reports whether the answer is yes, once what it asks for is done.
func (v DownscaleAnswer) Allowed() bool { return v.Because.None() }

// departure is a downscale with the zone it is about and those who leave by it.
type departure struct {
	DownscaleRequest
	zone     *zoneState
	ask      []Pod // who leaves and has to be prepared
	disrupts bool  // somebody who leaves serves
}

// requestGuards bind a downscale that is asked for; the first objection is the one told.
var requestGuards = []guard[departure]{
	objectMoved,       // what is judged is what will be changed
	downscaleUnderWay, // one downscale at a time is on its way
	cannotPrepare,     // guarantee 7: who leaves can be asked to prepare
}

// decreaseGuards bind it, too, and one that the hold notes already until it is carried out.
var downscaleGuards = []guard[departure]{
	forDownscale(heldElsewhere),                          // guarantee 1: one operation in one zone at a time
	ifSomebodyServes(forDownscale(otherZoneUnavailable)), // guarantee 2: the rest of the group serves
	tooSoon, // guarantee 6: the minimum time between downscales
}

// queueGuards bind one that is asked for, beyond the above.
var queueGuards = []guard[departure]{
	ifSomebodyServes(othersBeforeDownscale), // first come, first served
}

// mayShrink asks the guards about a downscale that is asked for.
func (b *groupState) mayShrink(d departure) Refusal {
	return firstObjection(b, d, requestGuards, downscaleGuards, queueGuards)
}

// ifSomebodyServes binds by a guard only a downscale that takes down somebody who serves.
func ifSomebodyServes(object guard[departure]) guard[departure] {
	return func(b *groupState, d departure) Refusal {
		if !d.disrupts {
			return Refusal{}
		}
		return object(b, d)
	}
}

// forDownscale asks about the zone that shrinks what a rollout is asked about its own.
func forDownscale(object guard[disruption]) guard[departure] {
	return func(b *groupState, d departure) Refusal {
		return object(b, disruption{zone: d.zone})
	}
}

// Admit decides about a downscale of a zone of the group. It shares its rules with Group:
// what one of them begins, the other one respects.
//
// A downscale whose leaving pods are all down or absent waits for no other zone, only for
// the minimum time between downscales. If nobody has to be prepared and the hold cannot be
// had, it needs no hold either, so a repair never waits for what waits for it. Where zones
// ask for time between downscales, the hold still notes when this one was.
func Admit(s Snapshot, r DownscaleRequest) DownscaleAnswer {
	b := newGroupState(s.AsNoted())
	answer := b.admit(r)
	answer.PredecessorReason = b.predecessorReason(r.Zone, answer.Because)
	return answer
}

func (b *groupState) admit(r DownscaleRequest) DownscaleAnswer {
	z, exists := b.zoneState(r.Zone)
	switch {
	case exists && z.UID == r.UID && z.Version >= r.Version:
	case b.Live:
		return DownscaleAnswer{Because: Refusal{Code: reason.ObjectChanged, Zone: r.Zone}}
	default:
		return DownscaleAnswer{Because: Refusal{Code: reason.CacheStale, Zone: r.Zone}}
	}
	d := b.departure(z, r)
	if b.isOwnNotedDownscale(d) {
		return DownscaleAnswer{}
	}
	if because := barred(z); !because.None() {
		return DownscaleAnswer{Because: because} // before anybody is asked to prepare for it
	}
	if because := b.mayShrink(d); !because.None() {
		if !d.disrupts && len(d.ask) == 0 {
			return b.admitWithoutHold(d)
		}
		return DownscaleAnswer{Because: because}
	}
	return DownscaleAnswer{Note: b.note(d), Former: b.former(d.Zone), Ask: d.ask}
}

// StillAdmits is asked once all have been prepared who leave by a downscale that the hold
// notes: that takes time, in which the rest of the group goes on. It returns what speaks
// against the downscale by now, and nothing of what the hold must say.
func StillAdmits(s Snapshot, noted Downscale, asked []Pod) DownscaleAnswer {
	b := newGroupState(s.AsNoted())
	because := b.stillAdmits(noted, asked)
	return DownscaleAnswer{Because: because, PredecessorReason: b.predecessorReason(noted.Zone, because)}
}

func (b *groupState) stillAdmits(noted Downscale, asked []Pod) Refusal {
	z, exists := b.zoneState(noted.Zone)
	if b.DownscaleStatus(noted) == Unseen {
		return Refusal{Code: reason.CacheStale, Zone: noted.Zone}
	}
	if !exists || z.UID != noted.UID {
		return Refusal{Code: reason.ObjectChanged, Zone: noted.Zone}
	}
	d := b.departure(z, DownscaleRequest{Zone: noted.Zone, UID: noted.UID, Version: noted.Version, From: noted.From, To: noted.To})
	for _, pod := range d.ask {
		if !slices.ContainsFunc(asked, func(p Pod) bool { return p.UID == pod.UID }) {
			return Refusal{Code: reason.PreparationFailed, Zone: z.Name, Pod: pod.Name, Detail: "it came up while the others were asked"}
		}
	}
	return firstObjection(b, d, downscaleGuards)
}

// note is how the hold notes a downscale that may happen.
func (b *groupState) note(d departure) Downscale {
	note := d.downscale()
	note.Generation, note.Stage, note.Since = d.zone.Generation, Admitted, b.Now
	if len(d.ask) > 0 {
		note.Stage, note.Call = Preparing, d.zone.Call
	} else if former := b.Hold.Downscale; former.Zone == d.Zone && b.DownscaleStatus(former) == Overtaken {
		note.Call = former.Call // who was asked for the former one leaves by this one, or is told to stay
	}
	return note
}

// former returns what is left of the downscale of a zone that the next one takes the place
// of: its pods are still to leave, or were prepared in vain and are to be told so.
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

// isOwnNotedDownscale reports whether the request is for exactly the downscale that lockstep
// itself has noted and may still carry out: everything that could be asked was. The
// note dates the downscale, so after CarryLimit whoever asks waits until that is
// ended, by whoever leads, and asks for a note of his own.
func (b *groupState) isOwnNotedDownscale(d departure) bool {
	noted := b.Hold.Downscale
	if !noted.Same(d.downscale()) || !noted.Ours || noted.Stage != Admitted || !b.Now.Before(noted.Since.Add(CarryLimit)) {
		return false
	}
	_, because := b.stillDue(noted)
	if because.Code == reason.ReferenceNotRead { // whoever noted it has seen it
		_, because = b.stillAllowed(d.zone, noted)
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

// admitWithoutHold decides about a downscale that needs no hold.
func (b *groupState) admitWithoutHold(d departure) DownscaleAnswer {
	if !b.keepsTime() {
		return DownscaleAnswer{}
	}
	return DownscaleAnswer{Because: firstOf(holdUnreadable(b), objectMoved(b, d), shrinksElsewhere(b, d), tooSoon(b, d)), Dated: true}
}

// holdUnreadable objects where nothing can be added to what the hold says.
func holdUnreadable(b *groupState) Refusal {
	if b.Hold.Unreadable != "" {
		return Refusal{Code: reason.HoldUnreadable}
	}
	return Refusal{}
}

func objectMoved(_ *groupState, d departure) Refusal {
	if d.zone.Version != d.Version {
		return Refusal{Code: reason.ObjectChanged, Zone: d.Zone}
	}
	return Refusal{}
}

// decreaseUnderWay lets a downscale follow one that is in effect, and replace one
// whose update was overtaken if all who were prepared for that one leave now. Both only
// where pods are asked in the same way: a note knows of one.
func downscaleUnderWay(b *groupState, d departure) Refusal {
	noted := b.Hold.Downscale
	if noted.Zone != d.Zone || b.ended {
		return Refusal{}
	}
	course := b.DownscaleStatus(noted)
	asksAlike := len(d.ask) == 0 || !noted.asks() || noted.Call == d.zone.Call
	switch {
	case noted.Stage == Undoing:
		return Refusal{Code: reason.PreparationCancelled}
	case course == InEffect && asksAlike:
		return Refusal{}
	case course == InEffect:
		return Refusal{Code: reason.ZoneShrinking, Detail: noted.String()}
	case course == Overtaken && (noted.Stage == Admitted || noted.Ours) && d.To <= noted.To && asksAlike:
		return Refusal{}
	}
	return Refusal{Code: reason.ZoneShrinking, Detail: noted.String(), Until: b.ahead(b.patience(noted))}
}

func cannotPrepare(_ *groupState, d departure) Refusal {
	if len(d.ask) > 0 && d.zone.Call.Invalid != "" {
		return Refusal{Code: reason.InvalidPrepareCall, Detail: d.zone.Call.Invalid}
	}
	for _, pod := range d.ask {
		if pod.OnHost {
			return Refusal{Code: reason.PodOnHostNetwork, Pod: pod.Name}
		}
	}
	return Refusal{}
}

// othersBeforeDownscale objects while an operation of another zone waits that was
// refused before this one.
func othersBeforeDownscale(b *groupState, d departure) Refusal {
	return b.waitingBefore(b.since(DownscaleOperation, d.Zone), d.Zone)
}
