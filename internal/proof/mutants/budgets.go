package mutants

// budgets are mutants about how many pods of a zone may be down.
var budgets = []Mutant{
	{
		Name:  "budget off by one, in the guard",
		Edits: []Edit{{guards, "if after <= d.zone.budget {", "if after <= d.zone.budget+1 {"}, blind},
		Test:  explore + "a crash while the operator dies and its hold expires", Rule: "WithinBudget",
	},
	{
		Name:  "budget off by one, for all callers",
		Edits: []Edit{{budget, "return max(1, b.Pods)", "return max(1, b.Pods) + 1"}, blind},
		Test:  explore + "a crash while the operator dies and its hold expires", Rule: "WithinBudget",
	},
	{
		Name: "down pods not counted",
		Edits: []Edit{
			{groupState, "\t\t\tz.down++\n\t\t\tz.blame(objection)", "\t\t\tz.blame(objection)"},
			{groupState, "\t\tz.down += z.missing\n", ""}, blind,
		},
		Test: explore + "a crash while the operator dies and its hold expires", Rule: "WithinBudget",
	},
	{
		Name:  "missing pods not counted",
		Edits: []Edit{{groupState, "\t\tz.down += z.missing\n", ""}, blind},
		Test:  explore + "a crash while the operator dies and its hold expires", Rule: "WithinBudget",
	},
	{
		Name:  "recorded pods not counted",
		Edits: []Edit{{groupState, "\tif recorded {\n", "\tif false && recorded {\n"}, blind},
		Test:  explore + "a revert while requests arrive late", Rule: "WithinBudget",
	},
	{
		Name: "down pods counted twice",
		Edits: []Edit{
			{groupState, "\t\t\tz.down++\n\t\t\tz.blame(objection)", "\t\t\tz.down += 2\n\t\t\tz.blame(objection)"},
			{groupState, "\t\tz.down += z.missing\n", "\t\tz.down += 2 * z.missing\n"},
		},
		Test: explore + "two pods at a time while the operator dies", Rule: "BudgetUsed",
		Remark: "a stricter count violates no rule; a world with a budget of two must use it",
	},
	{
		Name: "pods that are recorded and down counted twice",
		Edits: []Edit{{
			groupState, "\tz.unavailableBecause = firstOf(lifecycle(zone)",
			"\tfor _, intent := range b.activeIntents {\n\t\tif intent.Zone == zone.Name {\n\t\t\tz.down++\n\t\t}\n\t}\n\tz.unavailableBecause = firstOf(lifecycle(zone)",
		}},
		Test: explore + "two pods at a time while the operator dies", Rule: "BudgetUsed",
	},
	{
		Name:  "rollout that ignores unreadable budgets",
		Edits: []Edit{{coverage, "	case c.unread:\n		return 1\n", ""}, blind},
		Test:  scenarios + "unreadable-budget-limits-rollout-to-one-pod-at-a-time", Rule: "delete zone-a-1",
	},
	{
		Name:  "zone available although wanted pods are missing",
		Edits: []Edit{{groupState, "z.missing = max(0, zone.Replicas-present)", "z.missing = max(0, present-present)"}, blind},
		Test:  scenarios + "missing-pod-counts-against-the-budget", Rule: "delete zone-a-1",
		Remark: "like a status, which counts only existing pods",
	},
	{
		Name:  "budget counted as a status does",
		Edits: []Edit{{groupState, "\t\treturn plan.Refusal{Code: reason.PodTerminating, Pod: pod.Name}\n", "\t\treturn plan.Refusal{}\n"}, blind},
		Test:  scenarios + "terminating-pod-with-higher-ordinal-uses-budget", Rule: "delete zone-a-1",
		Remark: "a terminating pod may still be Ready in a status",
	},
}
