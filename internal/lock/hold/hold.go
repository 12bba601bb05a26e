// Package hold contains the rules of a workload's lock as pure functions, for all kinds of workloads: what the Lease
// must contain before a plan may be carried out.
//
//	free ──take (after a live read)──► rollout/zone-a ──release──► free
//	                                      │      ▲
//	                                      └──────┘ record, settle, renew
//
// Exclusion between operations never depends on a date: an expired hold of an operation is taken over under
// the same conditions as one that has not expired. internal/lock/lease stores these decisions.
package hold

import (
	"slices"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
)

// Need is what must happen to the Lease before the actions of a plan.
type Need int

const (
	// Carry: carry out the actions; the Lease needs no write.
	Carry Need = iota
	// ReadLive: read the workload live, with the known record or one that is read as well, and plan again before any
	// action.
	ReadLive
	// Write: write Record by compare-and-swap, then carry out the actions.
	Write
	// Remove: nothing of the workload exists any more; delete the Lease.
	Remove
	// Label: add the label by which lockstep watches Leases; the record does not change.
	Label
)

// Decision is what the Lease needs, with the record to be written.
type Decision struct {
	Need   Need
	Record plan.Record // for Write
	// Verify: before the write and the actions, a read of the objects of the workload one by one must show that they
	// still ask for what the plan assumes. The plan disrupts pods, and a cache or a live read may be older than a
	// pause or a move to another group (ADR 30).
	Verify bool
	// DisruptBefore is when the plan no longer counts as confirmed, by the clock of this process; zero: never. The
	// process that confirms the plan sets it.
	DisruptBefore time.Time
}

// situation is a workload with what the rules often ask it for.
type situation struct {
	plan.Workload
	plan.View
	plan.Record
}

func situationOf(w plan.Workload) *situation { return &situation{w, w.View(), w.Record()} }

// Decide returns what the Lease needs before the actions of a plan are carried out. The delete of a pod that
// is up is always recorded first. A repair is recorded if the hold is free or belongs to the zone of the pod.
// Any other repair needs no record, because its delete requires the version at which the pod was seen to be
// down.
func Decide(w plan.Workload, steps []plan.Action) Decision {
	s := situationOf(w)
	d := withLabel(s, withPlaces(s, steps, withRecords(s, steps, decide(s, steps))))
	d.Verify = plan.Disrupts(steps) && d.Need != ReadLive
	return d
}

// withLabel adds the label to a Lease that lost it and needs no other write. No cache shows such a Lease, so
// its group would be read live repeatedly. The record does not change, so an unreadable one is kept.
func withLabel(s *situation, d Decision) Decision {
	if d.Need == Carry && s.Live && s.Hold.Unlabelled {
		return Decision{Need: Label}
	}
	return d
}

func decide(s *situation, steps []plan.Action) Decision {
	deletes := plan.Disruptions(steps)
	part, records := s.PartAfter(steps, requiresWrite), anyRequiresWrite(steps)
	switch {
	case !s.Live && actionsNeedLiveRead(s.Hold, steps):
		return Decision{Need: ReadLive}
	case len(deletes) > 0:
		decision := decideDeletes(s, deletes, part)
		if decision.Need == Carry && records && s.Hold.Unreadable == "" {
			return Decision{Need: Write, Record: nextRecordOfHolder(s, part)}
		}
		return decision
	case s.Hold.Unreadable != "":
		return Decision{} // an unreadable record is never overwritten
	case plan.Has[plan.Release](steps):
		return Decision{Need: Write, Record: nextRecord(s, "", intents(s, nil), part)}
	case records:
		return Decision{Need: Write, Record: nextRecordOfHolder(s, part)}
	case s.Hold.Exists && s.Gone() && idle(s):
		return Decision{Need: Remove}
	case renewalDue(s):
		return Decision{Need: Write, Record: nextRecord(s, s.Hold.Holder, intents(s, nil), part)}
	case idle(s) && s.Hold.Rollouts.Open() > 0:
		if record := nextRecordOfHolder(s, part); record.Rollouts.Open() < s.Hold.Rollouts.Open() {
			return Decision{Need: Write, Record: record} // otherwise the end would not be recorded (ADR 17)
		}
	}
	return Decision{}
}

// actionsNeedLiveRead reports whether an action of the plan requires a live read.
func actionsNeedLiveRead(h plan.Hold, steps []plan.Action) bool {
	for _, step := range steps {
		switch step.Effect().Read {
		case plan.Always:
			return true
		case plan.IfInherited:
			if !h.Own {
				return true
			}
		case plan.IfNew:
			if !h.Exists {
				return true
			}
		case plan.OnCaches:
		}
	}
	return false
}

// anyRequiresWrite reports whether an action of the plan requires a write of the Lease.
func anyRequiresWrite(steps []plan.Action) bool {
	return slices.ContainsFunc(steps, func(step plan.Action) bool { return step.Effect().Records })
}

// requiresWrite reports whether an action records something for which the Lease is written.
func requiresWrite(a plan.PartRecorder) bool { return a.Effect().Records }

// holderAfter returns the holder once the record has the next part of the kind. The end of what it recorded does
// not release the hold; that is a separate action. A person who took the hold by hand meanwhile keeps it until it
// expires.
func holderAfter(s *situation, part plan.Part) plan.Holder {
	byHand := s.Hold.Holder.Foreign() && !s.Lapsed(s.Now)
	next := plan.Record{Part: part}.InProgress()
	if next.Free() || byHand {
		return s.Hold.Holder
	}
	return next
}

func decideDeletes(s *situation, deletes []plan.Disruption, part plan.Part) Decision {
	holder := holderFor(s, deletes)
	if !(plan.Record{Part: part}).InProgress().Free() {
		holder = holderAfter(s, part)
	}
	if !s.Live && deletesNeedLiveRead(s.Hold, holder, deletes) {
		return Decision{Need: ReadLive}
	}
	underHold := inZone(deletes, holder.Zone())
	if len(underHold) == 0 || holder.Foreign() || s.Hold.Unreadable != "" {
		return Decision{}
	}
	return Decision{Need: Write, Record: nextRecord(s, holder, intents(s, underHold), part)}
}

// holderFor returns the holder under which pods are deleted. The delete of a pod that is up requires the hold
// of the operation of its kind in its zone. A repair joins the holder of its zone, takes a free hold, and does not change any
// other hold.
func holderFor(s *situation, deletes []plan.Disruption) plan.Holder {
	for _, d := range deletes {
		if d.Up {
			return s.Operation.For(d.Zone)
		}
	}
	if s.Hold.Holder.Free() && s.Hold.Unreadable == "" {
		return s.Operation.For(deletes[0].Zone)
	}
	return s.Hold.Holder
}

// deletesNeedLiveRead reports whether the caches do not suffice. That is so if the hold is to be taken, if another
// process wrote the record, or if a pod may seem outdated only because the cached StatefulSet is older than
// the pod (ADR 0006).
func deletesNeedLiveRead(h plan.Hold, holder plan.Holder, deletes []plan.Disruption) bool {
	if h.Holder != holder || !h.Own {
		return true
	}
	for _, d := range deletes {
		if !d.Up || d.UnknownRevision || d.NeedsLiveRead {
			return true
		}
	}
	return false
}

// idle reports whether the hold is free, or a hold from outside lockstep has lapsed, and nothing that the
// hold records still counts.
func idle(s *situation) bool {
	free := s.Hold.Holder.Free() || s.Lapsed(s.Now)
	return free && s.InProgress().Free() && len(intents(s, nil)) == 0
}

func inZone(deletes []plan.Disruption, zone string) []plan.Disruption {
	var here []plan.Disruption
	for _, d := range deletes {
		if d.Zone == zone {
			here = append(here, d)
		}
	}
	return here
}
