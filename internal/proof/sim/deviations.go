package sim

import "slices"

// Deviations changes what the explorer itself implements: the order of requests, their
// preconditions, and which names are judged. The zero Rules behave like lockstep and the
// API server. make mutants changes the planner, the hold and freshness in the source.
type Deviations struct {
	LeaseWrittenLate   bool // the Lease is written after the deletes
	Unconditional      bool // deletes have no preconditions
	Versionless        bool // deletes have the UID and no version as preconditions
	Overwriting        bool // the Lease is written whatever its version
	Unpinned           bool // evictions have no UID as a precondition
	LiveReadsForgotten bool // webhooks ignore what a live read of their process has shown
	GrantsEndedEarly   bool // a granted eviction is ended while it can still happen

	Ignore []string // names that are not judged
}

func (r Deviations) judges(name string) bool {
	return !slices.Contains(r.Ignore, name)
}
