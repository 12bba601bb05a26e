package mutants

// people are mutants about requests of users: a pause, or the hold.
var people = []Mutant{
	{
		Name:  "pause that does not end",
		Edits: []Edit{{snapshot, "return z.Paused && (z.PausedUntil.Time.IsZero() || now.Before(z.PausedUntil.Time))", "return z.Paused"}},
		Test:  scenarios + "zone-rolls-out-after-its-pause-ends", Rule: "wait zone-a because Paused",
	},
	{
		Name:  "pause that ends before its end can be read",
		Edits: []Edit{{snapshot, "z.PausedUntil.Time.IsZero() || now", "now"}},
		Test:  scenarios + "pause-with-invalid-end-time-lasts-until-removed", Rule: "delete zone-a-0",
	},
	{
		Name:  "pause after whose end nobody looks again",
		Edits: []Edit{{guards, "plan.Refusal{Code: reason.Paused, Until: d.zone.PausedUntil.Time}", "plan.Refusal{Code: reason.Paused}"}},
		Test:  "internal/plan/group TestAPausedZoneIsReconciledWhenItsPauseEnds", Rule: "woken at",
	},
	{
		Name:  "person who drives out a rollout",
		Edits: []Edit{{holdManual, "case !h.Holder.Free() && !same && !over:", "case h.Holder.Foreign() && !same && !over:"}},
		Test:  "internal/lock/hold TestAPersonTakesOnlyAFreeHold", Rule: "want \"GroupHeld\"",
	},
	{
		Name:  "person who holds while a pod is on its way",
		Edits: []Edit{{holdManual, "case len(h.Intents) > 0:", "case false:"}},
		Test:  "internal/lock/hold TestAPersonTakesOnlyAFreeHold", Rule: "want \"PodDisruptionPending\"",
	},
	{
		Name:  "person who gives back what lockstep holds",
		Edits: []Edit{{holdManual, "!h.Holder.Foreign() || (h.Holder.Operation() != Manual && !force)", "h.Holder.Operation() != Manual && !force"}},
		Test:  "internal/lock/hold TestAPersonReleasesOnlyHoldsFromOutside", Rule: "rollout/zone-a",
	},
}
