package mutants

const (
	poolRepair = "internal/plan/pool/repair.go"
	poolNodes  = "internal/cluster/pools/nodes.go"

	poolVolumes = "internal/plan/pool/volumes.go"
	poolEnded   = "internal/plan/pool/finished.go"
)

// poolRepairs are mistakes in when lockstep gives up the identity of a pod.
var poolRepairs = []Mutant{
	{
		Name:  "pods that all nodes end given up one after the other",
		Edits: []Edit{{poolEnded, "&& !p.mayGiveUpEnded()", "&& false"}},
		Test:  "internal/proof/sim/pools TestRuns", Rule: "DoubtKept",
	},
	{
		Name:  "ended pod given up without another one that serves",
		Edits: []Edit{{poolEnded, "|| another && p.few", "|| (another || true) && p.few"}},
		Test:  "internal/proof/sim/pools TestRuns", Rule: "DoubtKept",
	},
	{
		Name:  "ended pod kept although its end was recorded as that of its identity",
		Edits: []Edit{{poolEnded, "!p.recorded(pod, reason.PodFinished) && ", ""}},
		Test:  poolScenarios + "an-ended-pod-that-is-recorded-to-lose-its-identity-loses-it-in-doubt", Rule: "delete web-a of web because PodFinished",
	},
	{
		Name:  "recorded hand-over of an ended pod that is forgotten",
		Edits: []Edit{{poolEnded, ", p.recorded(pod, reason.IdentityHandover):", ":"}},
		Test:  poolScenarios + "an-ended-pod-that-is-recorded-for-a-hand-over-is-handed-over-although-others-serve", Rule: "because IdentityHandover",
	},
	{
		Name:  "pause after which there is no doubt any more",
		Edits: []Edit{{poolEnded, "&& (!kept || pod.From != \"\")", ""}},
		Test:  poolScenarios + "a-young-pod-that-its-kubelet-ended-is-handed-over-without-a-pause", Rule: "because IdentityHandover",
	},
	{
		Name:  "next pod that ends at once and is followed at once",
		Edits: []Edit{{poolEnded, "&& (!kept || pod.From != \"\")", "&& !kept"}},
		Test:  poolScenarios + "a-young-pod-that-its-kubelet-ended-is-handed-over-without-a-pause", Rule: "ReplacementPaused",
	},
	{
		Name:  "next pod that a node rejects taken for one without data",
		Edits: []Edit{{poolEnded, " || pod.From != \"\" || old", " || old"}},
		Test:  poolScenarios + "a-next-pod-that-a-node-rejects-keeps-its-identity-in-doubt", Rule: "prepare hand-over",
	},
	{
		Name:  "pod that its node rejects kept for ever",
		Edits: []Edit{{poolEnded, "pod.From != \"\" || old)", "pod.From != \"\" || old || !old)"}},
		Test:  poolScenarios + "a-first-pod-that-a-node-rejects-keeps-no-identity", Rule: "because PodFinished",
	},
	{
		Name:  "pod that ran taken for one without data because its node has started again",
		Edits: []Edit{{poolEnded, "pod.From != \"\" || old)", "pod.From != \"\" || old && false)"}},
		Test:  poolScenarios + "an-old-pod-that-its-node-rejects-keeps-its-identity", Rule: "because IdentityHandover",
	},
	{
		Name:  "pod whose containers have run taken for one without data",
		Edits: []Edit{{poolEnded, "(pod.Ran || pod.Disrupted", "(pod.Disrupted"}},
		Test:  poolScenarios + "a-young-pod-that-has-run-keeps-its-identity", Rule: "because IdentityHandover",
	},
	{
		Name:  "container that has ended taken for one that has never run",
		Edits: []Edit{{"internal/cluster/pools/convert.go", "c.State.Running != nil || c.State.Terminated != nil ||", "c.State.Running != nil ||"}},
		Test:  "internal/cluster/pools TestAPodIsConverted", Rule: "a container has ended",
	},
	{
		Name:  "rule that takes an old pod for one that never ran",
		Edits: []Edit{{"internal/lock/invariant/pools/doubt.go", "age >= surelyYoung", "age < 0"}},
		Test:  rulesOfPlans + "an old pod is rejected while another is down", Rule: "DoubtKept",
	},
	{
		Name:  "pod that its node rejected at once kept once its replacement has paused",
		Edits: []Edit{{poolEnded, "cmp.Or(pod.Ended, plan.UnixTimeOf(p.Now))", "cmp.Or(plan.UnixTimeOf(p.Now), pod.Ended)"}},
		Test:  poolScenarios + "a-pod-that-was-rejected-when-it-was-young-keeps-no-identity-after-a-pause", Rule: "prepare hand-over",
	},
	{
		Name:  "pod that was old when its node rejected it given up",
		Edits: []Edit{{poolEnded, "old := !ended", "old := pod.Ended == 0 && !ended"}},
		Test:  poolScenarios + "a-pod-that-was-rejected-when-it-was-old-keeps-its-identity", Rule: "because PodFinished",
	},
	{
		Name:  "pod without a time of its end taken for one that ended young",
		Edits: []Edit{{poolEnded, "cmp.Or(pod.Ended, plan.UnixTimeOf(p.Now))", "cmp.Or(pod.Ended, pod.Created)"}},
		Test:  poolScenarios + "an-old-pod-that-its-node-rejects-keeps-its-identity", Rule: "delete web-a of web because PodFinished",
	},
	{
		Name:  "rule by which a pod ages after its end",
		Edits: []Edit{{"internal/lock/invariant/pools/doubt.go", "if p.Ended > 0 {", "if false {"}},
		Test:  rulesOfPlans + "a pod that was young when it was rejected ends while another is down", Rule: "DoubtKept",
	},
	{
		Name:  "rule that takes each pod whose end is known for one that ended young",
		Edits: []Edit{{"internal/lock/invariant/pools/doubt.go", "age = int64(p.Ended - p.Created)", "age = 0"}},
		Test:  rulesOfPlans + "a pod that was old when it was rejected ends while another is down", Rule: "DoubtKept",
	},
	{
		Name:  "time of any write to a pod taken for that of its end",
		Edits: []Edit{{"internal/cluster/pools/convert.go", "entry.Time != nil && ownsPhase(entry)", "entry.Time != nil"}},
		Test:  "internal/cluster/pools TestThePhaseOfAPodSaysWhenItEnded", Rule: "the kubelet has rejected it",
	},
	{
		Name:  "first write of the phase of a pod taken for its end",
		Edits: []Edit{{"internal/cluster/pools/convert.go", "last = max(last, plan", "last = max(0, plan"}},
		Test:  "internal/cluster/pools TestThePhaseOfAPodSaysWhenItEnded", Rule: "two managers",
	},
	{
		Name:  "pod without claims that stays in doubt",
		Edits: []Edit{{"internal/plan/pool/surplus.go", "!pod.Asked && p.hasClaims(pod) &&", "!pod.Asked &&"}},
		Test:  poolScenarios + "a-pod-without-claims-is-no-copy-if-it-is-too-many", Rule: "delete web-c",
	},
	{
		Name:  "ended pod judged without a live read of the others",
		Edits: []Edit{{poolEnded, "d.NeedsLiveRead = p.mayHaveData(&pod.Pod)", "d.NeedsLiveRead = false"}},
		Test:  poolScenarios + "a-pod-that-its-kubelet-ended-is-replaced-while-enough-others-serve", Rule: "hold: read live",
	},
	{
		Name:  "hand-overs of ended pods without a pause",
		Edits: []Edit{{"internal/plan/pool/pause.go", " || deletion.Because == reason.IdentityHandover && pod.Finished", " && pod.Name != \"\""}},
		Test:  "internal/plan/pool TestLossesAreOfPodsThatEnded", Rule: "losses",
	},
	{
		Name:  "revision deleted that the status still names",
		Edits: []Edit{{"internal/plan/pool/revision.go", " || r.Name == p.Object.Current", ""}},
		Test:  poolScenarios + "the-revision-that-the-status-names-stays", Rule: "delete revision 1",
	},
	{
		Name:  "volume that waits for a node taken for one out of reach",
		Edits: []Edit{{poolVolumes, "p.Volumes[pod.UID].Unreachable\n", "(p.Volumes[pod.UID].Unreachable || p.Volumes[pod.UID].Waits != \"\")\n"}},
		Test:  poolScenarios + "a-pod-whose-volume-waits-for-a-node-is-kept", Rule: "VolumeUnreachable",
	},
	{
		Name:  "volume out of reach given up before its pod has had time",
		Edits: []Edit{{poolVolumes, "return p.unscheduledForLong(pod) && p.Volumes", "return p.Volumes"}},
		Test:  poolScenarios + "a-pod-that-got-a-node-is-kept-whatever-its-volumes-seemed", Rule: "VolumeUnreachable",
	},
	{
		Name:  "volumes looked at again in each plan",
		Edits: []Edit{{poolVolumes, "if !again.After(p.Now) {", "if true {"}},
		Test:  poolScenarios + "volumes-are-looked-at-once-a-pod-has-no-node-for-long", Rule: "web-a, web-c, web-d",
	},
	{
		Name:  "volumes of a pod that has just been created looked at",
		Edits: []Edit{{poolVolumes, "&& !p.Now.Before(pod.Created.Time().Add(p.Object.Liveness.Startup))", ""}},
		Test:  poolScenarios + "volumes-are-looked-at-once-a-pod-has-no-node-for-long", Rule: "web-b, web-a",
	},
	{
		Name:  "volume given up without a live look",
		Edits: []Edit{{"internal/lock/invariant/pools/doubt.go", "(!v.Live || p.Scheduled ||", "(p.Scheduled ||"}},
		Test:  "internal/lock/invariant/pools TestEveryRuleOfPlansCanBeBrokenAlone/one that the caches show", Rule: "DoubtKept",
	},
	{
		Name:  "no pause before a pod that has ended at once is replaced",
		Edits: []Edit{{poolEnded, "p.pauses(&pod) && (!kept", "p.pauses(&pod) && pod.Name == \"\" && (!kept"}},
		Test:  poolScenarios + "a-pod-that-ends-at-once-is-replaced-after-a-pause", Rule: "delete web-a",
	},
	{
		Name:  "pod created beside one that has ended and is not replaced yet",
		Edits: []Edit{{"internal/plan/pool/pool_state.go", " - p.unshown - p.pausing()", " - p.unshown"}},
		Test:  poolScenarios + "a-pod-that-ends-at-once-is-replaced-after-a-pause", Rule: "create 1 pods",
	},
	{
		Name:  "pod that has ended and pauses, with another place for its hand-over",
		Edits: []Edit{{poolEnded, "p.ended[i].pauses && !p.isHandedOver(p.ended[i].ID)", "p.ended[i].pauses"}},
		Test:  poolScenarios + "a-pod-that-has-ended-and-pauses-has-one-place-with-its-hand-over", Rule: "wait web because HandoverUnderway",
	},
	{
		Name:  "no pause before a pod whose node does not exist is replaced",
		Edits: []Edit{{poolRepair, "case a.certainty != doubtful && p.pauses(pod):", "case false:"}},
		Test:  poolScenarios + "a-pod-that-lost-its-node-at-once-is-replaced-after-a-pause", Rule: "delete web-a",
	},
	{
		Name:  "pause that does not grow",
		Edits: []Edit{{"internal/plan/pool/pause.go", "firstPause << min(earlier-1, mostDoublings)", "firstPause"}},
		Test:  poolScenarios + "pauses-double-with-each-lost-identity", Rule: "delete web-a",
	},
	{
		Name:  "pause that grows by identities that a person gave up",
		Edits: []Edit{{"internal/plan/pool/pause.go", "slices.Contains(lossCauses, c.Because)", "slices.Contains(lossCauses, lossCauses[0])"}},
		Test:  poolScenarios + "pauses-double-with-each-lost-identity", Rule: "web-b",
	},
	{
		Name:  "more identities given up in doubt than maxUnhealthy allows",
		Edits: []Edit{{poolRepair, "return another && p.few", "return another || p.few"}},
		Test:  poolScenarios + "two-lost-nodes-of-three-are-too-many", Rule: "delete web-",
	},
	{
		Name:  "last copy given up in doubt",
		Edits: []Edit{{poolRepair, "return another && p.few", "return (another || true) && p.few"}},
		Test:  poolScenarios + "the-last-copy-is-never-given-up-in-doubt", Rule: "delete web-a",
	},
	{
		Name:  "only pods of lost nodes counted before another identity is given up",
		Edits: []Edit{{poolState, "return lost || !p.available(pod)", "return lost"}},
		Test:  poolScenarios + "a-replacement-on-its-way-counts-as-unavailable", Rule: "delete web-c",
	},
	{
		Name:  "pod of a lost node counted as available",
		Edits: []Edit{{poolState, "return lost ||", "return lost && !p.available(pod) ||"}},
		Test:  poolScenarios + "two-lost-nodes-of-three-are-too-many", Rule: "delete web-",
	},
	{
		Name:  "identity of a silent node given up at once",
		Edits: []Edit{{poolRepair, "return ailment{reason.NodeLost, doubtful, pod.Node.Silent.Add(l.NodeLost)}", "return ailment{reason.NodeLost, doubtful, pod.Node.Silent}"}},
		Test:  poolScenarios + "a-pod-of-a-silent-node-is-waited-for", Rule: "delete web-b",
	},
	{
		Name:  "node that is gone waited for",
		Edits: []Edit{{poolRepair, "return ailment{cause: reason.NodeGone}", "return ailment{cause: reason.NodeGone, certainty: doubtful}"}},
		Test:  poolScenarios + "a-pod-of-a-node-that-is-gone-is-replaced-at-once", Rule: "TooManyUnhealthy",
	},
	{
		Name:  "repair on caches",
		Edits: []Edit{{poolRepair, "\td.NeedsLiveRead = true\n", ""}},
		Test:  poolScenarios + "a-recorded-repair-is-repeated", Rule: "hold: read live",
	},
	{
		Name:  "repair that is carried out although the node is back",
		Edits: []Edit{{poolRepair, "{reason.NodeGone, reason.VolumeUnreachable, reason.NodeLost, reason.ClaimLost,", "{reason.NodeGone, reason.ClaimLost,"}},
		Test:  poolScenarios + "a-repair-of-a-node-that-is-back-is-cancelled", Rule: "cancel deletion",
	},
	{
		Name:  "pod that serves ended beyond the budget because of its claim",
		Edits: []Edit{{poolRepair, "a.certainty == damaged && !p.recorded(pod, a.cause) && !p.down(pod) &&", "a.certainty == damaged && !p.recorded(pod, a.cause) && p.down(pod) &&"}},
		Test:  poolScenarios + "a-pod-whose-claim-is-gone-waits-for-the-budget", Rule: "delete web-b",
	},
	{
		Name:  "claim that an older list lacks, taken for lost",
		Edits: []Edit{{poolRepair, "if pod.Gated || p.ClaimsAt < pod.Version {", "if pod.Gated {"}},
		Test:  poolScenarios + "an-older-list-of-claims-shows-no-damage", Rule: "because ClaimLost",
	},
	{
		Name:  "identity given up because of a bad template",
		Edits: []Edit{{poolRepair, "case pod.Up() || pod.NotReady.IsZero() || updating:", "case pod.Up() || pod.NotReady.IsZero() || updating && false:"}},
		Test:  poolScenarios + "a-bad-update-gives-up-no-identity", Rule: "delete web-b",
	},
	{
		Name:  "one ill identity after the other given up",
		Edits: []Edit{{poolRepair, "latest(pod.NotReady.Add(l.CrashLoop), p.nextAttempt())", "latest(pod.NotReady.Add(l.CrashLoop))"}},
		Test:  poolScenarios + "repairs-of-ill-pods-pause-longer-and-longer", Rule: "delete web-b",
	},
	{
		Name:  "pod that is not ready taken for lost",
		Edits: []Edit{{poolRepair, "case l.NotReady > 0 && pod.Scheduled:", "case pod.Scheduled:"}},
		Test:  poolScenarios + "a-pod-that-is-not-ready-is-kept", Rule: "delete web-b",
	},
	{
		Name:  "pod that is not ready, given no time to start",
		Edits: []Edit{{poolRepair, "latest(pod.NotReady.Add(l.NotReady), pod.Created.Time().Add(l.Startup), p.nextAttempt())", "latest(pod.NotReady.Add(l.NotReady), p.nextAttempt())"}},
		Test:  poolScenarios + "a-pod-that-still-has-time-to-start-is-not-given-up", Rule: "delete web-b",
	},
	{
		Name:  "pause between repairs of ill pods that doubles without end",
		Edits: []Edit{{poolRepair, "<< min(len(given), mostDoublings)", "<< len(given)"}},
		Test:  poolScenarios + "the-pause-between-repairs-of-ill-pods-doubles-six-times-at-most", Rule: "wait web",
	},
	{
		Name:  "surplus that spares the pod of a lost node",
		Edits: []Edit{{poolSurplus, "\t\tfirst(p.ails(&a), p.ails(&b)),\n", ""}},
		Test:  poolScenarios + "the-pod-of-a-lost-node-leaves-first", Rule: "delete web-a",
	},
	{
		Name:  "node that no cache shows, taken for gone without a live read",
		Edits: []Edit{{poolNodes, "case len(list.Items) == 0:", "case len(list.Items) >= 0:"}},
		Test:  "internal/cluster/pools TestALiveReadReadsTheNodesThatSeemToBeGone", Rule: "Gone",
	},
	{
		Name:  "claim without labels taken for lost",
		Edits: []Edit{{"internal/cluster/pools/observer.go", "\t\tif claim != nil {\n", "\t\tif claim != nil && false {\n"}},
		Test:  "internal/cluster/pools TestALiveReadReadsTheClaimsThatLackTheLabels", Rule: "unlabelled",
	},
	{
		Name:  "pods that lack a claim and serve, counted as unavailable",
		Edits: []Edit{{poolState, "lost := p.ails(pod) && p.ailing[pod.Name].certainty != damaged", "lost := p.ails(pod)"}},
		Test:  poolScenarios + "two-pods-that-lack-a-claim-are-replaced-one-at-a-time", Rule: "delete web-b",
	},
	{
		Name:  "recorded repair in doubt that is carried out beyond maxUnhealthy",
		Edits: []Edit{{poolRepair, "case a.certainty == doubtful && !p.mayGiveUpInDoubt(pod):", "case a.certainty == doubtful && !p.recorded(pod, a.cause) && !p.mayGiveUpInDoubt(pod):"}},
		Test:  poolScenarios + "a-recorded-repair-waits-for-the-breaker", Rule: "cancel deletion",
	},
	{
		Name:  "claims of ill identities deleted by a policy at once",
		Edits: []Edit{{poolClaims, "return isHealth(c.Because) }", "return isHealth(c.Because) && p.Live }"}},
		Test:  poolScenarios + "claims-of-ill-identities-stay-for-a-day", Rule: "delete 1 claims of b",
	},
	{
		Name:  "missing pod that does not wait for the end of the former one",
		Edits: []Edit{{"internal/plan/pool/pool_state.go", " - p.awaited()", ""}},
		Test:  poolScenarios + "a-missing-pod-waits-for-the-end-of-the-former-one", Rule: "create 1 pods of web",
	},
	{
		Name:  "hand-over that has a place beside its terminating pod",
		Edits: []Edit{{"internal/plan/pool/pool_state.go", "!pod.Finished && !p.isHandedOver(pod.ID)\n", "!pod.Finished\n"}},
		Test:  poolScenarios + "a-hand-over-and-a-terminating-pod-have-one-place-together", Rule: "wait web because HandoverUnderway",
	},
	{
		Name:  "next pod of a hand-over that lacks a claim, and is kept",
		Edits: []Edit{{poolRepair, "len(p.formerClaims(pod)) == 0 && len(p.retired(pod.ID)) == 0:", "!p.Live:"}},
		Test:  poolScenarios + "the-next-pod-of-a-hand-over-that-lacks-a-claim-is-not-updated", Rule: "update web-a of web in place",
	},
	{
		Name:  "pod that is deleted and updated in one plan",
		Edits: []Edit{{poolUpdate, "!pod.Update.Begun && !pod.Asked && !p.ails(pod) && !p.granted(pod)\n", "!pod.Update.Begun && !pod.Asked && !p.granted(pod)\n"}},
		Test:  poolScenarios + "the-next-pod-of-a-hand-over-that-lacks-a-claim-is-not-updated", Rule: "breaks ExactTarget",
	},
	{
		Name:  "update of the pod that serves in a plan that gives up a copy in doubt because of it",
		Edits: []Edit{{poolUpdate, "(busy || givesUpCopy || after > most)", "(busy || after > most)"}},
		Test:  poolScenarios + "no-update-ends-the-pod-that-serves-beside-a-copy-in-doubt", Rule: "DoubtKept",
	},
	{
		Name:  "update of the pod that serves in a plan that repeats the end of a copy in doubt because of it",
		Edits: []Edit{{poolUpdate, "case p.pending(pod):\n\t\t\tsteps = append(steps, step)\n\t\t\tgivesUpCopy = givesUpCopy || endsCopy\n", "case p.pending(pod):\n\t\t\tsteps = append(steps, step)\n"}},
		Test:  poolScenarios + "no-update-ends-the-pod-that-serves-beside-the-recorded-end-of-a-copy-in-doubt", Rule: "DoubtKept",
	},
	{
		Name:  "claims of one identity that say different reasons, deleted by the first one",
		Edits: []Edit{{poolClaims, "case !slices.ContainsFunc(s.claims, isKept):", "case !isKept(s.claims[0]):"}},
		Test:  poolScenarios + "claims-with-different-reasons-are-kept-by-one-of-them", Rule: "delete 2 claims of b",
	},
}
