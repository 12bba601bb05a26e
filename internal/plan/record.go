package plan

import "time"

// Record is everything that the Lease of a workload records: the hold, which all kinds share, and the part of its
// kind.
type Record struct {
	Hold
	Part Part // nil: nothing
}

// Part is what the Lease of a workload records for its kind alone. It is not modified.
type Part interface {
	// InProgress returns the operation that the part records as in progress; empty: none.
	InProgress() Holder
}

// PartRecorder is an action that records something in the part of a kind.
type PartRecorder interface {
	Action
	// Record returns the part with what the action records. It does not change memory that the given part uses.
	Record(part Part) Part
}

// InProgress returns the operation that the part of the kind records as in progress; empty: none.
func (r Record) InProgress() Holder {
	if r.Part == nil {
		return ""
	}
	return r.Part.InProgress()
}

// Lapsed is Hold.Lapsed, with what the part of the kind records.
func (r Record) Lapsed(now time.Time) bool { return r.Hold.Lapsed(now, r.InProgress().Free()) }

// PartAfter returns the part after the actions that satisfy a condition have recorded in it.
func (r Record) PartAfter(steps []Action, records func(PartRecorder) bool) Part {
	part := r.Part
	for _, a := range Only[PartRecorder](steps) {
		if records(a) {
			part = a.Record(part)
		}
	}
	return part
}
