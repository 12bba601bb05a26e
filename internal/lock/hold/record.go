package hold

import (
	"slices"
	"time"

	"github.com/lockstep-dev/lockstep/internal/lock/history"
	"github.com/lockstep-dev/lockstep/internal/plan"
)

// nextRecord returns the next record with these intents and this part of the kind. It updates the rollouts,
// and renews the hold.
func nextRecord(s *situation, holder plan.Holder, intents []plan.Intent, part plan.Part) plan.Record {
	next := s.Record // with the UID and version for the compare-and-swap
	next.Exists, next.Unlabelled = true, false
	next.Own = s.Hold.Own || s.Live
	next.Renewed, next.Duration = s.Now, Duration
	if holder != s.Hold.Holder && !holder.Free() {
		next.Transitions++
	}
	next.Holder = holder
	next.Intents = intents
	next.Part = s.NextPart(part, intents)
	next.Waiting = waiting(s, holder)
	next.Rollouts = history.Next(s.Workload, next)
	return next
}

// nextRecordOfHolder returns the next record for the present holder. It does not prolong a hold from outside
// lockstep.
func nextRecordOfHolder(s *situation, part plan.Part) plan.Record {
	record := nextRecord(s, holderAfter(s, part), intents(s, nil), part)
	if record.Holder.Foreign() {
		record.Renewed, record.Duration = s.Hold.Renewed, s.Hold.Duration
	}
	return record
}

// Admit returns the record for an operation that a webhook admits.
func Admit(w plan.Workload, a plan.Admission) plan.Record {
	s := situationOf(w)
	if !a.Holder.Free() {
		return nextRecord(s, a.Holder, intents(s, nil), a.Part)
	}
	next := s.Record
	next.Part = a.Part
	return next
}

// Resume returns the record under which an operation continues that a part records as in progress, although the
// process that had begun it has ended it meanwhile. The second result is false if another operation has the hold by
// now.
func Resume(record plan.Record, part plan.Part, now time.Time) (plan.Record, bool) {
	holder := part.InProgress()
	free := record.Holder.Free() || record.Lapsed(now) || record.Holder == holder
	if !free || record.Unreadable != "" {
		return record, false
	}
	if record.Holder != holder {
		record.Transitions++
	}
	record.Exists, record.Holder, record.Part = true, holder, part
	record.Renewed, record.Duration = now, Duration
	return record, true
}

// waiting returns the operations that still wait. It drops the present holder, and operations whose last
// attempt was too long ago.
func waiting(s *situation, holder plan.Holder) []plan.Waiting {
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
func intents(s *situation, deletes []plan.Disruption) []plan.Intent {
	deletion := map[string]plan.Disruption{}
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
		case !anew || d.AlreadyRecorded || stays:
			next = append(next, i)
			granted[i.Pod] = stays
		default:
			replaced[i.Pod] = true
		}
	}
	for _, turn := range []func(plan.Disruption) bool{
		func(d plan.Disruption) bool { return d.Up },
		func(d plan.Disruption) bool { return !d.Up && replaced[d.Pod] },
		func(d plan.Disruption) bool { return !d.Up && !replaced[d.Pod] },
	} {
		for _, d := range deletes {
			full := !d.Up && len(next) >= plan.MaxIntents
			if turn(d) && !d.AlreadyRecorded && !full && !granted[d.Pod] {
				next = append(next, intent(d, s.Now))
			}
		}
	}
	return next
}

func intent(d plan.Disruption, now time.Time) plan.Intent {
	return plan.Intent{Zone: d.Zone, Pod: d.Pod, UID: d.UID, Version: d.Version, Cause: d.Because, Since: now, Overtook: d.Overtakes, From: d.From}
}

// withRecords adds to a decision the records of actions that alone do not cause a write of the Lease. They
// are written under any holder and without a live read, because the compare-and-swap fails if the Lease has
// changed.
func withRecords(s *situation, steps []plan.Action, d Decision) Decision {
	beside := func(a plan.PartRecorder) bool { return !requiresWrite(a) }
	if !slices.ContainsFunc(plan.Only[plan.PartRecorder](steps), beside) || s.Hold.Unreadable != "" {
		return d
	}
	switch d.Need {
	case Carry:
		if !s.Hold.Exists && !s.Live {
			return Decision{Need: ReadLive} // the live read of a new Lease may find a record of the predecessor
		}
		d = Decision{Need: Write, Record: s.Record}
		d.Record.Exists = true
		if !d.Record.Holder.Foreign() { // a hold from outside is not prolonged
			d.Record.Renewed, d.Record.Duration = s.Now, Duration
		}
	case ReadLive, Remove, Label:
		return d
	case Write:
	}
	d.Record.Part = d.Record.PartAfter(steps, beside)
	return d
}
