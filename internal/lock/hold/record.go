package hold

import (
	"slices"
	"time"

	"github.com/lockstep-dev/lockstep/internal/lock/history"
	"github.com/lockstep-dev/lockstep/internal/plan"
)

// nextRecord returns the record as it must read next, with these intents: the time of a
// downscale that ended is kept, rollouts are remembered, and the time is renewed.
func nextRecord(s *plan.Snapshot, holder plan.Holder, noted []plan.Intent, downscale plan.Downscale) plan.Hold {
	next := s.Hold // with the UID and version that the write requires
	next.Exists, next.Unlabelled = true, false
	next.Own = s.Hold.Own || s.Live
	next.Renewed, next.Duration = s.Now, Duration
	if holder != s.Hold.Holder && !holder.Free() {
		next.Transitions++
	}
	next.Holder = holder
	next.Intents = noted
	next.Members = plan.Remembered(*s)
	next.Downscale = downscale
	next.Downscaled = downscaled(s, downscale)
	next.GivenUp = givenUp(s, downscale)
	next.Waiting = waiting(s, holder)
	next.Rollouts = history.Next(*s, next)
	return next
}

// nextRecordOfHolder returns the record of whoever has the hold as it must read next.
// Others' time is not ours to prolong.
func nextRecordOfHolder(s *plan.Snapshot, downscale plan.Downscale) plan.Hold {
	record := nextRecord(s, holderAfter(s, downscale), intents(s, nil), downscale)
	if record.Holder.Foreign() {
		record.Renewed, record.Duration = s.Hold.Renewed, s.Hold.Duration
	}
	return record
}

// Admit returns the record under which an admitted downscale of a zone is noted, or only
// dated by when it can come at the latest.
func Admit(s plan.Snapshot, v plan.DownscaleAnswer, zone string) plan.Hold {
	if !v.Dated {
		return nextRecord(&s, plan.DownscaleOperation.For(zone), intents(&s, nil), v.Note)
	}
	next := s.Hold
	next.Downscaled = lasting(&s)
	next.Downscaled[zone] = s.Now.Add(plan.RequestLimit)
	return next
}

// UndoAnew returns the record under which a downscale is undone that somebody else
// has given up meanwhile: pods may have been asked after he told them to stay.
// The second result is false where somebody else has the hold by now; what he
// begins in that zone asks the same pods. The downscale before it, of which pods still
// leave, is dated, and noted again after it.
func UndoAnew(record plan.Hold, d plan.Downscale, now time.Time) (plan.Hold, bool) {
	holder := plan.DownscaleOperation.For(d.Zone)
	free := record.Holder.Free() || record.Lapsed(now) || record.Holder == holder
	before := record.Downscale
	follows := before.None() || (before.Generation == plan.SeenInEffect && before.Zone == d.Zone)
	if !follows || !free || record.Unreadable != "" {
		return record, false
	}
	if !before.None() {
		record.Downscaled = dated(record.Downscaled, d.Zone, before.EffectiveBy(now))
	}
	if record.Holder != holder {
		record.Transitions++
	}
	record.Exists, record.Holder = true, holder
	record.Downscale = d.TakenBack(now)
	record.Renewed, record.Duration = now, Duration
	return record, true
}

// Unfinished reports whether a record notes what lockstep alone ends: an operation of its
// own, a downscale, pods that are about to be taken down.
func Unfinished(h plan.Hold) bool {
	ours := !h.Holder.Free() && !h.Holder.Foreign()
	return ours || !h.Downscale.None() || len(h.Intents) > 0
}

// downscaled returns when each zone of the group shrank last. A downscale that
// is replaced or ends counts if it came into effect, or may have.
func downscaled(s *plan.Snapshot, next plan.Downscale) map[string]time.Time {
	times := lasting(s)
	former := s.Hold.Downscale
	if !former.None() && !next.Same(former) && s.Shrank(former) {
		times = dated(times, former.Zone, former.EffectiveBy(s.Now))
	}
	if len(times) == 0 {
		return nil
	}
	return times
}

// givenUp returns when downscales of lockstep's own were given up that are not to
// be tried again yet. One that was merely overtaken did not fail. One that fails while
// pods leave by the one before it is followed by that.
func givenUp(s *plan.Snapshot, next plan.Downscale) map[string]time.Time {
	times := map[string]time.Time{}
	for zone, at := range s.Hold.GivenUp {
		if plan.StillGivenUp(at, s.Now) {
			times[zone] = at
		}
	}
	if d := s.Hold.Downscale; d.Ours && (next.None() || next.Generation == plan.SeenInEffect) && d.Failed(*s) {
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

// intents returns those that still count and the new ones: takedowns, then repairs in
// the room of the pods before them, then other repairs. One of these is left out where
// the hold can carry no more; a repair needs none, nor does that of a pod whose eviction
// was granted, which somebody may still carry out.
func intents(s *plan.Snapshot, deeds []plan.DeletePod) []plan.Intent {
	deed := map[string]plan.DeletePod{}
	for _, d := range deeds {
		deed[d.Pod] = d
	}
	var next []plan.Intent
	granted, replaced := map[string]bool{}, map[string]bool{}
	for _, i := range s.Hold.Intents {
		d, anew := deed[i.Pod]
		stays := i.MayTake(d.UID, d.Version)
		switch {
		case !s.IntentStatus(i).Counts():
		case !anew || d.AlreadyNoted || stays:
			next = append(next, i)
			granted[i.Pod] = stays
		default:
			replaced[i.Pod] = true
		}
	}
	for _, turn := range []func(plan.DeletePod) bool{
		func(d plan.DeletePod) bool { return d.Up },
		func(d plan.DeletePod) bool { return !d.Up && replaced[d.Pod] },
		func(d plan.DeletePod) bool { return !d.Up && !replaced[d.Pod] },
	} {
		for _, d := range deeds {
			full := !d.Up && len(next) >= plan.MaxIntents
			if turn(d) && !d.AlreadyNoted && !full && !granted[d.Pod] {
				next = append(next, intent(d, s.Now))
			}
		}
	}
	return next
}

func intent(d plan.DeletePod, now time.Time) plan.Intent {
	return plan.Intent{Zone: d.Zone, Pod: d.Pod, UID: d.UID, Version: d.Version, Cause: d.Because, Since: now, Overtook: d.Overtakes}
}

// withRecords adds to a decision what actions record for which the Lease is not written otherwise. It is
// written whoever has the hold, without a live read: the compare-and-swap says whether what was known of
// the Lease is still so.
func withRecords(s *plan.Snapshot, steps []plan.Action, d Decision) Decision {
	recorders := slices.DeleteFunc(plan.Only[plan.Recorder](steps), func(r plan.Recorder) bool { return r.Effect().Records })
	if len(recorders) == 0 || s.Hold.Unreadable != "" {
		return d
	}
	switch d.Need {
	case Carry:
		if !s.Hold.Exists && !s.Live {
			return Decision{Need: Look} // a Lease begins with what the predecessor has kept, which a live read shows
		}
		d = Decision{Need: Write, Record: s.Hold}
		d.Record.Exists = true
		if !d.Record.Holder.Foreign() { // others' time is not ours to prolong
			d.Record.Renewed, d.Record.Duration = s.Now, Duration
		}
	case Look, Remove, Label:
		return d
	case Write:
	}
	for _, r := range recorders {
		r.Record(&d.Record)
	}
	return d
}
