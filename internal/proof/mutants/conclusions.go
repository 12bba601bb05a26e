package mutants

// conclusions are mistakes in what the planner and the guards derive from a snapshot. The
// invariants derive it independently, so they reject the resulting plan.
var conclusions = []Mutant{
	{
		Name:  "intent of a pod that is on its way back does not count",
		Edits: []Edit{{"internal/plan/intent.go", "return f == Open || f == Pending", "return f == Pending"}},
		Test:  scenarios + "an-expired-hold-with-open-intents-is-not-taken", Rule: "OneZoneAtATime",
	},
	{
		Name:  "granted eviction does not count",
		Edits: []Edit{{"internal/plan/intent.go", "return f == Open || f == Pending", "return f == Pending"}},
		Test:  scenarios + "a-grant-counts-until-its-time-is-over", Rule: "GrantKept",
	},
	{
		Name:  "pod available as soon as it is Ready",
		Edits: []Edit{{"internal/plan/pod.go", "return p.Up() && (minReady <= 0 || !now.Before(p.StableAt(minReady)))", "return p.Up()"}},
		Test:  scenarios + "a-pod-is-available-only-after-min-ready", Rule: "WithinBudget",
	},
	{
		Name:  "ordinal beyond spec.replicas that the spec asks for",
		Edits: []Edit{{snapshot, "ordinal-z.Start < z.Replicas", "ordinal-z.Start <= z.Replicas"}},
		Test:  scenarios + "who-is-gone-is-noted-no-more", Rule: "DecreaseKept",
	},
}
