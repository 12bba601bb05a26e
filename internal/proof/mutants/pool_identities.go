package mutants

const (
	poolKeep     = "internal/plan/pool/keep_identity.go"
	poolComplete = "internal/plan/pool/complete_pod.go"
)

// identitiesOfPools are mistakes in when an identity is kept although another client ended its pod.
var identitiesOfPools = []Mutant{
	{
		Name:  "identity of a deleted pod kept by the policy for evictions",
		Edits: []Edit{{poolKeep, "!pod.Disrupted && s.Object.Keep.OnDelete", "!pod.Disrupted && s.Object.Keep.Any()"}},
		Test:  poolScenarios + "a-deleted-pod-keeps-no-identity-by-the-policy-for-evictions", Rule: "keep identity of web-a",
	},
	{
		Name:  "identity given up in doubt about how its pod went",
		Edits: []Edit{{poolKeep, "(c.Retain || p.Object.Keep.Any())", "(c.Retain || p.Object.Keep.OnDelete)"}},
		Test:  poolScenarios + "in-doubt-an-identity-is-kept", Rule: "create 1 pods of web",
	},
	{
		Name:  "identity kept by the marks of an update that was withdrawn",
		Edits: []Edit{{poolKeep, "(c.Retain || p.Object.Keep.Any()) &&", ""}},
		Test:  poolScenarios + "claims-of-an-update-that-was-withdrawn-keep-no-identity", Rule: "keep identity of web-a",
	},
	{
		Name:  "identity kept without one of its claims",
		Edits: []Edit{{poolKeep, "&& p.complete(c.ID, c.From) {", "{"}},
		Test:  poolScenarios + "an-identity-that-lacks-a-claim-is-not-kept", Rule: "keep identity of web-a",
	},
	{
		Name:  "next pod of an identity that no record keeps",
		Edits: []Edit{{poolHandOver, "if !h.Over || h.Unrecorded || p", "if !h.Over || p"}},
		Test:  poolScenarios + "a-deleted-pod-keeps-its-identity", Rule: "hand over a of web",
	},
	{
		Name:  "eviction whose identity is given up although it is kept",
		Edits: []Edit{{poolHandOver, "kept := retained || s.Object.Keep.OnEviction ||", "kept := retained ||"}},
		Test:  poolScenarios + "a-granted-eviction-becomes-a-hand-over", Rule: "retire a of web",
	},
	{
		Name:  "eviction of a pod whose claims do not show that its identity is kept",
		Edits: []Edit{{poolEvict, "holdIsFull, (*poolState).notMarked}", "holdIsFull}"}},
		Test:  evictionsOfPool + "the claims of a pod whose identity is kept do not say so yet", Rule: "yes, recorded",
	},
	{
		Name:  "eviction that no longer counts while its next pod starts",
		Edits: []Edit{{poolIntents, "|| next.From == i.UID)", ")"}},
		Test:  poolScenarios + "a-granted-eviction-lasts-until-the-next-pod-is-available", Rule: "release",
	},
	{
		Name:  "pod that can be scheduled before its claims say which pod they are of",
		Edits: []Edit{{poolComplete, "marksFirst && len(complete.Templates) > 0", "false"}},
		Test:  poolScenarios + "a-new-pod-keeps-its-gate-until-its-claims-exist", Rule: "complete web-a with data",
	},
	{
		Name:  "pod scheduled while one of its claims is being deleted",
		Edits: []Edit{{poolComplete, "return c.Deleting && pod.mounts(c.Name)", "return false"}},
		Test:  poolScenarios + "a-pod-keeps-its-gate-while-a-claim-is-being-deleted", Rule: "complete web-a",
	},
	{
		Name:  "claims that were created again, marked by an older view of pods",
		Edits: []Edit{{poolHandOver, "prepare.Newer || c.Version > p.PodsAt", "prepare.Newer"}},
		Test:  poolScenarios + "claims-newer-than-the-view-of-pods-are-marked-after-a-live-read", Rule: "hold: read live",
	},
	{
		Name:  "pod that leaves for a hand-over which is not recorded",
		Edits: []Edit{{"internal/plan/pool/surplus.go", "range max(0, leaves-unrecorded) {", "range leaves {"}},
		Test:  poolScenarios + "no-pod-leaves-for-a-hand-over-that-is-not-recorded", Rule: "delete web-b",
	},
	{
		Name:  "new identity in the place of one that may wait for it",
		Edits: []Edit{{"internal/plan/pool/create_pods.go", "Careful: p.mayKeep() ||", "Careful:"}},
		Test:  poolScenarios + "births-are-careful-if-identities-are-kept", Rule: "hold: read live",
	},
	{
		Name:  "template that is taken from the caches although a pause may have become longer",
		Edits: []Edit{{"internal/plan/pool/create_pods.go", " || p.Object.Paused && !p.paused()}", "}"}},
		Test:  poolScenarios + "missing-pods-get-the-newest-template-once-a-pause-is-over", Rule: "hold: read live",
	},
	{
		Name:  "new identity in the place of one that a person retains",
		Edits: []Edit{{poolKeep, "slices.ContainsFunc(p.Pods, func(pod Pod) bool { return pod.Retain }) ||", "false ||"}},
		Test:  poolScenarios + "a-retained-pod-makes-births-careful", Rule: "hold: read live",
	},
	{
		Name:  "pod that was seen to be deleted, and is taken for one whose end was not seen",
		Edits: []Edit{{poolKeep, "return append(steps, p.unmarkings()...)", "return steps"}},
		Test:  poolScenarios + "a-deleted-pod-whose-identity-is-not-kept-loses-its-marks", Rule: "unmark claims of a",
	},
	{
		Name:  "identity that gets another pod beside one of another name",
		Edits: []Edit{{poolHandOver, "case !exists && !s.hasPod(id):", "case !exists:"}},
		Test:  poolScenarios + "an-identity-with-a-pod-of-another-name-gets-no-other-pod", Rule: "breaks HandoverRecorded",
	},
	{
		Name:  "claims of an identity without a place, deleted by one of two policies",
		Edits: []Edit{{poolClaims, "isSurplus(c.Because) || c.Because == reason.HandoverUnneeded", "isSurplus(c.Because)"}},
		Test:  poolScenarios + "claims-of-a-hand-over-without-a-place-need-both-policies", Rule: "delete 1 claims of b",
	},
	{
		Name:  "claims of an identity without a place, deleted as scaled down",
		Edits: []Edit{{"internal/plan/pool/retire_identity.go", "return reason.HandoverUnneeded", "return reason.ScaledDown"}},
		Test:  poolScenarios + "a-hand-over-leaves-before-a-pod-with-data", Rule: "because ScaledDown",
	},
	{
		Name:  "pod of a node that is gone handed over by the caches alone",
		Edits: []Edit{{poolRepair, "\td.NeedsLiveRead = true\n\treturn plan.DeletePod(d)", "\td.NeedsLiveRead = because != reason.IdentityHandover\n\treturn plan.DeletePod(d)"}},
		Test:  poolScenarios + "the-pod-of-a-node-that-is-gone-is-handed-over-after-a-live-read", Rule: "hold: read live",
	},
	{
		Name:  "place of a pod that Kubernetes removed given to a new identity",
		Edits: []Edit{{poolKeep, "if pod := &p.ended[i]; pod.kept {", "if pod := &p.ended[i]; pod.kept && false {"}},
		Test:  poolScenarios + "a-pod-that-kubernetes-removed-is-handed-over", Rule: "create 1 pods of web",
	},
	{
		Name:  "request to keep an identity that its claims do not show",
		Edits: []Edit{{"internal/act/pools.go", "marks[contract.RetainIdentityLabel] = new(\"true\")", "_ = marks"}},
		Test:  "internal/act TestUpdatesOfAStatefulCluster/the request of a person to keep an identity is written on its claims", Rule: "retain-identity",
	},
	{
		Name:  "gate that is lifted before the claims are marked",
		Edits: []Edit{{"internal/act/pools.go", "if a.KeepGate {", "if false {"}},
		Test:  "internal/act TestActionsOfAStatefulCluster/a pod keeps its gate until its claims are marked", Rule: "PATCH pods/db-a",
	},
}
