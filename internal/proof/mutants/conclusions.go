package mutants

// conclusions are mistakes in what the planner and the guards derive from a snapshot. The
// invariants derive it independently, so they reject the resulting plan.
var conclusions = []Mutant{
	{
		Name:  "intent that does not count while its pod is being replaced",
		Edits: []Edit{{"internal/plan/intent.go", "return f == Open || f == Pending", "return f == Pending"}},
		Test:  scenarios + "expired-hold-with-open-intents-is-not-taken-over", Rule: "OneZoneAtATime",
	},
	{
		Name:  "granted eviction does not count",
		Edits: []Edit{{"internal/plan/intent.go", "return f == Open || f == Pending", "return f == Pending"}},
		Test:  scenarios + "granted-eviction-counts-against-budget-until-its-time-limit", Rule: "GrantKept",
	},
	{
		Name:  "absent pod beyond the spec that does not count in a live read",
		Edits: []Edit{{groupState, "\tz.surplusDown += len(b.absentSurplus(zone))\n", "\tif !b.Live {\n\t\tz.surplusDown += len(b.absentSurplus(zone))\n\t}\n"}},
		Test:  scenarios + "an-unbound-grant-of-a-pod-beyond-the-spec-counts-in-a-live-read", Rule: "WithinBudget",
	},
	{
		Name:  "granted eviction that another record of its pod replaces",
		Edits: []Edit{{groupState, "return other.Granted()", "return !other.Granted()"}},
		Test:  scenarios + "eviction-grant-cancels-planned-deletion-of-same-pod", Rule: "zone-a-0 of zone-a because OutdatedRevision",
	},
	{
		Name:  "recorded pod that no longer counts because a cache is late",
		Edits: []Edit{{"internal/plan/group/intent_status.go", "case pod.Phase == plan.Terminating || pod.Version < i.Version:", "case pod.Phase == plan.Terminating:"}},
		Test:  scenarios + "cached-pod-older-than-its-intent-counts-as-down", Rule: "delete zone-a-0 of zone-a because OutdatedRevision",
	},
	{
		Name:  "percentage of the replicas before a downscale that is being prepared",
		Edits: []Edit{{evict, "d.Zone == z.Name && d.UID == z.UID {\n\t\treturn min", "d.Zone == z.Name && d.UID == z.UID && d.Stage == Admitted {\n\t\treturn min"}},
		Test:  "internal/plan/group TestEvict/percentages refer to the replicas after a downscale that is being prepared", Rule: "got  yes",
	},
	{
		Name:  "granted eviction timed from an earlier grant of its pod",
		Edits: []Edit{{"internal/lock/lease/ages.go", "intents[i].UID, intents[i].Version, intents", "intents[i].UID, 0, intents"}},
		Test:  "internal/lock/lease TestAGrantAtALaterVersionIsANewGrant", Rule: "want 0s",
	},
	{
		Name:  "pod available as soon as it is Ready",
		Edits: []Edit{{"internal/plan/pod.go", "return p.Up() && (minReady <= 0 || !now.Before(p.StableAt(minReady)))", "return p.Up()"}},
		Test:  scenarios + "a-pod-is-available-only-after-min-ready", Rule: "WithinBudget",
	},
	{
		Name:  "ordinal beyond spec.replicas that counts as wanted",
		Edits: []Edit{{snapshot, "ordinal-z.Start < z.Replicas", "ordinal-z.Start <= z.Replicas"}},
		Test:  scenarios + "effective-delayed-downscale-drops-its-acknowledgements", Rule: "DownscaleKept",
	},
}
