package mutants

// replacements are mutants without a guard that every replacement must pass.
var replacements = []Mutant{
	{
		Name:  "guard wrongUpdateStrategy removed",
		Edits: []Edit{without(guards, "wrongUpdateStrategy")},
		Test:  explore + "another update strategy for a while", Rule: "OnDeleteOnly",
	},
	{
		Name:  "guard paused removed",
		Edits: []Edit{without(guards, "paused")},
		Test:  explore + "a pause and a crash", Rule: "NotPaused",
		Remark: "notItsTurn stops disruptions as well: a paused zone never has its turn; repairs are not stopped",
	},
	{
		Name:  "guard zoneInTransition removed",
		Edits: []Edit{without(guards, "zoneInTransition")},
		Test:  explore + "a revert while the operator dies", Rule: "OutdatedOnly",
	},
	{
		Name:  "guard notAdopted removed",
		Edits: []Edit{without(guards, "notAdopted")},
		Test:  "internal/plan/group TestScenariosGolden/pod-that-its-statefulset-has-not-adopted-is-not-replaced", Rule: "PodNotAdopted",
	},
	{
		Name:  "pod that is not adopted yet shown like one that is controlled",
		Edits: []Edit{{"internal/cluster/observe/convert.go", "metav1.GetControllerOfNoCopy(pod) == nil", "false"}},
		Test:  "internal/cluster/observe TestPodsThatTheirStatefulSetHasNotAdoptedCountAsItsOwn", Rule: "show (-want +got)",
	},
	{
		Name:  "delete of a pod that is not adopted yet, seen by no rule",
		Edits: []Edit{{"internal/lock/invariant/deletes.go", " && !p.Unadopted", ""}},
		Test:  "internal/lock/invariant TestEveryRuleCanBeBrokenAlone/a delete of a pod that is not adopted yet", Rule: "ExactTarget",
	},
}

// disruptions are mutants without a guard of pods that are up.
var disruptions = []Mutant{
	{
		Name:  "guard notItsTurn removed",
		Edits: []Edit{without(guards, "notItsTurn"), blind},
		Test:  explore + "two operators", Rule: "NoLostIntent",
		Remark: "both zones at once: the hold can only record the deletes of one",
	},
	{
		Name:  "guard heldElsewhere removed",
		Edits: []Edit{without(guards, "heldElsewhere"), blind},
		Test:  explore + "a user acquires the hold manually", Rule: "ManualHoldKept",
		Remark: "what a rollout holds is kept by otherZoneNotWhole as well: a zone with an intent is not whole",
	},
	{
		Name:  "guard otherZoneNotWhole removed",
		Edits: []Edit{without(guards, "otherZoneUnavailable"), blind},
		Test:  explore + "a crash while the operator dies and its hold expires", Rule: "OtherZonesAvailable",
	},
	{
		Name: "guards heldElsewhere and otherZoneNotWhole removed",
		Edits: []Edit{
			without(guards, "heldElsewhere"),
			without(guards, "otherZoneUnavailable"), blind,
		},
		Test: explore + "a pause while requests arrive late and the hold expires", Rule: "OneZoneAtATime",
		Remark: "each stands in for the other, and notItsTurn for both until the zone at turn is paused",
	},
	{
		Name:  "guard zoneShrinking removed",
		Edits: []Edit{without(guards, "zoneShrinking")},
		Test:  explore + "scaling down and up in one zone", Rule: "RecordedFirst",
		Remark: "the downscale is noted under the hold that the takedown would need",
	},
	{
		Name:  "guard budgetSpent removed",
		Edits: []Edit{without(guards, "budgetSpent"), blind},
		Test:  explore + "a crash while the operator dies and its hold expires", Rule: "WithinBudget",
	},
	{
		Name:  "guard tooManyIntents removed",
		Edits: []Edit{without(guards, "tooManyIntents")},
		Test:  "internal/plan/group TestAHoldCarriesAtMostAHundredIntents", Rule: "want 100",
		Remark: "a hundred pods are more than any world of the explorer has",
	},
}
