package mutants

const poolWorlds = "internal/proof/sim/pools TestExplore"

// strandedPods are mistakes about pods whose claims do not come.
var strandedPods = []Mutant{
	{
		Name:  "new claims of an identity that was handed over, naming each other",
		Edits: []Edit{{"internal/plan/pool/complete_pod.go", "if pod.From == \"\" {\n\t\tfor _, t", "if p.owns(pod) {\n\t\tfor _, t"}},
		Test:  "internal/plan/pool TestNewClaimsOfAnIdentityThatWasHandedOverNameThoseThatItHad", Rule: "the plan completes",
	},
	{
		Name:  "pod whose claims do not come, replaced although its identity has lost one",
		Edits: []Edit{{poolHandOver, "!p.whole(pod) && p.complete(pod.ID, pod.From)", "!p.whole(pod)"}},
		Test:  poolScenarios + "a-successor-with-a-claim-of-a-former-object-is-not-handed-over", Rule: "because IdentityHandover",
	},
	{
		Name:  "identity given up because a mark for the end of a former pod came late",
		Edits: []Edit{{poolRepair, "p.lateMark(pod) == \"\" && ", ""}},
		Test:  poolScenarios + "claims-whose-mark-came-late-are-marked-again", Rule: "because HandoverFailed",
	},
	{
		Name:  "claims of which one has no mark, marked again",
		Edits: []Edit{{"internal/plan/pool/complete_pod.go", "c.Deleting || c.From == \"\" || c.From == pod.UID", "c.Deleting || c.From == pod.UID"}},
		Test:  poolScenarios + "claims-of-which-one-was-created-again-are-not-marked-again", Rule: "prepare hand-over",
	},
	{
		Name:  "claims of which one is missing, marked again",
		Edits: []Edit{{"internal/plan/pool/complete_pod.go", "return !slices.ContainsFunc(claims, func(c Claim) bool { return c.Template == sibling })", "return sibling == \"\""}},
		Test:  poolScenarios + "claims-whose-mark-came-late-and-of-which-one-is-missing-are-not-marked-again", Rule: "prepare hand-over",
	},
	{
		Name:  "claims that name two former pods, marked again for a third",
		Edits: []Edit{{"internal/plan/pool/complete_pod.go", "case late != \"\" && c.From != late:", "case late == \"-\":"}},
		Test:  poolScenarios + "claims-that-name-three-former-pods-are-not-marked-again", Rule: "prepare hand-over",
	},
	{
		Name:  "claims that a late mark reached in part, given up",
		Edits: []Edit{{"internal/plan/pool/complete_pod.go", "\t\tcase c.From == pod.From:\n\t\tcase", "\t\tcase"}},
		Test:  poolScenarios + "claims-of-which-a-late-mark-reached-one-are-marked-again", Rule: "because HandoverFailed",
	},
	{
		Name:  "claims marked again without what a person asked for",
		Edits: []Edit{{"internal/plan/pool/complete_pod.go", "again.Siblings, again.Retain = append(again.Siblings, c.Template), again.Retain || c.Retain", "again.Siblings = append(again.Siblings, c.Template)"}},
		Test:  "internal/plan/pool TestClaimsThatAreMarkedAgainKeepWhatAPersonAskedFor", Rule: "the claims are marked as",
	},
	{
		Name:  "claims marked again on an older view of pods",
		Edits: []Edit{{"internal/plan/pool/complete_pod.go", "again.Newer = again.Newer || c.Version > p.PodsAt", "again.Newer = again.Newer && c.Version > p.PodsAt"}},
		Test:  "internal/plan/pool TestClaimsThatAreMarkedAgainKeepWhatAPersonAskedFor", Rule: "the claims are marked as",
	},
	{
		Name:  "marks for the pod itself, taken back",
		Edits: []Edit{{"internal/plan/pool/complete_pod.go", " || c.From == \"\" || c.From == pod.UID:", " || c.From == \"\":"}},
		Test:  "internal/plan/pool TestClaimsThatAreMarkedAgainKeepWhatAPersonAskedFor", Rule: "are taken back",
	},
	{
		Name:  "pod completed from caches although the hold has changed",
		Edits: []Edit{{"internal/control/pools/controller.go", "sameHold := !slices.ContainsFunc(t.steps, pool.TakesPlace) || c.isSameHold(ctx, seen)", "sameHold := true"}},
		Test:  "internal/control/pools TestWhatAPlanIsMadeFrom/a pod is not completed before a live read if the hold has changed: its place may be that of an identity that is handed over", Rule: "complete db-new",
	},
	{
		Name:  "pod completed before the live read that a changed hold needs",
		Edits: []Edit{{"internal/control/pools/controller.go", "\t\tif !sameHold {\n\t\t\tfills = slices.DeleteFunc(fills, pool.TakesPlace)\n\t\t}\n", ""}},
		Test:  "internal/control/pools TestWhatAPlanIsMadeFrom/missing pods are created although the hold has changed, and none is completed", Rule: "complete db-new",
	},
	{
		Name:  "live read of a hold that changes meanwhile",
		Edits: []Edit{{"internal/cluster/pools/observer.go", "if ofHold == nil && !same {", "if ofHold == nil && same && !same {"}},
		Test:  "internal/cluster/pools TestALiveReadIsMadeAgainIfTheHoldChanges", Rule: "pods were read 1 times",
	},
	{
		Name:  "pod that never ran kept in the place of a hand-over",
		Edits: []Edit{{"internal/plan/pool/pool_state.go", "if !p.hasNoData(&p.staying[i]) {", "if !p.isNew(&p.staying[i]) {"}},
		Test:  poolScenarios + "a-pod-that-never-ran-makes-room-for-a-hand-over-although-it-has-claims", Rule: "HandoverUnneeded",
	},
	{
		Name:  "place of a hand-over whose claims are not shown, given to a new identity",
		Edits: []Edit{{"internal/plan/pool/hand_over.go", "n += one(!s.Live && waits", "n += one(s.Live && waits"}},
		Test:  poolScenarios + "claims-that-a-process-has-not-shown-keep-the-place-of-a-hand-over", Rule: "complete web-c",
	},
	{
		Name:  "pod without claims created from caches while claims exist",
		Edits: []Edit{{"internal/plan/pool/create_pods.go", "\t\tbirth.Careful = true\n", "\t\tbirth.Careful = birth.Careful && birth.Pool != \"\"\n"}},
		Test:  poolScenarios + "a-revision-that-only-a-terminating-pod-has-is-not-chosen", Rule: "hold: read live",
	},
	{
		Name:  "pod of a surge in the place of an identity that is handed over",
		Edits: []Edit{{"internal/plan/pool/surge.go", "max(existing, toCreate-handedOver)", "max(existing, toCreate-0*handedOver)"}},
		Test:  poolScenarios + "no-pod-of-a-surge-takes-the-place-of-an-identity-that-is-handed-over", Rule: "create 1 pods",
	},
	{
		Name:  "hand-over of a pod that never ran, recorded without the pod before it",
		Edits: []Edit{{poolHandOver, "d.From = pod.From", "d.From = \"\""}},
		Test:  "internal/plan/pool TestTheHandOverOfAPodThatNeverRanNamesThePodBefore", Rule: "the plan deletes",
	},
	{
		Name:  "hand-over of a pod that never ran, from that pod",
		Edits: []Edit{{poolHandOver, "return cmp.Or(i.From, i.UID)", "return i.UID"}},
		Test:  poolScenarios + "an-identity-whose-last-pod-never-ran-is-handed-over-from-the-pod-before", Rule: "hand over a",
	},
	{
		Name:  "record of the pod before one that never ran, not read",
		Edits: []Edit{{"internal/lock/record/intents.go", "From: e.From, Since", "Since"}},
		Test:  "internal/lock/record TestIntentsComeBackAsTheyWere", Rule: "From",
	},
	{
		Name:  "hand-over of a pod that never ran, which ends because the pod has changed",
		Edits: []Edit{{"internal/plan/pool/intent_status.go", "i.From == pod.From && pod.Gated && s.owns(&pod)", "i.From == pod.UID && pod.Gated && s.owns(&pod)"}},
		Test:  poolScenarios + "a-hand-over-of-a-pod-that-never-ran-stays-recorded-while-it-waits", Rule: "release",
	},
	{
		Name:  "hand-over from the pod before one that never ran, recorded again",
		Edits: []Edit{{"internal/plan/pool/keep_identity.go", "p.isRecorded(c) || p.givenUp", "p.ends[c.From] || p.givenUp"}},
		Test:  poolScenarios + "a-hand-over-of-a-pod-that-never-ran-is-recorded-once", Rule: "keep identity",
	},
	{
		Name:  "pod without data that needs another one to be available",
		Edits: []Edit{{"internal/plan/pool/update.go", "p.hasClaims(pod) && !p.hasNoData(pod) && !pod.Up()", "p.hasClaims(pod) && !pod.Up()"}},
		Test:  poolScenarios + "a-new-pod-whose-claim-does-not-come-makes-room-for-the-newest-template", Rule: "TooManyUnhealthy",
	},
	{
		Name:  "pod that is replaced, completed",
		Edits: []Edit{{"internal/plan/pool/complete_pod.go", "|| replaced[pod.Name] {", "{"}},
		Test:  poolScenarios + "a-new-pod-whose-claim-does-not-come-makes-room-for-the-newest-template", Rule: "complete web-a",
	},
	{
		Name:  "pod that cannot be replaced under another hold, not completed",
		Edits: []Edit{{"internal/plan/pool/complete_pod.go", "replaced[d.Pod] = p.held().None()", "replaced[d.Pod] = true"}},
		Test:  poolScenarios + "a-new-pod-of-a-former-template-that-needs-a-claim-is-completed-while-another-has-the-hold", Rule: "complete web-a with extra",
	},
	{
		Name:  "hand-over of a pod that never ran, recorded although the pod has run",
		Edits: []Edit{{"internal/plan/pool/intent_status.go", "i.From == pod.From && pod.Gated && s.owns(&pod)", "i.From == pod.From && s.owns(&pod)"}},
		Test:  poolScenarios + "a-hand-over-of-a-pod-that-never-ran-is-over-once-the-pod-may-run", Rule: "release",
	},
	{
		Name:  "kept identity whose former record is about another hand-over, taken for recorded",
		Edits: []Edit{{"internal/plan/pool/keep_identity.go", "handedOverFrom(i) == c.From && p.ends[i.UID]", "(i.From == c.From || i.UID == c.From) && p.ends[i.UID]"}},
		Test:  poolScenarios + "a-pod-that-has-run-after-a-hand-over-is-kept-although-an-older-one-is-recorded", Rule: "HandoverFailed",
	},
	{
		Name:  "record of a hand-over that loses the pod before",
		Edits: []Edit{{"internal/lock/hold/record.go", "Overtook: d.Overtakes, From: d.From}", "Overtook: d.Overtakes}"}},
		Test:  "internal/plan/pool TestTheHandOverOfAPodThatNeverRanNamesThePodBefore", Rule: "the Lease records",
	},
	{
		Name:  "identity whose claims no pod mounts, given up for an update",
		Edits: []Edit{{poolHandOver, "== len(p.Mounts) && s.hasClaims(p)", "== len(p.Mounts) && len(p.Mounts) > 0"}},
		Test:  poolScenarios + "a-template-without-claims-hands-identities-over", Rule: "UpdatedByNewIdentity",
	},
	{
		Name:  "claim that an identity has never had, missed in one of a former object",
		Edits: []Edit{{"internal/plan/pool/adopt.go", "\t\tif pod.Gated {\n\t\t\tcontinue // it may wait for a claim that its identity has never had\n\t\t}\n\t\tlabel.Siblings = append(label.Siblings, m.Template)\n\t\tif slices", "\t\tlabel.Siblings = append(label.Siblings, m.Template)\n\t\tif pod.Gated || slices"}},
		Test:  "internal/plan/pool TestClaimsOfAFormerObjectNameThoseThatTheIdentityHad", Rule: "the plan labels",
	},
	{
		Name:  "pod with data that leaves before one without",
		Edits: []Edit{{"internal/plan/pool/surplus.go", "\t\tfirst(p.hasNoData(&a), p.hasNoData(&b)),\n", ""}},
		Test:  poolScenarios + "a-pod-without-data-leaves-before-one-that-waits-with-data", Rule: "delete web-a",
	},
	{
		Name:  "pod without claims released at once",
		Edits: []Edit{{"internal/plan/pool/release_pod.go", "return pod.Gated || p.releasedFrom(pod).After(p.Now)", "return pod.Gated"}},
		Test:  poolScenarios + "a-young-pod-without-claims-that-the-selector-does-not-match-keeps-its-place", Rule: "release",
	},
	{
		Name:  "containers of a patch in another order than that of the pod",
		Edits: []Edit{{"internal/act/pool_updates.go", "for _, c := range s.Pods[i].Containers {\n\t\t\tnames = append(names, c.Name)", "for _, c := range s.Pods[i].Containers {\n\t\t\tnames = append([]string{c.Name}, names...)"}},
		Test:  "internal/act TestUpdatesOfAStatefulCluster/containers get images in their order", Rule: "want",
	},
	{
		Name:  "hand-over with a claim that is being deleted",
		Edits: []Edit{{poolHandOver, "return !c.Retired && !c.Deleting && c.From == from })", "return !c.Retired && c.From == from })"}},
		Test:  poolScenarios + "a-hand-over-with-a-claim-that-is-being-deleted-is-given-up", Rule: "hand over a",
	},
	{
		Name:  "two hand-overs for one place below the partition",
		Edits: []Edit{{poolHandOver, "\t\t\tatCurrent--\n", ""}},
		Test:  poolScenarios + "two-identities-that-are-handed-over-share-the-places-below-the-partition", Rule: "hand over b of web at 1",
	},
	{
		Name:  "request to keep an identity, taken back by a mark for a new claim",
		Edits: []Edit{{"internal/plan/pool/complete_pod.go", "mark.Siblings, mark.Retain = append(mark.Siblings, c.Template), mark.Retain || c.Retain", "mark.Siblings = append(mark.Siblings, c.Template)"}},
		Test:  "internal/plan/pool TestMarksOfNewClaimsKeepTheRequestToKeepAnIdentity", Rule: "the plan marks",
	},
	{
		Name:  "dry run without the annotation of an identity that is handed over",
		Edits: []Edit{{"internal/act/pool_revisions.go", "From: s.Object.UID, Revision: a.Hash", "Revision: a.Hash"}},
		Test:  "internal/act TestUpdatesOfAStatefulCluster/a template that is refused becomes none", Rule: "want",
	},
	{
		Name:  "claims of a pod behind its gate, marked for its own hand-over",
		Edits: []Edit{{"internal/plan/pool/update.go", "case prepares && pod.Gated: // its", "case prepares && pod.Gated && pod.Phase == plan.Terminating: // its"}},
		Test:  poolScenarios + "a-successor-with-all-claims-is-scheduled-before-its-next-hand-over", Rule: "prepare hand-over of a",
	},
	{
		Name:  "hand-over that another process has made, taken for a failure",
		Edits: []Edit{{actPools, "return reason.WithClass(reason.Moved, creation)", "return reason.WithClass(reason.Again, creation)"}},
		Test:  "internal/act TestAHandOverThatAnotherProcessHasMadeIsNoFailure/the next pod exists", Rule: "is of class again, want moved",
	},
	{
		Name:  "hand-over whose claim has changed, taken for a failure",
		Edits: []Edit{{actPools, "errs[i] = reason.WithClass(reason.Moved, fmt.Errorf(\"claim", "errs[i] = reason.WithClass(reason.Again, fmt.Errorf(\"claim"}},
		Test:  "internal/act TestAHandOverThatAnotherProcessHasMadeIsNoFailure/a claim has changed", Rule: "is of class again, want moved",
	},
	{
		Name:  "record of a kept identity at no version",
		Edits: []Edit{{poolKeep, "UID: uid, Version: at, Cause", "UID: uid, Cause"}},
		Test:  "internal/plan/pool TestTheRecordOfAKeptIdentityOutlastsOlderViews/its pod terminates", Rule: "does not count",
	},
	{
		Name:  "record of a kept identity without a pod at no version",
		Edits: []Edit{{poolKeep, "p.keptIntent(name, c.From, p.PodsAt)", "p.keptIntent(name, c.From, 0)"}},
		Test:  "internal/plan/pool TestTheRecordOfAKeptIdentityOutlastsOlderViews/its pod is gone", Rule: "does not count",
	},
	{
		Name:  "rule about records that takes a deletion of a later version for a grant",
		Edits: []Edit{{"internal/lock/invariant/pools/budget.go", "k.UID == i.UID && (k.Version == i.Version || !isGrant(i))", "k.UID == i.UID"}},
		Test:  rulesOfPlans + "a grant gives way to a deletion of a later version", Rule: "RecordKept",
	},
	{
		Name:  "identity whose claims no pod mounts, given up in a small world",
		Edits: []Edit{{poolHandOver, "== len(p.Mounts) && s.hasClaims(p)", "== len(p.Mounts) && len(p.Mounts) > 0"}},
		Test:  poolWorlds, Rule: "UpdateKept",
	},
	{
		Name:  "claim that an identity has never had, missed in a small world",
		Edits: []Edit{{"internal/plan/pool/adopt.go", "\t\tif pod.Gated {\n\t\t\tcontinue // it may wait for a claim that its identity has never had\n\t\t}\n\t\tlabel.Siblings = append(label.Siblings, m.Template)\n\t\tif slices", "\t\tlabel.Siblings = append(label.Siblings, m.Template)\n\t\tif pod.Gated || slices"}},
		Test:  poolWorlds, Rule: "HandoverKept",
	},
}
