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
}
