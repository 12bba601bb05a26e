package mutants

const (
	poolRules       = "internal/lock/invariant/pools/rules.go"
	rulesOfPlans    = "internal/lock/invariant/pools TestEveryRuleOfPlansCanBeBrokenAlone/"
	rulesOfEviction = "internal/lock/invariant/pools TestEveryRuleOfEvictionsCanBeBrokenAlone/"
)

// rulesOfPools are rules of StatefulClusters that are not checked, and checks that do not lead to a refusal.
var rulesOfPools = []Mutant{
	withoutRule("IdentityNew", "an identity with a claim is born"),
	withoutRule("HandoverRecorded", "a hand-over that is not recorded"),
	withoutRule("ClaimsCreatedOnce", "claims of a pod that may be scheduled"),
	withoutRule("OutsideKept", "a hold from outside is written over"),
	withoutRule("RecordedFirst", "a delete that is not recorded"),
	withoutRule("RecordKept", "a record that may still happen is dropped"),
	withoutRule("ConfirmedFirst", "a delete without a further read"),
	withoutRule("ExactTarget", "a delete of another version"),
	withoutRule("WithinMaxUnavailable", "an update while another is down"),
	withoutRule("SurplusExact", "one too many leaves"),
	withoutRule("DoubtKept", "a lost node of the last pod"),
	withoutRule("EndedWithoutPod", "an identity with a pod ends"),
	withoutRule("ClaimKept", "claims that a person keeps"),
	withoutRuleOfEvictions("GrantRecorded", "a pod that serves without a record"),
	withoutRuleOfEvictions("GrantWithinBudget", "a pod while another is down"),
	withoutRuleOfEvictions("ExactGrant", "a pod that is down at any version"),
	{
		Name:  "rule about claims that takes the time of the last claim listed",
		Edits: []Edit{{"internal/lock/invariant/pools/claims.go", "case c.Ended.After(ended):", "default:"}},
		Test:  rulesOfPlans + "claims of which one is not old enough", Rule: `want "ClaimKept"`,
	},
	{
		Name:  "rule about claims that takes the time of the first claim listed",
		Edits: []Edit{{"internal/lock/invariant/pools/claims.go", "case c.Ended.After(ended):", "case ended.IsZero():"}},
		Test:  rulesOfPlans + "claims of which one is not old enough", Rule: `want "ClaimKept"`,
	},
	{
		Name:  "plan of a pool that breaks a rule and is carried out",
		Edits: []Edit{{"internal/control/pools/controller.go", "broken != nil {\n\t\treturn loop.After(hold.ReportAfter), c.refuse", "broken != nil && c.DryRun == (key.Name == \"\") {\n\t\treturn loop.After(hold.ReportAfter), c.refuse"}},
		Test:  "internal/control/pools TestPlanThatViolatesAnInvariantIsNotCarriedOut", Rule: "want a violation of class human",
	},
}

func withoutRule(rule, broken string) Mutant {
	return Mutant{
		Name:  "plans of pools without the rule " + rule,
		Edits: []Edit{{poolRules, "breaks" + rule + ", nil}", "none, nil}"}, {poolRules, "// only returns", "func none(*view, []plan.Action) string { return \"\" }\n\n// only returns"}},
		Test:  rulesOfPlans + broken, Rule: `want "` + rule + `"`,
	}
}

func withoutRuleOfEvictions(rule, broken string) Mutant {
	return Mutant{
		Name:  "evictions from pools without the rule " + rule,
		Edits: []Edit{{poolRules, "nil, breaks" + rule + "}", "nil, none}"}, {poolRules, "// only returns", "func none(*view, *eviction) string { return \"\" }\n\n// only returns"}},
		Test:  rulesOfEviction + broken, Rule: `want "` + rule + `"`,
	}
}
