package mutants

const moment = "internal/plan/moment.go"

// people are mutants about requests of users: a pause, or the hold.
var people = []Mutant{
	{
		Name:  "pause that does not end",
		Edits: []Edit{{snapshot, "return z.Paused && z.PausedUntil.PausesAt(now)", "return z.Paused"}},
		Test:  scenarios + "zone-rolls-out-after-its-pause-ends", Rule: "wait zone-a because Paused",
	},
	{
		Name:  "pause with an unreadable end that ends at once",
		Edits: []Edit{{moment, "m.Time.IsZero() || now", "now"}},
		Test:  scenarios + "pause-with-invalid-end-time-lasts-until-removed", Rule: "delete zone-a-0",
	},
	{
		Name:  "pause whose end triggers no reconcile",
		Edits: []Edit{{guards, "plan.Refusal{Code: reason.Paused, Until: d.zone.PausedUntil.Time}", "plan.Refusal{Code: reason.Paused}"}},
		Test:  "internal/plan/group TestAPausedZoneIsReconciledWhenItsPauseEnds", Rule: "woken at",
	},
	{
		Name:  "user who takes the hold from a rollout",
		Edits: []Edit{{holdManual, "case !h.Holder.Free() && !same && !over:", "case h.Holder.Foreign() && !same && !over:"}},
		Test:  "internal/lock/hold TestAPersonTakesOnlyAFreeHold", Rule: "want \"GroupHeld\"",
	},
	{
		Name:  "user who takes a hold that has intents",
		Edits: []Edit{{holdManual, "case len(h.Intents) > 0:", "case false:"}},
		Test:  "internal/lock/hold TestAPersonTakesOnlyAFreeHold", Rule: "want \"PodDisruptionPending\"",
	},
	{
		Name:  "user who releases a hold of lockstep",
		Edits: []Edit{{holdManual, "!h.Holder.Foreign() || (h.Holder.Operation() != Manual && !force)", "h.Holder.Operation() != Manual && !force"}},
		Test:  "internal/lock/hold TestAPersonReleasesOnlyHoldsFromOutside", Rule: "rollout/zone-a",
	},
}
