// Package hold has the rules of a group's lock as functions of values: what the
// Lease must say before a plan may be carried out, and in which form.
//
//	free ──take (after a live look)──► rollout/zone-a ──release──► free
//	                                      │      ▲
//	                                      └──────┘ note, settle, renew
//
// Exclusion never rests on a date: an expired hold is taken over under the
// same conditions as one that has not expired. Floor 2: no I/O, no clock, no
// client; internal/lease stores what is decided here.
package hold

import (
	"time"

	"github.com/lockstep-dev/lockstep/internal/history"
	"github.com/lockstep-dev/lockstep/internal/plan"
)

const (
	// Duration is how long a hold counts as fresh after its last renewal.
	Duration = 60 * time.Second
	// RenewEvery is how often whoever works on a hold renews it.
	RenewEvery = 20 * time.Second
	// Margin is how long before a hold could expire its writers stop. It is
	// longer than RequestTimeout.
	Margin = 15 * time.Second
	// RequestTimeout bounds every single request made under a hold.
	RequestTimeout = 10 * time.Second
)

// Verdict says what has to happen to the Lease before a plan's steps.
type Verdict int

const (
	// Carry: carry the steps out; the Lease needs no write.
	Carry Verdict = iota
	// Look: read the group live, under the record that is known or under one that is
	// read as well, and plan again before anything is done.
	Look
	// Write: write Record by compare-and-swap, then carry the steps out.
	Write
	// Remove: the group is gone; delete the Lease.
	Remove
)

// Decision is a verdict with what is to be written.
type Decision struct {
	Verdict Verdict
	Record  plan.Hold // for Write
}

// Cover decides how a plan's steps are covered by the group's hold. Takedowns
// are always covered. The repair of a pod that is down is covered where it can
// be, and needs no cover in a zone that does not have the hold: its delete
// requires the very version that was seen to be down.
func Cover(s plan.Snapshot, steps []plan.Action) Decision {
	return withPlaces(&s, steps, withAgreed(&s, steps, cover(&s, steps)))
}

func cover(s *plan.Snapshot, steps []plan.Action) Decision {
	deeds := deletions(steps)
	decrease, changes := nextDecrease(s.Hold, steps)
	switch {
	case (changes || endsGrants(steps)) && !s.Live:
		return Decision{Verdict: Look}
	case (inheritsDecrease(s.Hold, steps) || asksPods(steps)) && !s.Live:
		return Decision{Verdict: Look}
	case len(deeds) > 0:
		covered := coverDeeds(s, deeds, decrease)
		if covered.Verdict == Carry && endsGrants(steps) && s.Hold.Unreadable == "" {
			return Decision{Verdict: Write, Record: kept(s, decrease)}
		}
		return covered
	case s.Hold.Unreadable != "":
		return Decision{} // what cannot be read is never written over
	case releases(steps):
		return Decision{Verdict: Write, Record: settle(s, "", nil, decrease)}
	case changes || endsGrants(steps):
		return Decision{Verdict: Write, Record: kept(s, decrease)}
	case len(s.Zones) == 0 && s.Hold.Exists && idle(s):
		return Decision{Verdict: Remove}
	case renewalDue(s):
		return Decision{Verdict: Write, Record: settle(s, s.Hold.Holder, nil, decrease)}
	}
	return Decision{}
}

// kept returns the record of whoever has the hold as it must read next. Others' time is
// not ours to prolong.
func kept(s *plan.Snapshot, decrease plan.Decrease) plan.Hold {
	record := settle(s, holderAfter(s.Hold, decrease), nil, decrease)
	if record.Holder.Foreign() {
		record.Renewed, record.Duration = s.Hold.Renewed, s.Hold.Duration
	}
	return record
}

// nextDecrease returns the decrease that the hold notes after these steps, and
// whether they change that. Nobody decides on a decrease by caches alone.
func nextDecrease(h plan.Hold, steps []plan.Action) (plan.Decrease, bool) {
	for _, step := range steps {
		if a, notes := step.(plan.NoteDecrease); notes {
			return a.Decrease, true
		}
		if _, ends := step.(plan.EndDecrease); ends {
			return plan.Decrease{}, true
		}
	}
	return h.Decrease, false
}

// asksPods tells whether pods are asked to prepare, or to undo that: nothing is
// written before it that would say whether the hold is still as it is known.
func asksPods(steps []plan.Action) bool {
	for _, step := range steps {
		switch step.(type) {
		case plan.PreparePods, plan.UndoPreparation:
			return true
		case plan.DeletePod, plan.Withdraw, plan.AdoptRevision, plan.NoteDecrease, plan.VoidDecrease, plan.EndDecrease, plan.StampDownscale,
			plan.SetReplicas, plan.ReportReplicas, plan.TellPods, plan.NoteAgreed, plan.EndGrant, plan.TakePlace, plan.Release, plan.Wait:
		}
	}
	return false
}

// inheritsDecrease tells whether a decrease is carried out that another process
// noted: what it saw is not known here.
func inheritsDecrease(h plan.Hold, steps []plan.Action) bool { return !h.Own && plan.Lowers(steps) }

// holderAfter names the holder once a decrease is noted or has ended. The end
// alone does not give the hold back: that is a step of its own.
func holderAfter(h plan.Hold, noted plan.Decrease) plan.Holder {
	if noted.None() {
		return h.Holder
	}
	return plan.Downscale.For(noted.Zone)
}

// UndoAnew returns the record under which a decrease is undone that somebody else
// has given up meanwhile: pods may have been asked after he told them to stay.
// The second result is false where somebody else has the hold by now; what he
// begins in that zone asks the same pods.
func UndoAnew(record plan.Hold, d plan.Decrease, now time.Time) (plan.Hold, bool) {
	holder := plan.Downscale.For(d.Zone)
	free := record.Holder.Free() || record.Lapsed(now) || record.Holder == holder
	if !record.Decrease.None() || !free || record.Unreadable != "" {
		return record, false
	}
	if record.Holder != holder {
		record.Transitions++
	}
	record.Exists, record.Holder = true, holder
	record.Decrease = d.TakenBack(now)
	record.Renewed, record.Duration = now, Duration
	return record, true
}

// Admit returns the record under which an admitted decrease of a zone is noted, or only
// dated by when it can come at the latest.
func Admit(s plan.Snapshot, v plan.Verdict, zone string) plan.Hold {
	if !v.Dated {
		return settle(&s, plan.Downscale.For(zone), nil, v.Note)
	}
	next := s.Hold
	next.Downscaled = lasting(&s)
	next.Downscaled[zone] = s.Now.Add(plan.RequestLimit)
	return next
}

// Deadline returns until when requests may be sent under a record.
func Deadline(record plan.Hold) time.Time {
	return record.Renewed.Add(record.Duration - Margin)
}

// RenewAt returns when the hold has to be renewed next, or the zero time when
// it is none of lockstep's operations, or may not be written over.
func RenewAt(h plan.Hold) time.Time {
	if h.Holder.Free() || h.Holder.Foreign() || h.Unreadable != "" {
		return time.Time{}
	}
	return h.Renewed.Add(RenewEvery)
}

// LapsesAt returns when somebody from outside holds no more, or the zero time when
// nobody from outside does.
func LapsesAt(h plan.Hold, now time.Time) time.Time {
	if h.Lapsed(now) {
		return time.Time{}
	}
	return untilOf(h)
}

func coverDeeds(s *plan.Snapshot, deeds []plan.DeletePod, decrease plan.Decrease) Decision {
	holder := holderFor(s.Hold, deeds)
	if !decrease.None() {
		holder = plan.Downscale.For(decrease.Zone)
	}
	if !s.Live && needsLook(s.Hold, holder, deeds) {
		return Decision{Verdict: Look}
	}
	covered := inZone(deeds, holder.Zone())
	nothing := len(covered) == 0 && decrease == s.Hold.Decrease
	if nothing || holder.Foreign() || s.Hold.Unreadable != "" {
		return Decision{}
	}
	return Decision{Verdict: Write, Record: settle(s, holder, covered, decrease)}
}

// holderFor names the holder under which the deeds are done. A takedown is
// always the rollout's. A repair alone joins whatever holds its zone, takes a
// free hold, and leaves every other hold as it is.
func holderFor(h plan.Hold, deeds []plan.DeletePod) plan.Holder {
	for _, d := range deeds {
		if d.Up {
			return plan.Rollout.For(d.Zone)
		}
	}
	if h.Holder.Free() && h.Unreadable == "" {
		return plan.Rollout.For(deeds[0].Zone)
	}
	return h.Holder
}

// needsLook tells whether the caches do not suffice: a hold is taken, the
// record was inherited from another process, or a pod may look outdated only
// because the cached StatefulSet is older than the pod (ADR 0006).
func needsLook(h plan.Hold, holder plan.Holder, deeds []plan.DeletePod) bool {
	if h.Holder != holder || !h.Own {
		return true
	}
	for _, d := range deeds {
		if !d.Up || d.Odd {
			return true
		}
	}
	return false
}

// settle returns the record as it must read next: intents that have ended are
// left out, new ones are added, the time of a decrease that ended is kept, and
// the time is renewed.
func settle(s *plan.Snapshot, holder plan.Holder, deeds []plan.DeletePod, decrease plan.Decrease) plan.Hold {
	next := s.Hold // with the UID and version that the write requires
	next.Exists = true
	next.Own = s.Hold.Own || s.Live
	next.Renewed, next.Duration = s.Now, Duration
	if holder != s.Hold.Holder && !holder.Free() {
		next.Transitions++
	}
	next.Holder = holder
	next.Intents = intents(s, deeds)
	next.Decrease = decrease
	next.Downscaled = downscaled(s, decrease)
	next.GivenUp = givenUp(s, decrease)
	next.Waiting = waiting(s, holder)
	next.Rollouts = history.Next(*s, next)
	return next
}

// downscaled returns when each zone of the group shrank last. A decrease that
// is replaced or ends counts if it came into effect, or may have.
func downscaled(s *plan.Snapshot, next plan.Decrease) map[string]time.Time {
	times := lasting(s)
	former := s.Hold.Decrease
	replaced := next.Version != former.Version || next.Zone != former.Zone
	if !former.None() && replaced && s.Shrank(former) {
		if by := former.EffectiveBy(s.Now); by.After(times[former.Zone]) { // one beside it may have come after it
			times[former.Zone] = by
		}
	}
	if len(times) == 0 {
		return nil
	}
	return times
}

// givenUp returns when decreases of lockstep's own were given up that are not to
// be tried again yet. One that was merely overtaken did not fail.
func givenUp(s *plan.Snapshot, next plan.Decrease) map[string]time.Time {
	times := map[string]time.Time{}
	for zone, at := range s.Hold.GivenUp {
		if plan.StillGivenUp(at, s.Now) {
			times[zone] = at
		}
	}
	if d := s.Hold.Decrease; d.Ours && next.None() && d.Failed(*s) {
		times[d.Zone] = s.Now
	}
	if len(times) == 0 {
		return nil
	}
	return times
}

// waiting returns who still waits: neither who has the hold now nor who has not
// asked for too long.
func waiting(s *plan.Snapshot, holder plan.Holder) []plan.Waiting {
	var next []plan.Waiting
	for _, w := range s.Hold.Waiting {
		if w.Operation.For(w.Zone) != holder && w.Counts(s.Now) {
			next = append(next, w)
		}
	}
	return next
}

// intents returns those that still count and the new ones, takedowns before
// repairs. A repair is left out where the hold can carry no more, and where the
// eviction of the very pod was granted, which somebody may still carry out: it needs
// none.
func intents(s *plan.Snapshot, deeds []plan.DeletePod) []plan.Intent {
	deed := map[string]plan.DeletePod{}
	for _, d := range deeds {
		deed[d.Pod] = d
	}
	var next []plan.Intent
	granted := map[string]bool{}
	for _, i := range s.Hold.Intents {
		d, anew := deed[i.Pod]
		stays := i.Granted() && !i.Succeeded(d.UID, d.Version)
		if s.Fate(i).Counts() && (!anew || d.Noted || stays) {
			next = append(next, i)
			granted[i.Pod] = stays
		}
	}
	for _, takedowns := range []bool{true, false} {
		for _, d := range deeds {
			full := !d.Up && len(next) >= plan.MaxIntents
			if d.Up == takedowns && !d.Noted && !full && !granted[d.Pod] {
				next = append(next, intent(d, s.Now))
			}
		}
	}
	return next
}

func intent(d plan.DeletePod, now time.Time) plan.Intent {
	return plan.Intent{Zone: d.Zone, Pod: d.Pod, UID: d.UID, Version: d.Version, Cause: d.Because, Since: now}
}

func renewalDue(s *plan.Snapshot) bool {
	at := RenewAt(s.Hold)
	return !at.IsZero() && !s.Now.Before(at)
}

// idle tells whether nobody holds, or somebody from outside who has lapsed, and nothing
// that the hold notes counts any more.
func idle(s *plan.Snapshot) bool {
	free := s.Hold.Holder.Free() || s.Hold.Lapsed(s.Now)
	return free && s.Hold.Decrease.None() && len(intents(s, nil)) == 0
}

// Unfinished tells whether a record notes what lockstep alone ends: an operation of its
// own, a decrease, pods that are about to be taken down.
func Unfinished(h plan.Hold) bool {
	ours := !h.Holder.Free() && !h.Holder.Foreign()
	return ours || !h.Decrease.None() || len(h.Intents) > 0
}

func deletions(steps []plan.Action) []plan.DeletePod {
	var deeds []plan.DeletePod
	for _, step := range steps {
		if d, ok := step.(plan.DeletePod); ok {
			deeds = append(deeds, d)
		}
	}
	return deeds
}

func inZone(deeds []plan.DeletePod, zone string) []plan.DeletePod {
	var here []plan.DeletePod
	for _, d := range deeds {
		if d.Zone == zone {
			here = append(here, d)
		}
	}
	return here
}

func releases(steps []plan.Action) bool {
	for _, step := range steps {
		if _, ok := step.(plan.Release); ok {
			return true
		}
	}
	return false
}
