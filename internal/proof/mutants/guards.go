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
		Remark: "notItsTurn also stops disruptions, because a paused zone never has its turn; it does not stop repairs",
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
		Name:  "pod that is not adopted yet shown as adopted",
		Edits: []Edit{{"internal/cluster/observe/convert.go", "metav1.GetControllerOfNoCopy(pod) == nil", "false"}},
		Test:  "internal/cluster/observe TestPodsThatTheirStatefulSetHasNotAdoptedCountAsItsOwn", Rule: "show (-want +got)",
	},
	{
		Name:  "delete of a pod that is not adopted yet not detected by any invariant",
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
		Remark: "both zones are disrupted at once; the hold can record the deletes of only one",
	},
	{
		Name:  "guard heldElsewhere removed",
		Edits: []Edit{without(guards, "heldElsewhere"), blind},
		Test:  explore + "a user acquires the hold manually", Rule: "ManualHoldKept",
		Remark: "otherZoneUnavailable also protects the hold of a rollout: a zone with an intent is unavailable",
	},
	{
		Name:  "guard otherZoneUnavailable removed",
		Edits: []Edit{without(guards, "otherZoneUnavailable"), blind},
		Test:  explore + "a crash while the operator dies and its hold expires", Rule: "OtherZonesAvailable",
	},
	{
		Name: "guards heldElsewhere and otherZoneUnavailable removed",
		Edits: []Edit{
			without(guards, "heldElsewhere"),
			without(guards, "otherZoneUnavailable"), blind,
		},
		Test: explore + "a pause while requests arrive late and the hold expires", Rule: "OneZoneAtATime",
		Remark: "each guard also covers the other, and notItsTurn covers both until the zone that has the turn is paused",
	},
	{
		Name:  "guard zoneShrinking removed",
		Edits: []Edit{without(guards, "zoneShrinking")},
		Test:  explore + "scaling down and up in one zone", Rule: "RecordedFirst",
		Remark: "the downscale is recorded under the hold that the disruption would need",
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
		Remark: "no world of the explorer has a hundred pods",
	},
}
