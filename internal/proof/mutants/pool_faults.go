package mutants

const simulatedRead = "internal/proof/sim/pools/process.go"

// faultsOfPools are mistakes that a hostile reader found, or planted without being noticed.
var faultsOfPools = []Mutant{
	{
		Name:  "identity given up because its former pod is still recorded",
		Edits: []Edit{{poolKeep, "&& !p.ends[pod.UID] && p.keeps(pod)", "&& !p.openOf[pod.Name] && p.keeps(pod)"}},
		Test:  poolScenarios + "a-kept-identity-whose-next-pod-is-deleted-is-kept-again", Rule: "create 1 pods of web",
	},
	{
		Name:  "identity given up because its next pod has gone as well",
		Edits: []Edit{{poolKeep, "p.hasPod(c.ID) || p.isRecorded(c) || p.givenUp[name] ||", "p.hasPod(c.ID) || p.openOf[name] ||"}},
		Test:  poolScenarios + "a-kept-identity-whose-next-pod-is-gone-is-kept-again", Rule: "create 1 pods of web",
	},
	{
		Name:  "identity kept although its next pod was given up",
		Edits: []Edit{{poolKeep, "|| p.isRecorded(c) || p.givenUp[name] ||", "|| p.isRecorded(c) ||"}},
		Test:  poolScenarios + "an-identity-whose-next-pod-was-given-up-is-not-kept", Rule: "keep identity of web-a",
	},
	{
		Name:  "update in place taken for the end of its pod",
		Edits: []Edit{{poolState, "if i.Cause != reason.UpdatedInPlace { // which", "if reason.UpdatedInPlace != \"\" { // which"}},
		Test:  poolScenarios + "a-pod-that-is-deleted-during-its-update-keeps-its-identity", Rule: "create 1 pods of web",
	},
	{
		Name:  "surplus deleted beside a cancellation that may fail",
		Edits: []Edit{{poolSurplus, "return cancellations, nil", "steps = cancellations"}},
		Test:  poolScenarios + "no-pod-leaves-before-a-cancellation-is-seen", Rule: "delete web-a",
	},
	{
		Name:  "copy given up in doubt beside one that leaves",
		Edits: []Edit{{"internal/plan/pool/repair.go", "slices.ContainsFunc(p.needed(), func(other Pod) bool {", "slices.ContainsFunc(p.staying, func(other Pod) bool {"}},
		Test:  poolScenarios + "the-last-copy-stays-beside-one-that-leaves", Rule: "delete web-a of web because NodeLost",
	},
	{
		Name:  "copy given up in doubt beside a damaged one",
		Edits: []Edit{{"internal/plan/pool/repair.go", "&& !p.down(&other) && !p.ails(&other)", "&& !p.down(&other)"}},
		Test:  poolScenarios + "the-last-copy-stays-beside-a-damaged-one", Rule: "delete web-a of web because NodeLost",
	},
	{
		Name:  "rule about doubt that counts a copy which the plan ends",
		Edits: []Edit{{"internal/lock/invariant/pools/doubt.go", " && !ends[p.Name]", " && (!ends[p.Name] || true)"}},
		Test:  rulesOfPlans + "a copy is given up in doubt beside one that leaves", Rule: "DoubtKept",
	},
	{
		Name:  "claims that belong to an object which a cache still shows",
		Edits: []Edit{{"internal/plan/pool/claims.go", "\tif a.Owned {\n\t\tread = plan.Always\n\t}\n", ""}},
		Test:  poolScenarios + "claims-belong-to-the-object-if-they-go-with-it", Rule: "hold: read live",
	},
	{
		Name:  "simulated live read of pods before their claims",
		Edits: []Edit{{simulatedRead, "struct{ objects, claims plan.Version }", "struct{ objects, claims, pods plan.Version }"}, {simulatedRead, "\t\tread.claims = p.server.version\n", "\t\tread.pods = p.server.version\n"}, {simulatedRead, "p.server.snapshot(read.objects, p.server.version, read.claims, true)", "p.server.snapshot(read.objects, read.pods, p.server.version, true)"}},
		Test:  poolRuns, Rule: "EndedWithoutPod",
		Remark: "this simulation shows why the order matters; the order of the product is that of another mutant",
	},
	{
		Name:  "live read of an object before its claims",
		Edits: []Edit{{"internal/cluster/pools/observer.go", "\tif err := o.readClaims(ctx, &s); err != nil {", "\t_ = o.readObject(ctx, &s)\n\tif err := o.readClaims(ctx, &s); err != nil {"}},
		Test:  "internal/cluster/pools TestALiveReadListsPodsAndTheObjectAfterClaims", Rule: "requests began at other times",
	},
	{
		Name:  "deletion that was withdrawn and counts again once the pod ends",
		Edits: []Edit{{poolStatus, "pod.Withdrawn >= i.Version &&", "pod.Withdrawn > i.Version+1000 &&"}},
		Test:  poolScenarios + "a-deletion-that-was-withdrawn-is-no-reason", Rule: "end intent of web-a",
	},
	{
		Name:  "withdrawn deletion that stays recorded",
		Edits: []Edit{{"internal/plan/pool/evict.go", "case status == plan.Obsolete && p.open > 0:", "case status == plan.Obsolete && p.open > 100:"}},
		Test:  poolScenarios + "a-withdrawn-deletion-leaves-the-record-at-once", Rule: "end intent of web-a",
	},
	{
		Name:  "claim that is not mounted any more, forgotten in a hand-over",
		Edits: []Edit{{poolHandOver, "claims := append(p.mounted(pod), p.unmounted(pod)...)", "claims := p.mounted(pod)"}},
		Test:  poolScenarios + "a-claim-of-a-template-that-was-removed-is-handed-over-as-well", Rule: "delete web-a",
	},
	{
		Name:  "earlier one of two equal revisions",
		Edits: []Edit{{"internal/plan/pool/revision.go", "(found.Name == \"\" || r.Number > found.Number)", "found.Name == \"\""}},
		Test:  poolScenarios + "of-two-equal-revisions-the-later-one-counts", Rule: "renumber 2 to 3",
	},
	{
		Name:  "revision recorded twice because the first one cannot be read",
		Edits: []Edit{{"internal/act/pool_revisions.go", "if readErr != nil && !apierrors.IsNotFound(readErr) {", "if readErr != nil && apierrors.IsNotFound(readErr) {"}},
		Test:  ofUpdates + "a revision whose name is taken, and that cannot be read, is not recorded under another name", Rule: "POST controllerrevisions",
	},
	{
		Name:  "paused template in the next pod of an identity",
		Edits: []Edit{{poolHandOver, "if atCurrent > 0 {", "if atCurrent > 1000 {"}},
		Test:  poolScenarios + "a-kept-identity-gets-no-new-template-while-updates-are-paused", Rule: "hand over a of web at 2",
	},
	{
		Name:  "kept claim that Kubernetes deletes with the object",
		Edits: []Edit{{"internal/plan/pool/claims.go", "p.Object.Claim.DeleteWithObject && !kept[c.ID]", "p.Object.Claim.DeleteWithObject"}},
		Test:  poolScenarios + "a-claim-that-a-person-keeps-is-not-owned", Rule: "disown 1 claims",
	},
	{
		Name:  "request to keep an identity that counts for every later pod",
		Edits: []Edit{{poolKeep, "|| p.isRetained(&pod) || p.wasRetained(&pod)", "|| p.isRetained(&pod)"}},
		Test:  poolScenarios + "a-person-asks-once-to-keep-an-identity", Rule: "prepare hand-over of a",
	},
	{
		Name:  "gate removed from a pod that lacks a claim without a template",
		Edits: []Edit{{poolComplete, " || p.lacksTemplate(&pod) || p.isSpoiled(&pod) ||", " || p.isSpoiled(&pod) ||"}, {"internal/plan/pool/repair.go", "(p.lacksTemplate(pod) || p.Taken[pod.ID])", "p.Taken[pod.ID]"}},
		Test:  poolScenarios + "a-pod-whose-claim-template-is-gone-is-replaced", Rule: "complete web-a",
	},
	{
		Name:  "claim of a former pod mounted by the next one",
		Edits: []Edit{{actPools, " || from != a.From && from != a.UID {", " {\n\t\t_ = from"}},
		Test:  "internal/act TestAPodIsNotCompletedWithAClaimOfAFormerPod", Rule: "former",
	},
	{
		Name:  "gate removed from any pod of the name",
		Edits: []Edit{{actPools, "`{\"metadata\":{\"uid\":%q},\"spec\":{\"schedulingGates\":[{\"name\":%q,\"$patch\":\"delete\"}]}}`, a.UID, contract.ClaimsGate)", "`{\"spec\":{\"schedulingGates\":[{\"name\":%q,\"$patch\":\"delete\"}]}}`, contract.ClaimsGate)"}},
		Test:  ofUpdates + "the gate is removed from this very pod", Rule: "uid-a",
	},
	{
		Name:  "end of an identity that a template says",
		Edits: []Edit{{"internal/render/render.go", "contract.RetiredAtAnnotation, contract.RetiredReasonAnnotation, contract.SpecifiedDeleteLabel,", "contract.SpecifiedDeleteLabel,"}},
		Test:  "internal/render TestATemplateCannotSayWhatOnlyLockstepSays", Rule: "retired-at",
	},
	{
		Name:  "update in place that the kubelet has not seen, taken for complete",
		Edits: []Edit{{"internal/cluster/pools/convert.go", "Observed: p.Status.ObservedGeneration,", "Observed: p.Generation,"}},
		Test:  "internal/cluster/pools TestAPodIsConverted", Rule: "Observed",
	},
	{
		Name:  "pod that counts as evicted although it is not",
		Edits: []Edit{{"internal/cluster/pools/convert.go", "case c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue:", "case c.Type == corev1.DisruptionTarget:"}},
		Test:  "internal/cluster/pools TestAPodIsConverted", Rule: "Disrupted",
	},
	{
		Name:  "owner of another version of a claim",
		Edits: []Edit{{"internal/act/pool_claims.go", "\"uid\": c.UID, \"resourceVersion\": c.Version.String(), \"ownerReferences\"", "\"uid\": c.UID, \"ownerReferences\""}},
		Test:  ofUpdates + "claims get the object as their owner", Rule: "resourceVersion",
	},
	{
		Name:  "silent node that is not read live",
		Edits: []Edit{{poolNodes, "(node.Gone || !node.Silent.IsZero())", "node.Gone"}},
		Test:  "internal/cluster/pools TestALiveReadReadsTheNodesThatSeemToBeSilent", Rule: "the node is",
	},
	{
		Name:  "claim that is being deleted and counts as there",
		Edits: []Edit{{"internal/cluster/pools/observer.go", "case err == nil && claim.DeletionTimestamp == nil:", "case err == nil:"}},
		Test:  "internal/cluster/pools TestALiveReadReadsTheClaimsThatLackTheLabels", Rule: "are being deleted",
	},
	{
		Name:  "template that cannot be used, whose revision stays the newest",
		Edits: []Edit{{"internal/cluster/pools/checks.go", "case s.Object.InvalidTemplate != \"\":", "case false:"}},
		Test:  "internal/cluster/pools TestAnInvalidTemplateIsRefusedAndNothingElse", Rule: "refused because of",
	},
	{
		Name:  "label of a template that contradicts the selector",
		Edits: []Edit{{"internal/cluster/pools/convert.go", "if !selector.Matches(labelsOf(s)) {", "if false {"}},
		Test:  "internal/cluster/pools TestASelectorThatExcludesTheTemplateMakesItInvalid", Rule: "it is invalid because of",
	},
	{
		Name:  "claim template that the API server refuses, recorded as a revision",
		Edits: []Edit{{"internal/act/pool_revisions.go", "err = e.tryClaims(ctx, s, b.ID)", "_ = e.tryClaims(ctx, s, b.ID)"}},
		Test:  "internal/act TestUpdatesOfAStatefulCluster/a claim template that is refused makes none", Rule: "POST controllerrevisions",
	},
	{
		Name:  "template refused because a quota leaves no room for claims",
		Edits: []Edit{{actLabels, "answer.Error(); isWrong(err) {", "answer.Error(); err != nil {"}},
		Test:  "internal/act TestUpdatesOfAStatefulCluster/a template whose claims a quota refuses becomes one", Rule: "error",
	},
	{
		Name:  "refusal of a template that is corrected",
		Edits: []Edit{{"internal/cluster/pools/checks.go", "case known.refusedHash == s.Object.Hash:", "case known.refusedHash != \"\":"}},
		Test:  "internal/cluster/pools TestARefusalIsAboutOneTemplate", Rule: "corrected",
	},
	{
		Name:  "refusal that the status does not show",
		Edits: []Edit{{"internal/control/pools/controller.go", "append(failure, steps...), append(", "append(failure[:0], steps...), append("}},
		Test:  "internal/control/pools TestFailuresThatLastAreReportedWithTheirMessage", Rule: "exceeded quota",
	},
	{
		Name:  "failure that only a person can end, reported only if it comes again",
		Edits: []Edit{{"internal/control/failing/failing.go", "	case reason.ClassOf(failure) == reason.Human:\n\t\treturn because, true\n", ""}},
		Test:  "internal/control/pools TestFailuresThatLastAreReportedWithTheirMessage", Rule: "exists",
	},
	{
		Name:  "new pod that waits for a claim which another owner has",
		Edits: []Edit{{"internal/plan/pool/repair.go", "(p.lacksTemplate(pod) || p.Taken[pod.ID])", "p.lacksTemplate(pod)"}},
		Test:  poolScenarios + "a-pod-whose-claim-another-owner-has-is-replaced", Rule: "delete web-a",
	},
	{
		Name:  "new claim that the others of its identity do not name",
		Edits: []Edit{{poolComplete, "if pod.From == \"\" {\n\t\treturn p.prepare(pod)\n\t}", "if pod.From == \"\" {\n\t\treturn p.prepare(pod)\n\t}\n\tif true {\n\t\treturn PrepareHandover{}, true\n\t}"}},
		Test:  poolScenarios + "claims-that-come-with-a-hand-over-are-named-by-the-others", Rule: "complete web-a",
	},
	{
		Name:  "claim that a running pod mounts, taken for lost because of an earlier mark",
		Edits: []Edit{{poolHandOver, "foreign := p.Gated && p.From", "foreign := p.From"}},
		Test:  poolScenarios + "a-claim-that-a-running-pod-mounts-is-that-of-its-identity", Rule: "ClaimLost",
	},
	{
		Name:  "failed read that is reported as a plan without actions",
		Edits: []Edit{{"internal/control/pools/controller.go", "\tif !lasts && len(t.filled) == 0 {\n\t\treturn loop.Done()\n\t}\n", "\t_ = lasts\n"}},
		Test:  "internal/control/pools TestReadsThatFailAreReportedOnlyOnceTheyLast", Rule: "at once",
	},
}
