// Package hold contains the rules of a group's lock as pure functions: what the Lease must contain before a
// plan may be carried out, and in which format.
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

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
)

// Need is what must happen to the Lease before the actions of a plan.
type Need int

const (
	// Carry: carry out the actions; the Lease needs no write.
	Carry Need = iota
	// Look: read the group live, with the known record or one that is read as well, and plan again before any
	// action.
	Look
	// Write: write Record by compare-and-swap, then carry out the actions.
	Write
	// Remove: the group has no zones any more; delete the Lease.
	Remove
	// Label: add the label by which lockstep watches Leases; the record does not change.
	Label
)

// Decision is what the Lease needs, with the record to be written.
type Decision struct {
	Need   Need
	Record group.Hold // for Write
	// Verify: before the write, a read of the StatefulSets one by one must show that they still ask for what the
	// plan assumes. The plan disrupts pods on caches, which may show a pause or another group late (ADR 30).
	Verify bool
}

// Decide returns what the Lease needs before the actions of a plan are carried out. The delete of a pod that
// is up is always recorded first. A repair is recorded if the hold is free or belongs to the zone of the pod.
// Any other repair needs no record, because its delete requires the version at which the pod was seen to be
// down.
func Decide(s group.Snapshot, steps []plan.Action) Decision {
	return withLabel(&s, withPlaces(&s, steps, withRecords(&s, steps, decide(&s, steps))))
}

// withLabel adds the label to a Lease that lost it and needs no other write. No cache shows such a Lease, so
// its group would be read live repeatedly. The record does not change, so an unreadable one is kept.
func withLabel(s *group.Snapshot, d Decision) Decision {
	if d.Need == Carry && s.Live && s.Hold.Unlabelled {
		return Decision{Need: Label}
	}
	return d
}

func decide(s *group.Snapshot, steps []plan.Action) Decision {
	deletes := plan.Only[plan.DeletePod](steps)
	downscale, records := nextDownscale(s.Hold, steps), recorded(steps)
	switch {
	case !s.Live && needsRead(s.Hold, steps):
		return Decision{Need: Look}
	case len(deletes) > 0:
		decision := decideDeletes(s, deletes, downscale)
		if decision.Need == Carry && records && s.Hold.Unreadable == "" {
			return Decision{Need: Write, Record: nextRecordOfHolder(s, downscale)}
		}
		return decision
	case s.Hold.Unreadable != "":
		return Decision{} // an unreadable record is never overwritten
	case plan.Has[plan.Release](steps):
		return Decision{Need: Write, Record: nextRecord(s, "", intents(s, nil), downscale)}
	case records:
		return Decision{Need: Write, Record: nextRecordOfHolder(s, downscale)}
	case len(s.Zones) == 0 && len(s.Left) == 0 && s.Hold.Exists && idle(s):
		return Decision{Need: Remove}
	case renewalDue(s):
		return Decision{Need: Write, Record: nextRecord(s, s.Hold.Holder, intents(s, nil), downscale)}
	case idle(s) && s.Hold.Rollouts.Current.Begun():
		if record := nextRecordOfHolder(s, downscale); !record.Rollouts.Current.Begun() {
			return Decision{Need: Write, Record: record} // otherwise the end would not be recorded (ADR 17)
		}
	}
	return Decision{}
}

// needsRead reports whether an action of the plan requires a live read.
func needsRead(h group.Hold, steps []plan.Action) bool {
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

// recorded reports whether an action of the plan requires a write of the Lease.
func recorded(steps []plan.Action) bool {
	return slices.ContainsFunc(steps, func(step plan.Action) bool { return step.Effect().Records })
}

// nextDownscale returns the downscale that the hold records after the plan.
func nextDownscale(h group.Hold, steps []plan.Action) group.Downscale {
	for _, step := range steps {
		if r, is := step.(group.Recorder); is && step.Effect().Records {
			r.Record(&h.Record)
		}
	}
	return h.Downscale
}

// holderAfter returns the holder after a downscale was recorded or has ended. The end alone does not release
// the hold; that is a separate action. A person who took the hold by hand during a downscale keeps it until
// it expires.
func holderAfter(s *group.Snapshot, noted group.Downscale) plan.Holder {
	byHand := s.Hold.Holder.Foreign() && !s.Hold.Lapsed(s.Now)
	if noted.None() || byHand {
		return s.Hold.Holder
	}
	return plan.DownscaleOperation.For(noted.Zone)
}

func decideDeletes(s *group.Snapshot, deletes []plan.DeletePod, downscale group.Downscale) Decision {
	holder := holderFor(s.Hold, deletes)
	if !downscale.None() {
		holder = holderAfter(s, downscale)
	}
	if !s.Live && needsLook(s.Hold, holder, deletes) {
		return Decision{Need: Look}
	}
	underHold := inZone(deletes, holder.Zone())
	nothing := len(underHold) == 0 && downscale == s.Hold.Downscale
	if nothing || holder.Foreign() || s.Hold.Unreadable != "" {
		return Decision{}
	}
	return Decision{Need: Write, Record: nextRecord(s, holder, intents(s, underHold), downscale), Verify: !s.Live}
}

// holderFor returns the holder under which pods are deleted. The delete of a pod that is up requires the hold
// of its zone's rollout. A repair joins the holder of its zone, takes a free hold, and does not change any
// other hold.
func holderFor(h group.Hold, deletes []plan.DeletePod) plan.Holder {
	for _, d := range deletes {
		if d.Up {
			return plan.RolloutOperation.For(d.Zone)
		}
	}
	if h.Holder.Free() && h.Unreadable == "" {
		return plan.RolloutOperation.For(deletes[0].Zone)
	}
	return h.Holder
}

// needsLook reports whether the caches do not suffice. That is so if the hold is to be taken, if another
// process wrote the record, or if a pod may seem outdated only because the cached StatefulSet is older than
// the pod (ADR 0006).
func needsLook(h group.Hold, holder plan.Holder, deletes []plan.DeletePod) bool {
	if h.Holder != holder || !h.Own {
		return true
	}
	for _, d := range deletes {
		if !d.Up || d.UnknownRevision {
			return true
		}
	}
	return false
}

// idle reports whether the hold is free, or a hold from outside lockstep has lapsed, and nothing that the
// hold records still counts.
func idle(s *group.Snapshot) bool {
	free := s.Hold.Holder.Free() || s.Hold.Lapsed(s.Now)
	return free && s.Hold.Downscale.None() && len(intents(s, nil)) == 0
}

func inZone(deletes []plan.DeletePod, zone string) []plan.DeletePod {
	var here []plan.DeletePod
	for _, d := range deletes {
		if d.Zone == zone {
			here = append(here, d)
		}
	}
	return here
}
