package mutants

const (
	actLabels     = "internal/act/pool_labels.go"
	statusOfPools = "internal/control/pools/status.go"

	withoutLabels       = "internal/act TestNoPodIsCreatedThatLosesItsLabels/"
	claimsWithoutLabels = "internal/act TestAClaimThatLosesItsLabelsGetsThemAgainOrIsAnError/"
)

// boundsOfPools are mistakes by which pods, or what is left of them, become more and more, or an identity ends that is to be kept.
var boundsOfPools = []Mutant{
	{
		Name:  "pods that have ended under another hold, replaced without a pause",
		Edits: []Edit{{"internal/plan/pool/pause.go", "p.recentLosses()+p.endedBefore(pod)", "p.recentLosses()"}},
		Test:  poolScenarios + "pods-that-end-under-another-hold-are-replaced-after-growing-pauses", Rule: "create 1 pods",
	},
	{
		Name:  "new pod that the selector does not match, without a place",
		Edits: []Edit{{poolState, " - len(p.neverMatched())", ""}},
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
		Test:  "internal/act TestATemplateWhosePodsLoseWhatLockstepNeedsIsRefused", Rule: "label other",
	},
	{
		Name:  "pod that loses its labels at admission, created",
		Edits: []Edit{{actLabels, "b, created); lost != \"\" {", "b, created); len(lost) < 0 {"}},
		Test:  withoutLabels + "new pods lose the name of the object", Rule: "requests (-want +got)",
	},
	{
		Name:  "name that another pod has, tried all the time",
		Edits: []Edit{{actPools, "case owner == nil || string(owner.UID) != s.Object.UID ||", "case owner != nil && owner.Kind != \"\" ||"}},
		Test:  "internal/act TestAHandOverThatAnotherProcessHasMadeIsNoFailure", Rule: "of class moved, want again",
	},
	{
		Name:  "next pod of an identity that loses its labels at admission, created",
		Edits: []Edit{{actPools, "errors.Join(lost, changed); err != nil {", "errors.Join(lost, changed); err != nil && lost == nil {"}},
		Test:  withoutLabels + "an identity is handed over", Rule: "requests (-want +got)",
	},
	{
		Name:  "pod that has lost its labels, taken for one of the StatefulCluster",
		Edits: []Edit{{actPools, "if changedLabel(own, created.Labels) != \"\" {", "if changedLabel(own, own) != \"\" {"}},
		Test:  withoutLabels + "labels are lost after the dry run", Rule: "requests (-want +got)",
	},
	{
		Name:  "pod that loses its scheduling gate at admission, created",
		Edits: []Edit{{actLabels, "isGated(admittedPod(text)) && !isGated(pod)", "isGated(admittedPod(text)) && pod == nil"}},
		Test:  withoutLabels + "new pods lose their scheduling gate", Rule: "requests (-want +got)",
	},
	{
		Name:  "template whose pods lose their scheduling gate, recorded",
		Edits: []Edit{{actLabels, "isGated(admittedPod(text)) && !isGated(pod)", "isGated(admittedPod(text)) && b.Revision == \"\" && !isGated(pod)"}},
		Test:  "internal/act TestATemplateWhosePodsLoseWhatLockstepNeedsIsRefused", Rule: "label ungated",
	},
	{
		Name:  "pod that loses the label of its revision at admission, created",
		Edits: []Edit{{actLabels, "labels[contract.RevisionLabel] = b.Revision", "labels[contract.PoolLabel] = s.Key.Name"}},
		Test:  withoutLabels + "new pods lose their revision", Rule: "requests (-want +got)",
	},
	{
		Name:  "label of a revision that something changes, written all the time",
		Edits: []Edit{{"internal/act/pool_updates.go", "revision != nil && changed.Labels[label] != *revision", "revision != nil && changed.Labels[label] == \"\""}},
		Test:  "internal/act TestALabelOfTheRevisionThatDoesNotStayIsAnError", Rule: "error <nil>",
	},
	{
		Name:  "pod created beside one that has not got its labels",
		Edits: []Edit{{actLabels, "\t\te.unlabelled.add(key, pod)\n", "\t\t_ = pod.own\n"}},
		Test:  "internal/act TestNoPodIsCreatedBesideOneThatHasNotGotItsLabels/it loses its labels again", Rule: "requests (-want +got)",
	},
	{
		Name:  "pod without labels that was deleted, waited for",
		Edits: []Edit{{actLabels, "case reason.ClassOf(err) != reason.Moved: // otherwise it was deleted", "default:"}},
		Test:  "internal/act TestNoPodIsCreatedBesideOneThatHasNotGotItsLabels/it was deleted", Rule: "requests (-want +got)",
	},
	{
		Name:  "name that another pod has, without a person to free it",
		Edits: []Edit{{"internal/control/failing/failing.go", "own != \"\"", "len(own) < 0"}},
		Test:  "internal/control/pools TestFailuresThatLastAreReportedWithTheirMessage/what only a person can end, later", Rule: "CreationPrevented",
	},
	{
		Name:  "name that another pod has, as any failed request",
		Edits: []Edit{{actLabels, "return reason.WithCode(reason.CreationPrevented, fmt.Errorf(format, values...))", "return fmt.Errorf(format, values...)"}},
		Test:  "internal/act TestAHandOverThatAnotherProcessHasMadeIsNoFailure", Rule: "has the code \"\"",
	},
	{
		Name:  "selector with the label of the revision, used",
		Edits: []Edit{{"internal/cluster/pools/convert.go", "return r.Key() == contract.RevisionLabel", "return r.Key() == \"\""}},
		Test:  "internal/cluster/pools TestASelectorWithTheLabelOfTheRevisionMakesTheTemplateInvalid", Rule: "it is invalid because of \"\"",
	},
	{
		Name:  "claim that lacks its label, taken for one that caches show",
		Edits: []Edit{{actPools, "err != nil || changedLabel(own, claim.Labels) == \"\"", "err != nil || changedLabel(own, own) == \"\""}},
		Test:  claimsWithoutLabels + "a claim that exists", Rule: "requests (-want +got)",
	},
	{
		Name:  "claim whose label something changes again, taken for labelled",
		Edits: []Edit{{actLabels, "; label != \"\" {\n\t\treturn prevented(\"label claim", "; len(label) < 0 {\n\t\treturn prevented(\"label claim"}},
		Test:  claimsWithoutLabels + "a claim without labels, again", Rule: "something changes its label",
	},
	{
		Name:  "claim of the identity that lost its labels, taken for one of another owner",
		Edits: []Edit{{actPools, "\tif foreign {\n", "\tif foreign && t.Name == \"\" {\n"}},
		Test:  claimsWithoutLabels + "a claim that exists and that may be one of another owner", Rule: "passed on [\"claim of a taken\"]",
	},
	{
		Name:  "template whose claims get other labels, recorded",
		Edits: []Edit{{actLabels, "labels != nil && label != \"\"", "labels == nil && label != \"\""}},
		Test:  "internal/act TestATemplateWhoseClaimsLoseTheirLabelsIsRefused", Rule: "refused []",
	},
	{
		Name:  "claim that cannot be labelled, labelled each second",
		Edits: []Edit{{"internal/control/pools/controller.go", "seen.Live && !again {", "seen.Live && (!again || again) {"}},
		Test:  "internal/control/pools TestALiveReadIsFollowedByAnotherLook/its plan has failed, with a back-off", Rule: "want done",
	},
	{
		Name:  "status that was refused, not written before the next event",
		Edits: []Edit{{statusOfPools, "return last.pause(), last", "return 0, last"}},
		Test:  "internal/control/pools TestAStatusThatWasNotWrittenIsWrittenAgain", Rule: "another look is done, want after 1s",
	},
	{
		Name:  "status that is refused for long, written each second",
		Edits: []Edit{{statusOfPools, "writesApart<<max(0, w.failed-1)", "writesApart<<min(0, w.failed)"}},
		Test:  "internal/control/pools TestAStatusThatWasNotWrittenIsWrittenAgain", Rule: "want after 2s",
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
