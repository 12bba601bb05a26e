package mutants

const (
	poolWorkload = "internal/plan/pool/workload.go"
	whenDue      = "internal/plan/pool TestAPlanIsMadeAgainWhenSomethingIsDue/"

	historyBounds = "internal/lock/history/bounds.go"
	successors    = "internal/lock/history/successor.go"
	whoSucceeds   = "internal/lock/history TestWhichPodIsTheSuccessorOfAReplacedOne/"
	whenItEnds    = "internal/lock/history TestTheRecordOfAReplacementEndsWithItsSuccessor/"
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

// unnoticedInHistory are mistakes in what the Lease records of replaced pods that no test noticed when they were planted.
var unnoticedInHistory = []Mutant{
	{
		Name:  "latest replacements forgotten instead of the oldest",
		Edits: []Edit{{historyBounds, "r.Replacements[max(0, len(r.Replacements)-(MaxPods-pods)):]", "r.Replacements[:min(len(r.Replacements), MaxPods-pods)]"}},
		Test:  "internal/lock/history TestTheOldestReplacementsAreForgottenFirst", Rule: "want the latest two",
	},
	{
		Name:  "replacements kept without a limit",
		Edits: []Edit{{historyBounds, "len(r.Replacements)-(MaxPods-pods)", "min(0, pods)"}},
		Test:  "internal/lock/history TestTheOldestReplacementsAreForgottenFirst", Rule: "want the latest two",
	},
	{
		Name:  "latest zones of a rollout forgotten instead of the oldest",
		Edits: []Edit{{historyBounds, "r.Current.Zones = r.Current.Zones[n-MaxZones:]", "r.Current.Zones = r.Current.Zones[:MaxZones]"}},
		Test:  "internal/lock/history TestTheOldestUnitsOfAnUpdateAreForgottenFirst", Rule: "the first one is 0",
	},
	{
		Name:  "pod that terminates, recorded as a successor",
		Edits: []Edit{{successors, "serves := pod.Phase != plan.Terminating && pod.Name", "serves := pod.Name"}},
		Test:  whoSucceeds + "not one that terminates", Rule: "db-b",
	},
	{
		Name:  "oldest of two pods recorded as a successor",
		Edits: []Edit{{successors, "pod.Created > found.Created)", "pod.Created < found.Created)"}},
		Test:  whoSucceeds + "the youngest of two", Rule: "db-c",
	},
	{
		Name:  "pod that was seen before a deletion, recorded as a successor",
		Edits: []Edit{{successors, " || pod.Seen.Created != 0 && created.Before(p.Deleted)", ""}},
		Test:  whoSucceeds + "not one that was seen before the end in that second", Rule: "db-b",
	},
	{
		Name:  "record of a replacement that lasts although the successor terminates",
		Edits: []Edit{{successors, "case !exists || next.Phase == plan.Terminating:", "case !exists:"}},
		Test:  whenItEnds + "the successor terminates", Rule: "open: false",
	},
	{
		Name:  "record of a replacement that lasts although the successor has ended",
		Edits: []Edit{{successors, "case !exists || next.Phase == plan.Terminating:", "case next.Phase == plan.Terminating:"}},
		Test:  whenItEnds + "the successor has ended", Rule: "open: false",
	},
	{
		Name:  "record that is written again in each round while it is open",
		Edits: []Edit{{holdDecision, "record.Rollouts.Open() < s.Hold.Rollouts.Open()", "record.Rollouts.Open() <= s.Hold.Rollouts.Open()"}},
		Test:  whenItEnds + "the successor starts", Rule: "the Lease is written: true",
	},
	{
		Name:  "replacement that gets another trace with each write",
		Edits: []Edit{{actHold, "\t\tif r.Trace == \"\" {\n\t\t\tr.Trace", "\t\tif r.Trace != \"-\" {\n\t\t\tr.Trace"}},
		Test:  "internal/act TestTheLeaseKeepsReplacementsWithASampledTrace", Rule: "3333",
	},
}
