package mutants

// away are about zones that left their group, orphans, and Leases that caches do not show.
var away = []Mutant{
	{
		Name:  "Lease that lost its label and does not get it back while its group rests",
		Edits: []Edit{{holdDecision, "if d.Need == Carry && s.Live && s.Hold.Unlabelled {", "if d.Need == Carry && s.Live && s.Hold.Unlabelled && false {"}},
		Test:  "internal/hold TestCover/a Lease that lost its label gets it back at rest", Rule: `got "as it is", want "label"`,
	},
	{
		Name:  "label that is not written",
		Edits: []Edit{{actHold, "return e.Holds.Label(ctx, s.Key, s.Hold)", "return nil"}},
		Test:  "internal/act TestALabelIsAWriteOfTheLease", Rule: "PUT leases/lockstep-group-store",
	},
	{
		Name:  "Lease without its label that reads like any other",
		Edits: []Edit{{store, "Unlabelled:  !watched(lease),", "Unlabelled:  false,"}},
		Test:  "internal/lease TestALeaseGetsItsLabelBackAndStaysAsItIs", Rule: "want a record without its label that cannot be read",
	},
	{
		Name:  "budget that is gone and guards what its Lease remembers",
		Edits: []Edit{{observeLeft, "\tcase !exists:\n\t\treturn true\n", "\tcase !exists:\n\t\treturn false\n"}},
		Test:  "internal/observe TestABudgetGuardsAZoneThatItsLeaseRemembersWhileItSelectsAPodOfIt/the budget is gone", Rule: "want zone-a, uncovered: true",
	},
	{
		Name:  "budgets that cannot be read and count as gone",
		Edits: []Edit{{observeLeft, "if !key.Covered || !o.BudgetsKnown() {", "if !key.Covered {"}},
		Test:  "internal/observe TestABudgetGuardsAZoneThatItsLeaseRemembersWhileItSelectsAPodOfIt/budgets cannot be read", Rule: "want zone-a, uncovered: false",
	},
	{
		Name:  "zone of a former budget that is forgotten beside the note of its pod",
		Edits: []Edit{{left, "return b.leftover(&z.Zone).None()", "return true"}},
		Test:  scenarios + "the-note-of-a-pod-that-no-budget-covers-any-more-stays", Rule: "forget zone-a",
	},
	{
		Name:  "hold of a former budget that is asked about its pods, as the API server shows it",
		Edits: []Edit{{"internal/observe/lookup.go", "func(key plan.Key) bool { return !o.letGo(key, set) }", "func(plan.Key) bool { return true }"}},
		Test:  "internal/observe TestABudgetGuardsAZoneThatItsLeaseRemembersWhileItSelectsAPodOfIt/the budget is gone", Rule: "the pod is remembered: true",
	},
}
