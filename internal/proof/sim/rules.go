package sim

import "slices"

// Rules changes what the explorer itself implements: the order of requests, their
// preconditions, and which names are judged. The zero Rules behave like lockstep and the
// API server. make mutants changes the planner, the hold and freshness in the source.
type Rules struct {
	NotedLate     bool // the Lease is written after the deletes
	Unconditional bool // deletes have no preconditions
	Versionless   bool // deletes have the UID and no version as preconditions
	Overwriting   bool // the Lease is written whatever its version
	Unpinned      bool // evictions have no UID as a precondition
	Forgetful     bool // webhooks ignore what a live read of their process has shown
	Impatient     bool // a granted eviction is ended while it can still happen

	Ignore []string // names that are not judged
}

func (r Rules) judges(name string) bool {
	return !slices.Contains(r.Ignore, name)
}
