package mutants

const orphansOfALook = "internal/lock/freshness TestAViewIsStaleUntilItShowsTheOrphansOfTheLiveRead/"

// freshness are mutants that trust caches too early or never.
var freshness = []Mutant{
	{
		Name:  "freshness ignores live reads",
		Edits: []Edit{{freshnessKnown, "k.liveReads = append(k.liveReads, live)", ""}},
		Test:  explore + "a crash while the operator dies and its hold expires", Rule: "WithinBudget",
	},
	{
		Name:  "freshness ignores that a pod was deleted",
		Edits: []Edit{{freshnessKnown, "\treturn lingering(view, read)\n", "\t_ = lingering\n\treturn \"\"\n"}},
		Test:  explore + "two pods at a time while others delete pods and replies are lost", Rule: "WithinBudget",
	},
	{
		Name:  "freshness ignores orphans",
		Edits: []Edit{{freshnessKnown, "cmp.Or(olderPod(view, seen.Pods), olderPod(view, seen.Orphans))", "olderPod(view, seen.Pods)"}},
		Test:  orphansOfALook + "an older orphan is behind", Rule: "pod zone-a-0 at version 30",
	},
	{
		Name:  "freshness ignores that an orphan was deleted",
		Edits: []Edit{{freshnessKnown, "cmp.Or(lingeringPod(object.Pods, seen, at), lingeringPod(object.Orphans, seen, at))", "lingeringPod(object.Pods, seen, at)"}},
		Test:  orphansOfALook + "an orphan that was deleted before is behind", Rule: "the end of pod zone-a-1 before version 50",
	},
	{
		Name:  "live read forgotten while the eviction based on it is written",
		Edits: []Edit{{podEviction, "if live {", "if false {"}},
		Test:  "internal/serve/admission TestStaleCachesGrantNoEvictionAfterLosingLeadershipDuringAGrant", Rule: "want 429 PodDisruptionPending",
	},
	{
		Name:   "freshness takes absence for a deletion",
		Edits:  []Edit{{freshnessKnown, "\treturn view >= wanted\n", "\treturn true\n"}},
		Test:   "internal/lock/freshness TestAViewIsBehindUntilItShowsWhatWasWritten/a missing pod is unknown in an older view",
		Rule:   "pod zone-a-0 after version 10",
		Remark: "the explorer finds no violation: an absent pod counts as down, and intents compare versions themselves",
	},
	{
		Name:  "older live read in place of a newer one",
		Edits: []Edit{{freshnessKnown, "return olderThan(live, former) == \"\"", "return true"}},
		Test:  "internal/lock/freshness TestASlowLiveReadHidesNothingOfANewerOne", Rule: "pod zone-a-0 at version 99",
	},
	{
		Name:  "freshness ignores the process's own deletes and pod updates",
		Edits: []Edit{{freshnessKnown, "\tk.moved[pod] = version\n", "\t_, _ = pod, version\n"}},
		Test:  explore + "a crash while the operator dies and its hold expires", Rule: "NoRepeat",
	},
	{
		Name:  "freshness ignores the process's own adoptions",
		Edits: []Edit{{freshnessKnown, "\tk.written[zone] = version\n", "\t_, _ = zone, version\n"}},
		Test:  explore + "a crash while the operator dies and its hold expires", Rule: "NoRepeat",
	},
	{
		Name:  "freshness never satisfied",
		Edits: []Edit{{freshnessKnown, "if (present && pod.Version == version) || !reached(", "if present || !reached("}},
		Test:  explore + "two pods at a time while the operator dies", Rule: "Progress",
	},
	{
		Name:  "pods of a StatefulSet that was created again, not compared with those of the former one",
		Edits: []Edit{{"internal/lock/freshness/known.go", "return seen.Name == object.Name })", "return seen.Name == object.Name && seen.UID == object.UID })"}},
		Test:  "internal/lock/freshness TestAViewIsStaleUntilItShowsTheLiveRead", Rule: "the end of pod zone-a-1",
	},
	{
		Name:  "record that stays this process's own after it has forgotten the live read",
		Edits: []Edit{{"internal/lock/freshness/freshness.go", "\t\town.Forget(key)\n", "\t\t_ = own\n"}},
		Test:  "internal/operator TestARecordIsNotThisProcesssOwnOnceItHasForgottenTheLiveRead/a replica that does not lead", Rule: "bool(true)",
	},
	{
		Name:  "record that stays this process's own after its namespace has opted out",
		Edits: []Edit{{"internal/lock/freshness/freshness.go", "\t\t\tl.Forget(key)\n", "\t\t\tl.drop(key)\n"}},
		Test:  "internal/operator TestARecordIsNotThisProcesssOwnOnceItHasForgottenTheLiveRead/the namespace opted out", Rule: "bool(true)",
	},
	{
		Name:  "live read of a budget that does not show which StatefulSets belong to a group",
		Edits: []Edit{{"internal/cluster/observe/live.go", "key.Kind == plan.KindBudget && grouped", "false && grouped"}},
		Test:  "internal/cluster/observe TestABudgetShowsWhichOfItsStatefulSetsBelongToAGroup", Rule: "live: in a group",
	},
}
