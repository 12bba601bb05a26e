package mutants

// boundsOfPools are mistakes by which pods, or what is left of them, become more and more, or an identity ends that is to be kept.
var boundsOfPools = []Mutant{
	{
		Name:  "pods that have ended under another hold, replaced without a pause",
		Edits: []Edit{{"internal/plan/pool/pause.go", "p.recentLosses()+p.endedBefore(pod)", "p.recentLosses()"}},
		Test:  poolScenarios + "pods-that-end-under-another-hold-are-replaced-after-growing-pauses", Rule: "create 1 pods",
	},
	{
		Name:  "new pod that the selector does not match, without a place",
		Edits: []Edit{{poolState, "-len(p.neverMatched())", ""}},
		Test:  "internal/proof/sim/pools TestRuns", Rule: "pods exist, and at most",
	},
	{
		Name:  "new pod that the selector does not match, released",
		Edits: []Edit{{"internal/plan/pool/release_pod.go", "p.isUnmatched(pod) && !p.isNewUnmatched(pod)", "p.isUnmatched(pod)"}},
		Test:  poolScenarios + "a-new-pod-that-the-selector-does-not-match-keeps-its-place", Rule: "release",
	},
	{
		Name:  "template whose pods get other labels, recorded",
		Edits: []Edit{{"internal/act/pool_revisions.go", "err == nil && lost != \"\"", "err == nil && len(lost) < 0"}},
		Test:  "internal/act TestATemplateWhosePodsGetLabelsThatTheSelectorDoesNotMatchIsRefused", Rule: "label other",
	},
	{
		Name:  "pod created beside those of a StatefulSet",
		Edits: []Edit{{"internal/plan/pool/create_pods.go", "p.looks() || p.moves()", "p.looks()"}},
		Test:  poolScenarios + "no-pod-is-created-while-a-statefulset-has-its-pods", Rule: "create 2 pods",
	},
	{
		Name:  "pod of a StatefulSet that terminates, overlooked",
		Edits: []Edit{{actAdoption, "if ends && owner == nil ||", "if ends ||"}},
		Test:  whichOrphans + "it belongs to a StatefulSet, which creates it again", Rule: "orphans (-want +got)",
	},
	{
		Name:  "revision of other templates, taken over",
		Edits: []Edit{{"internal/act/pool_revisions.go", "return err == nil && of == hash", "return err == nil && of != \"\""}},
		Test:  "internal/act TestARevisionOfAFormerObjectIsTakenOver/it has other templates", Rule: "the last one should be",
	},
	{
		Name:  "marks of a hand-over that stay",
		Edits: []Edit{{"internal/plan/pool/keep_identity.go", "!endsUnkept && !p.isDoneWithHandover(pod)", "!endsUnkept"}},
		Test:  poolScenarios + "a-hand-over-that-is-done-leaves-no-marks-if-claims-are-deleted", Rule: "nothing",
	},
	{
		Name:  "granted eviction, taken for one that has happened",
		Edits: []Edit{{"internal/plan/pool/hand_over.go", "s.Object.Keep.OnDelete && !s.isEvicted(i)", "s.isEvicted(i) && s.Object.Keep.OnDelete"}},
		Test:  poolScenarios + "a-pod-that-is-deleted-after-a-granted-eviction-keeps-its-identity", Rule: "because EvictionGranted",
	},
	{
		Name:  "marks of an evicted pod that stay",
		Edits: []Edit{{"internal/plan/pool/keep_identity.go", "(!p.ends[pod.UID] || p.beganOf[pod.Name].Granted())", "!p.ends[pod.UID]"}},
		Test:  poolScenarios + "a-pod-that-is-evicted-keeps-no-identity-by-the-policy-for-deletions", Rule: "create 1 pods",
	},
	{
		Name:  "claim of a kept identity that belongs to the object",
		Edits: []Edit{{"internal/plan/pool/claims.go", "kept[c.ID] = kept[c.ID] || c.Keep && c.Pool == p.Object.UID", "kept[ID(c.Name)] = c.Keep"}, {"internal/plan/pool/claims.go", "p.Object.Claim.DeleteWithObject && !kept[c.ID]", "p.Object.Claim.DeleteWithObject && !kept[ID(c.Name)]"}},
		Test:  poolScenarios + "both-claims-of-an-identity-are-disowned-if-a-person-keeps-one", Rule: "disown 1 claims",
	},
	{
		Name:  "terminating pod without an owner, taken for an orphan",
		Edits: []Edit{{"internal/plan/pool/adopt.go", "!pod.Unmatched && pod.Active() && pod.Name", "!pod.Unmatched && pod.Name"}},
		Test:  poolScenarios + "a-terminating-pod-without-an-owner-is-not-adopted", Rule: "adopt",
	},
	{
		Name:  "claim of a former object that is being deleted, labelled",
		Edits: []Edit{{"internal/plan/pool/adopt.go", "if !c.Deleting && c.Name == ClaimName", "if c.Name == ClaimName"}},
		Test:  poolScenarios + "a-claim-of-a-former-object-that-is-being-deleted-is-not-labelled", Rule: "label",
	},
	{
		Name:  "record of an eviction whose pod terminates, ended",
		Edits: []Edit{{"internal/plan/pool/intent_status.go", "s.Live && i.Lapsed() && pod.Phase != plan.Terminating", "s.Live && i.Lapsed()"}},
		Test:  poolScenarios + "an-eviction-that-lapsed-lasts-while-its-pod-terminates", Rule: "release",
	},
	{
		Name:  "downscale without a bound for the record",
		Edits: []Edit{{poolState, "p.room = MaxIntents - p.open", "p.room = MaxIntents"}},
		Test:  "internal/plan/pool TestAPlanDeletesAtMostAsManyPodsAsTheHoldHasRoomFor", Rule: "beside 3 records",
	},
}
