package hold

import (
	"slices"
	"time"

	"github.com/lockstep-dev/lockstep/internal/lock/history"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
)

// nextRecord returns the next record with these intents. It keeps the time of a downscale that ended, updates
// the rollouts, and renews the hold.
func nextRecord(s *group.Snapshot, holder plan.Holder, noted []plan.Intent, downscale group.Downscale) group.Hold {
	next := s.Hold // with the UID and version for the compare-and-swap
	next.Exists, next.Unlabelled = true, false
	next.Own = s.Hold.Own || s.Live
	next.Renewed, next.Duration = s.Now, Duration
	if holder != s.Hold.Holder && !holder.Free() {
		next.Transitions++
	}
	next.Holder = holder
	next.Intents = noted
	next.Members = group.Remembered(*s)
	next.Downscale = downscale
	next.Downscaled = downscaled(s, downscale)
	next.GivenUp = givenUp(s, downscale)
	next.Waiting = waiting(s, holder)
	next.Rollouts = history.Next(*s, next)
	return next
}

// nextRecordOfHolder returns the next record for the present holder. It does not prolong a hold from outside
// lockstep.
func nextRecordOfHolder(s *group.Snapshot, downscale group.Downscale) group.Hold {
	record := nextRecord(s, holderAfter(s, downscale), intents(s, nil), downscale)
	if record.Holder.Foreign() {
		record.Renewed, record.Duration = s.Hold.Renewed, s.Hold.Duration
	}
	return record
}

// Admit returns the record for an admitted downscale of a zone. If the downscale needs no hold, Admit only
// adds the latest time at which it can take effect.
func Admit(s group.Snapshot, v group.DownscaleAnswer, zone string) group.Hold {
	if !v.Dated {
		return nextRecord(&s, plan.DownscaleOperation.For(zone), intents(&s, nil), v.Note)
	}
	next := s.Hold
	next.Downscaled = lasting(&s)
	next.Downscaled[zone] = s.Now.Add(plan.RequestLimit)
	return next
}

// UndoAnew returns the record under which lockstep undoes a downscale that another process has given up
// meanwhile: pods may have been asked to prepare after that process notified them that they stay. The second
// result is false if another operation has the hold by now; if that operation begins a downscale of the zone,
// it asks the same pods. If pods still leave by the previous downscale, UndoAnew records the time of that
// one; it is recorded again afterwards.
func UndoAnew(record group.Hold, d group.Downscale, now time.Time) (group.Hold, bool) {
	holder := plan.DownscaleOperation.For(d.Zone)
	free := record.Holder.Free() || record.Lapsed(now) || record.Holder == holder
	before := record.Downscale
	follows := before.None() || (before.Generation == group.SeenInEffect && before.Zone == d.Zone)
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

// Unfinished reports whether the hold records something that only lockstep can end: one of its operations, a
// downscale, or intents.
func Unfinished(h group.Hold) bool {
	ours := !h.Holder.Free() && !h.Holder.Foreign()
	return ours || !h.Downscale.None() || len(h.Intents) > 0
}

// downscaled returns the time of the last downscale of each zone of the group. A downscale that ends or is
// replaced counts if it took effect or may have.
func downscaled(s *group.Snapshot, next group.Downscale) map[string]time.Time {
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

// givenUp returns when lockstep gave up its own downscales that may not be tried again yet. A downscale that
// was only overtaken did not fail. If a downscale fails while pods still leave by the previous one, the hold
// records the previous one next.
func givenUp(s *group.Snapshot, next group.Downscale) map[string]time.Time {
	times := map[string]time.Time{}
	for zone, at := range s.Hold.GivenUp {
		if group.StillGivenUp(at, s.Now) {
			times[zone] = at
		}
	}
	if d := s.Hold.Downscale; d.Ours && (next.None() || next.Generation == group.SeenInEffect) && d.Failed(*s) {
		times[d.Zone] = s.Now
	}
	if len(times) == 0 {
		return nil
	}
	return times
}

// waiting returns the operations that still wait. It drops the present holder, and operations whose last
// attempt was too long ago.
func waiting(s *group.Snapshot, holder plan.Holder) []plan.Waiting {
	var next []plan.Waiting
	for _, w := range s.Hold.Waiting {
		if w.Operation.For(w.Zone) != holder && w.Counts(s.Now) {
			next = append(next, w)
		}
	}
	return next
}

// intents returns the intents that still count and those of the new deletes. Deletes of pods that are up come
// first, then repairs whose intent replaces that of a former pod, then other repairs. If the hold is full, a
// repair is left out, because it needs no intent. A repair of a pod whose eviction was granted adds none
// either, because that eviction may still happen.
func intents(s *group.Snapshot, deletes []plan.DeletePod) []plan.Intent {
	deletion := map[string]plan.DeletePod{}
	for _, d := range deletes {
		deletion[d.Pod] = d
	}
	var next []plan.Intent
	granted, replaced := map[string]bool{}, map[string]bool{}
	for _, i := range s.Hold.Intents {
		d, anew := deletion[i.Pod]
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
		for _, d := range deletes {
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

// withRecords adds to a decision the records of actions that alone do not cause a write of the Lease. They
// are written under any holder and without a live read, because the compare-and-swap fails if the Lease has
// changed.
func withRecords(s *group.Snapshot, steps []plan.Action, d Decision) Decision {
	recorders := slices.DeleteFunc(plan.Only[group.Recorder](steps), func(r group.Recorder) bool { return r.Effect().Records })
	if len(recorders) == 0 || s.Hold.Unreadable != "" {
		return d
	}
	switch d.Need {
	case Carry:
		if !s.Hold.Exists && !s.Live {
			return Decision{Need: Look} // a new Lease needs the predecessor's downscale times
		}
		d = Decision{Need: Write, Record: s.Hold}
		d.Record.Exists = true
		if !d.Record.Holder.Foreign() { // a hold from outside is not prolonged
			d.Record.Renewed, d.Record.Duration = s.Now, Duration
		}
	case Look, Remove, Label:
		return d
	case Write:
	}
	for _, r := range recorders {
		r.Record(&d.Record.Record)
	}
	return d
}
