package sim

import (
	"slices"

	"github.com/lockstep-dev/lockstep/internal/hold"
	"github.com/lockstep-dev/lockstep/internal/invariant"
	"github.com/lockstep-dev/lockstep/internal/plan"
)

// Rules is what an operator goes by. The zero Rules are lockstep's; every
// field bends one of them, so that tests can show that the judge notices.
type Rules struct {
	See    func(plan.Snapshot) plan.Snapshot                // bends what is decided on
	Plan   func(plan.Snapshot) []plan.Action                // instead of plan.Group
	Cover  func(plan.Snapshot, []plan.Action) hold.Decision // instead of hold.Cover
	Ignore []string                                         // names that are not judged

	Unchecked     bool // plans need not pass invariant.Check
	NotedLate     bool // the Lease is written after the deletes
	Unconditional bool // deletes carry no preconditions
	Forgetful     bool // caches older than the last live look are planned on
}

func (r Rules) see(s plan.Snapshot) plan.Snapshot {
	if r.See == nil {
		return s
	}
	return r.See(s)
}

func (r Rules) plan(s plan.Snapshot) []plan.Action {
	if r.Plan == nil {
		return plan.Group(s)
	}
	return r.Plan(s)
}

func (r Rules) cover(s plan.Snapshot, steps []plan.Action) hold.Decision {
	if r.Cover == nil {
		return hold.Cover(s, steps)
	}
	return r.Cover(s, steps)
}

func (r Rules) check(s plan.Snapshot, steps []plan.Action, covered hold.Decision) *invariant.Violation {
	if r.Unchecked {
		return nil
	}
	return invariant.Check(s, steps, covered)
}

func (r Rules) judges(name string) bool {
	return !slices.Contains(r.Ignore, name)
}
