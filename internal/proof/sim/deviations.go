package sim

import "slices"

// Deviations are mistakes in the code that the explorer implements itself: the order of requests
// and their preconditions. Tests use them to show that the judge detects mistakes. The zero
// Deviations behave like lockstep and the API server. For the planner, the hold and freshness, make
// mutants plants mistakes in the source.
type Deviations struct {
	LeaseWrittenLate   bool // the Lease is written after the deletes
	Unconditional      bool // deletes have no preconditions
	Versionless        bool // deletes have the UID and no version as preconditions
	Overwriting        bool // Lease writes have no version as a precondition
	Unpinned           bool // evictions have no UID as a precondition
	LiveReadsForgotten bool // webhooks ignore earlier live reads of their process
	GrantsEndedEarly   bool // a granted eviction is ended while it can still be carried out

	Ignore []string // rules that are not checked
}

func (r Deviations) checks(name string) bool {
	return !slices.Contains(r.Ignore, name)
}
