package mutants

import "slices"

// All returns the mutants.
func All() []Mutant {
	return slices.Concat(
		budgets, replacements, takedowns, intents, freshness, requests, downscales, scaling, delays, evictions, certificates, people,
	)
}

// Files that mistakes are made in.
const (
	board     = "internal/plan/board.go"
	budget    = "internal/plan/budget.go"
	coverage  = "internal/plan/coverage.go"
	group     = "internal/plan/group.go"
	guards    = "internal/plan/guards.go"
	fate      = "internal/plan/hold.go"
	admit     = "internal/plan/admit.go"
	decrease  = "internal/plan/decrease.go"
	shrink    = "internal/plan/shrink.go"
	replicas  = "internal/plan/replicas.go"
	mirror    = "internal/plan/mirror.go"
	asked     = "internal/plan/asked.go"
	delay     = "internal/plan/delay.go"
	stretch   = "internal/plan/stretch.go"
	cover     = "internal/hold/hold.go"
	record    = "internal/hold/record.go"
	term      = "internal/hold/term.go"
	agreed    = "internal/hold/agreed.go"
	known     = "internal/freshness/known.go"
	check     = "internal/invariant/invariant.go"
	executor  = "internal/act/executor.go"
	writes    = "internal/act/writes.go"
	store     = "internal/lease/store.go"
	evict     = "internal/plan/evict.go"
	partition = "internal/plan/partition.go"
	grants    = "internal/hold/evict.go"
	granted   = "internal/invariant/grant.go"
	snapshot  = "internal/plan/snapshot.go"
	manual    = "internal/hold/manual.go"
	confirm   = "internal/plan/confirm.go"
	downscale = "internal/admission/prepare_downscale.go"
	explore   = "internal/sim TestExplore/"
	scenarios = "internal/plan TestScenariosGolden/"
	walk      = "internal/sim/walk TestWalk"
)

// blind switches the check of single plans off, so that the mistake must be
// found in what comes of it.
var blind = Edit{check, "if decision.Need == hold.Look {", "if true {"}

// blindToEvictions does the same with the check of single evictions.
var blindToEvictions = Edit{granted, "if !p.Allowed() || decision.Need == hold.Look {", "if true {"}

// without leaves a guard out of the only list of the file that has it.
func without(file, guard string) Edit { return Edit{file, "\t" + guard + ",", "\t"} }
