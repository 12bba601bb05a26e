package mutants

const (
	followUpdates = "internal/plan/pool/follow_updates.go"
	poolReport    = "internal/show/report/pools.go"

	outcomesOfUpdates = "internal/plan/pool TestAnUpdateInPlaceHasOneOutcome/"
	endsOfCrashLoops  = "internal/plan/pool TestACrashLoopEndsWhenAnIdentityIsGivenUp/"
)

// metricsOfPools are mistakes in what metrics say of StatefulClusters.
var metricsOfPools = []Mutant{
	{
		Name:  "pods that were created before a refusal, forgotten",
		Edits: []Edit{{actPools, "case len(failed) > 0 && born > 0:", "case len(failed) > 0 && born > len(a.IDs):"}},
		Test:  "internal/act TestPodsThatWereCreatedBeforeARefusalAreCounted", Rule: "want one after 1 pods",
	},
	{
		Name:  "metrics: claims of a replaced pod counted as those of a downscale",
		Edits: []Edit{{poolClaims, "if slices.ContainsFunc(s.claims, isReplaced) {", "if isReplaced(s.claims[0]) {"}},
		Test:  "internal/plan/pool TestADeletionOfClaimsNamesTheFieldOfThePolicy/claims that say both reasons", Rule: "want one because of whenReplaced",
	},
	{
		Name:  "metrics: deleted claims not counted beside one that is not deleted",
		Edits: []Edit{{poolReport, "metrics.ClaimsDeleted(string(a.Policy), part.Done)", "metrics.ClaimsDeleted(string(a.Policy), 0)"}},
		Test:  "internal/show/report TestWhatIsDoneToAStatefulClusterIsCounted", Rule: `policy="retiredTTLSeconds"} 2 is not among`,
	},
	{
		Name:  "metrics: error of some claims that does not say how many are deleted",
		Edits: []Edit{{actClaims, "deleted > 0 && len(errs) > 0 {", "deleted < 0 {"}},
		Test:  "internal/act TestADeletionOfSomeClaimsSaysOfHowMany/one has changed", Rule: "want 2 claims",
	},
	{
		Name:  "metrics: an update in place counted at each report",
		Edits: []Edit{{followUpdates, "ended, u.ended = append(ended, EndedUpdate{outcome, u.Since, pod}), true", "ended = append(ended, EndedUpdate{outcome, u.Since, pod})"}},
		Test:  outcomesOfUpdates + "it was complete before this process led", Rule: "-want +got",
	},
	{
		Name:  "metrics: each record of an update in place counted as an update",
		Edits: []Edit{{followUpdates, "goesOn := u.stage == updateBegun && !u.ended\n", "goesOn := u.stage > updateMade\n"}},
		Test:  outcomesOfUpdates + "it has begun before it was made", Rule: "-want +got",
	},
	{
		Name:  "metrics: a corrected update in place goes on",
		Edits: []Edit{{followUpdates, "goesOn := u.stage == updateBegun && !u.ended\n", "goesOn := u.stage != updateUnseen && !u.ended\n"}},
		Test:  outcomesOfUpdates + "a newer template came first", Rule: "-want +got",
	},
	{
		Name:  "metrics: an update in place that never began counted",
		Edits: []Edit{{followUpdates, "\tcase u.stage == updateUnseen:\n", ""}},
		Test:  outcomesOfUpdates + "it never begins, because the pod has ended", Rule: "-want +got",
	},
	{
		Name:  "metrics: an allowed eviction ends an update in place",
		Edits: []Edit{{followUpdates, "next.UID == i.UID && !next.Granted() &&", "next.UID == i.UID &&"}},
		Test:  outcomesOfUpdates + "an eviction is allowed meanwhile", Rule: "-want +got",
	},
	{
		Name:  "metrics: a lost record ends an update in place",
		Edits: []Edit{{followUpdates, "isHeld || goesOn {", "isHeld || goesOn && u.stage == updateUnseen {"}},
		Test:  outcomesOfUpdates + "its record was lost before", Rule: "-want +got",
	},
	{
		Name:  "metrics: a pod that was released is not lost",
		Edits: []Edit{{followUpdates, "case status == plan.Done, status == plan.Obsolete && !s.owns(&pod):", "case status == plan.Done:"}},
		Test:  outcomesOfUpdates + "the selector does not match the pod any more", Rule: "-want +got",
	},
	{
		Name:  "metrics: the last crash loop in place of the first",
		Edits: []Edit{{poolRepair, "a.at.Before(first)", "a.at.After(first)"}},
		Test:  endsOfCrashLoops + "the first of two", Rule: "it ends at",
	},
	{
		Name:  "metrics: another ailment taken for a crash loop",
		Edits: []Edit{{poolRepair, "a.cause == reason.CrashLooping && (first", "a.cause != \"\" && (first"}},
		Test:  endsOfCrashLoops + "a node is silent as well", Rule: "it ends at",
	},
	{
		Name:  "metrics: a claim that a pod never had counted as lost",
		Edits: []Edit{{poolRepair, "one(exists && !pod.Gated)", "one(exists && pod.Name != \"\")"}},
		Test:  "internal/plan/pool TestOnlyPodsThatHaveUsedAClaimHaveLostIt", Rule: "pods have lost a claim",
	},
	{
		Name:  "metrics: other refused requests counted as births",
		Edits: []Edit{{poolReport, "if creates(receipt.Step) && isRefused", "if isRefused"}},
		Test:  "internal/show/report TestRefusedBirthsAreCounted/something else is forbidden", Rule: "is not shown",
	},
	{
		Name:  "metrics: an update in place lasts until a late reconcile",
		Edits: []Edit{{poolReport, "return replacedAt(s.Now, e.Pod, s.Object.MinReady)", "return s.Now"}},
		Test:  "internal/show/report TestAnUpdateInPlaceLastsUntilThePodIsAvailable/not later than its condition if the reconcile is late", Rule: "is not among",
	},
	{
		Name:  "metrics: an update in place that restarts nothing takes no time",
		Edits: []Edit{{poolReport, "if e.Pod.ReadySince.Before(e.Since.Truncate(time.Second)) {", "if e.Pod.ReadySince.IsZero() {"}},
		Test:  "internal/show/report TestAnUpdateInPlaceLastsUntilThePodIsAvailable/now, if the pod has been Ready all the time", Rule: "is not among",
	},
	{
		Name:  "metrics: updates of a forgotten StatefulCluster counted",
		Edits: []Edit{{"internal/show/report/reporter.go", "\tr.updates.replace(key, nil)\n", ""}},
		Test:  "internal/show/report TestAForgottenStatefulClusterHasNoUpdates", Rule: "of a forgotten StatefulCluster is counted",
	},
}
