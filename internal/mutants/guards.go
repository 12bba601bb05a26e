package mutants

// replacements leave out guards that every replacement has to pass.
var replacements = []Mutant{
	{
		Name:  "guard wrongUpdateStrategy removed",
		Edits: []Edit{{guards, "\twrongUpdateStrategy, // guarantee 3: another controller would interfere\n", ""}},
		Test:  explore + "another update strategy for a while", Rule: "OnDeleteOnly",
	},
	{
		Name:  "guard paused removed",
		Edits: []Edit{{guards, "\tpaused,              // somebody asked this zone to stand still\n", ""}},
		Test:  explore + "a pause and a crash", Rule: "StandStill",
		Remark: "takedowns are kept by notItsTurn as well: a paused zone is never at turn; repairs are not",
	},
	{
		Name:  "guard zoneInTransition removed",
		Edits: []Edit{{guards, "\tzoneInTransition,    // what is outdated is judged against the newest spec only\n", ""}},
		Test:  explore + "a revert while the operator dies", Rule: "AsAsked",
	},
}

// takedowns leave out guards of pods that are up.
var takedowns = []Mutant{
	{
		Name:  "guard notItsTurn removed",
		Edits: []Edit{{guards, "\tnotItsTurn,        // one zone after the other, in order\n", ""}, blind},
		Test:  explore + "two operators", Rule: "NoLostIntent",
		Remark: "both zones at once: the hold can only note the deeds of one",
	},
	{
		Name:  "guard heldElsewhere removed",
		Edits: []Edit{{guards, "\theldElsewhere,     // guarantee 1: one operation in one zone at a time\n", ""}, blind},
		Test:  explore + "somebody takes the hold by hand", Rule: "HandsOff",
		Remark: "what a rollout holds is kept by otherZoneNotWhole as well: a zone with an intent is not whole",
	},
	{
		Name:  "guard otherZoneNotWhole removed",
		Edits: []Edit{{guards, "\totherZoneNotWhole, // guarantee 2: the rest of the group serves\n", ""}, blind},
		Test:  explore + "a crash while the operator dies and its hold expires", Rule: "RestIsWhole",
	},
	{
		Name: "guards heldElsewhere and otherZoneNotWhole removed",
		Edits: []Edit{
			{guards, "\theldElsewhere,     // guarantee 1: one operation in one zone at a time\n", ""},
			{guards, "\totherZoneNotWhole, // guarantee 2: the rest of the group serves\n", ""}, blind,
		},
		Test: explore + "a pause while requests come late and the hold expires", Rule: "OneZoneAtATime",
		Remark: "each stands in for the other, and notItsTurn for both until the zone at turn is paused",
	},
	{
		Name:  "guard shrinks removed",
		Edits: []Edit{{guards, "\tshrinks,           // a downscale of this zone settles first\n", ""}},
		Test:  explore + "scaling down and up in one zone", Rule: "NotedFirst",
		Remark: "the downscale is noted under the hold that the takedown would need",
	},
	{
		Name:  "guard budgetSpent removed",
		Edits: []Edit{{guards, "\tbudgetSpent,       // guarantee 4: at most so many pods of a zone\n", ""}, blind},
		Test:  explore + "a crash while the operator dies and its hold expires", Rule: "WithinBudget",
	},
	{
		Name:  "guard roomForIntent removed",
		Edits: []Edit{{guards, "\troomForIntent,     // a takedown is always noted, and the hold can only carry so many\n", ""}},
		Test:  "internal/plan TestAHoldCarriesAtMostAHundredIntents", Rule: "want 100",
		Remark: "a hundred pods are more than any world of the explorer has",
	},
}
