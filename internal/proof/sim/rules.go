package sim

import "slices"

// Rules bends what is not the planner's, the hold's or freshness' own: in
// which order requests are sent, what they require, and what is judged. The
// zero Rules are lockstep's and the API server's. What is theirs is bent by
// make mutants, in the source itself.
type Rules struct {
	NotedLate     bool // the Lease is written after the deletes
	Unconditional bool // deletes carry no preconditions
	Versionless   bool // deletes carry the UID and no version
	Overwriting   bool // the Lease is written whatever it says
	Unpinned      bool // evictions carry no UID
	Forgetful     bool // webhooks do not care what a look of their process has shown
	Impatient     bool // a granted eviction is taken for lost while it can still happen

	Ignore []string // names that are not judged
}

func (r Rules) judges(name string) bool {
	return !slices.Contains(r.Ignore, name)
}
