package mutants

const (
	poolWorkload = "internal/plan/pool/workload.go"
	whenDue      = "internal/plan/pool TestAPlanIsMadeAgainWhenSomethingIsDue/"
)

// unnoticedInPlans are mistakes in plans of StatefulClusters that no test noticed when they were planted.
var unnoticedInPlans = []Mutant{
	{
		Name:  "resize given up although there is no deadline",
		Edits: []Edit{{poolStages, "pod.Resize != ResizeDeferred || p.Object.Deadline == 0", "pod.Resize != ResizeDeferred"}},
		Test:  poolScenarios + "without-a-deadline-resources-that-do-not-fit-now-are-waited-for", Rule: "prepare hand-over",
	},
	{
		Name:  "resize of another client taken for one of an update",
		Edits: []Edit{{poolStages, "return pod.Update.Begun && len(toResize(pod, change)) == 0", "return len(toResize(pod, change)) == 0"}},
		Test:  poolScenarios + "a-resize-by-another-client-that-never-fits-stops-no-update-in-place", Rule: "prepare hand-over",
	},
	{
		Name:  "claims of a pod that waits for a claim, grown",
		Edits: []Edit{{growClaims, "<= c.Storage.Bytes || pod.Gated:", "<= c.Storage.Bytes:"}},
		Test:  poolScenarios + "claims-of-a-pod-that-waits-for-a-claim-do-not-grow", Rule: "grow web-data-b",
	},
	{
		Name:  "claims of a pod that is too many, grown",
		Edits: []Edit{{growClaims, "range p.needed()", "range p.staying"}},
		Test:  poolScenarios + "claims-of-a-pod-that-is-too-many-do-not-grow", Rule: "grow web-data-a",
	},
	{
		Name:  "look at volumes that is not made when it is due",
		Edits: []Edit{{poolWorkload, "due = append(due, p.looksDue()...)", "_ = p.looksDue"}},
		Test:  whenDue + "volumes are to be looked at again", Rule: "20s",
	},
	{
		Name:  "look at volumes that is due for a pod that is too many",
		Edits: []Edit{{poolVolumes, "needed := p.needed()", "needed := p.staying"}},
		Test:  whenDue + "volumes of a pod that is too many", Rule: "6m0s",
	},
	{
		Name:  "update of a pool that is complete although one in place has begun",
		Edits: []Edit{{poolWorkload, "(p.Revision != newest || p.Update.Begun)", "p.Revision != newest"}},
		Test:  "internal/plan/pool TestAnUpdateIsCompleteOnceEachPodHasTheNewestTemplate/one is being given its former resources", Rule: "rolled out",
	},
	{
		Name:  "update of a pool that waits for pods that have ended",
		Edits: []Edit{{poolWorkload, "s.owns(p) && p.Active() &&", "s.owns(p) &&"}},
		Test:  "internal/plan/pool TestAnUpdateIsCompleteOnceEachPodHasTheNewestTemplate", Rule: "rolled out",
	},
	{
		Name:  "update that has begun, cancelled because others have failed",
		Edits: []Edit{{poolUpdate, "unavailable > most && !pod.Update.Begun:", "unavailable > most:"}},
		Test:  poolScenarios + "an-update-that-has-begun-is-not-cancelled-because-others-have-failed", Rule: "cancel deletion",
	},
	{
		Name:  "pod that a person names, deleted while a client may evict it",
		Edits: []Edit{{poolUpdate, "return pod.Asked && !p.ails(pod) && !p.granted(pod) })", "return pod.Asked && !p.ails(pod) })"}},
		Test:  poolScenarios + "a-pod-that-is-evicted-is-not-replaced-as-well", Rule: "delete web-a",
	},
	{
		Name:  "pod that a person names and that ails, deleted twice",
		Edits: []Edit{{poolUpdate, "return pod.Asked && !p.ails(pod) && !p.granted(pod) })", "return pod.Asked && !p.granted(pod) })"}},
		Test:  poolScenarios + "a-pod-of-a-node-that-is-gone-and-that-a-person-names-is-replaced-once", Rule: "ReplacementAsked",
	},
	{
		Name:  "update that has begun goes on while a client may evict the pod",
		Edits: []Edit{{poolUpdate, "pod.Update.Begun && !pod.Asked && !p.ails(pod) && !p.granted(pod) })", "pod.Update.Begun && !pod.Asked && !p.ails(pod) })"}},
		Test:  poolScenarios + "a-pod-that-is-evicted-during-its-update-is-left-alone", Rule: "begin to update web-a",
	},
	{
		Name:  "update that has begun goes on although the node is gone",
		Edits: []Edit{{poolUpdate, "pod.Update.Begun && !pod.Asked && !p.ails(pod) && !p.granted(pod) })", "pod.Update.Begun && !pod.Asked && !p.granted(pod) })"}},
		Test:  poolScenarios + "an-update-that-has-begun-ends-with-the-node-of-its-pod", Rule: "begin to update web-a",
	},
	{
		Name:  "outdated pod that a person names, deleted twice",
		Edits: []Edit{{poolUpdate, "!pod.Update.Begun && !pod.Asked && !p.ails(pod) && !p.granted(pod)\n", "!pod.Update.Begun && !p.ails(pod) && !p.granted(pod)\n"}},
		Test:  poolScenarios + "an-outdated-pod-that-a-person-names-is-replaced-once", Rule: "delete web-a",
	},
	{
		Name:  "hand-over from a node that is gone, taken for a doubtful end",
		Edits: []Edit{{poolRepair, "return ailment{cause: reason.IdentityHandover}", "return ailment{cause: reason.IdentityHandover, certainty: doubtful}"}},
		Test:  poolScenarios + "the-last-pod-of-a-node-that-is-gone-is-handed-over", Rule: "TooManyUnhealthy",
	},
	{
		Name:  "hand-over from a node that is gone, taken for damage",
		Edits: []Edit{{poolRepair, "return ailment{cause: reason.IdentityHandover}", "return ailment{cause: reason.IdentityHandover, certainty: damaged}"}},
		Test:  poolScenarios + "the-last-pod-of-a-node-that-is-gone-is-handed-over", Rule: "wait web",
	},
	{
		Name:  "hand-over from a node that is gone, without a claim",
		Edits: []Edit{{poolRepair, "p.Object.Keep.OnEviction) && p.whole(pod):", "p.Object.Keep.OnEviction):"}},
		Test:  poolScenarios + "a-pod-of-a-node-that-is-gone-and-that-lacks-a-claim-is-replaced", Rule: "IdentityHandover",
	},
	{
		Name:  "retained identity given up because its node is gone",
		Edits: []Edit{{poolRepair, "case pod.Node.Gone && (p.isRetained(pod) || p.Object.Keep.OnEviction)", "case pod.Node.Gone && p.Object.Keep.OnEviction"}},
		Test:  poolScenarios + "a-retained-pod-of-a-node-that-is-gone-is-handed-over", Rule: "NodeGone",
	},
	{
		Name:  "repair because of a volume, taken for another kind of deletion",
		Edits: []Edit{{poolRepair, "reason.NodeGone, reason.VolumeUnreachable, ", "reason.NodeGone, "}},
		Test:  poolScenarios + "recorded-repairs-that-are-no-longer-due-are-cancelled", Rule: "web-g",
	},
	{
		Name:  "repair because of a node that is gone, taken for another kind of deletion",
		Edits: []Edit{{poolRepair, "{reason.NodeGone, reason.VolumeUnreachable, ", "{reason.VolumeUnreachable, "}},
		Test:  poolScenarios + "recorded-repairs-that-are-no-longer-due-are-cancelled", Rule: "web-a",
	},
	{
		Name:  "repair because of a claim, taken for another kind of deletion",
		Edits: []Edit{{poolRepair, "reason.NodeLost, reason.ClaimLost, ", "reason.NodeLost, "}},
		Test:  poolScenarios + "recorded-repairs-that-are-no-longer-due-are-cancelled", Rule: "web-c",
	},
	{
		Name:  "repair because of a hand-over, taken for another kind of deletion",
		Edits: []Edit{{poolRepair, "reason.HandoverFailed, reason.CrashLooping, ", "reason.CrashLooping, "}},
		Test:  poolScenarios + "recorded-repairs-that-are-no-longer-due-are-cancelled", Rule: "web-d",
	},
	{
		Name:  "pod that serves without claims, taken for a new one",
		Edits: []Edit{{poolState, "return p.Gated && len(s.claimsOf(p.ID)) == 0", "return len(s.claimsOf(p.ID)) == 0"}},
		Test:  poolScenarios + "a-pod-that-serves-without-claims-is-not-taken-for-a-new-one", Rule: "delete web-a",
	},
	{
		Name:  "pod with claims given up for a hand-over because it still waits for one",
		Edits: []Edit{{poolState, "return p.Gated && len(s.claimsOf(p.ID)) == 0", "return p.Gated"}},
		Test:  poolScenarios + "a-pod-with-claims-keeps-its-place-beside-a-hand-over", Rule: "delete web-b",
	},
}
