package mutants

const (
	poolWorkload = "internal/plan/pool/workload.go"
	whenDue      = "internal/plan/pool TestAPlanIsMadeAgainWhenSomethingIsDue/"

	historyBounds = "internal/lock/history/bounds.go"
	successors    = "internal/lock/history/successor.go"
	whoSucceeds   = "internal/lock/history TestWhichPodIsTheSuccessorOfAReplacedOne/"
	whenItEnds    = "internal/lock/history TestTheRecordOfAReplacementEndsWithItsSuccessor/"

	volumesOfPools = "internal/cluster/pools/volumes.go"
	checksOfPools  = "internal/cluster/pools/checks.go"
	cacheOfPools   = "internal/cluster/pools/follow.go"
	liveReadOfPool = "internal/cluster/pools/observer.go"
	convertsPools  = "internal/cluster/pools/convert.go"
	controlsPools  = "internal/control/pools/controller.go"
	renders        = "internal/render/render.go"
	lookOnce       = "internal/cluster/pools TestALookAtVolumesShowsWhatAPodWaitsFor/"
	lookTwice      = "internal/cluster/pools TestALiveReadLooksAgainAtVolumesThatWereOutOfReach/"
	whatIsAsked    = "internal/cluster/pools TestSameDesiredStateComparesWhatDisruptionsDependOn/"
	whatIsRefused  = "internal/act TestWhichRefusalsMakeAChangeImpossibleInPlace/"
	noMoreStorage  = "internal/act TestWhichRefusalsOfMoreStorageArePassedOn/"
	saysNothing    = "internal/render TestATemplateSaysNothingThatOnlyOneObjectMaySay/"
	whichOrphans   = "internal/act TestWhichPodsAreOrphans/"
	dated          = "internal/act TestUpdatesInPlaceAreDatedByTheTimeOfTheirRequest/"
)

// unnoticedInPlans are mistakes in plans of StatefulClusters that no test noticed when they were planted.
var unnoticedInPlans = []Mutant{
	{
		Name:  "template that is null",
		Edits: []Edit{{"internal/render/render.go", "if decoded == nil {", "if false {"}},
		Test:  "internal/render TestTemplatesThatAreNoObjectsAreRefused", Rule: "is accepted",
	},
	{
		Name:  "pods that leave in the order of the caches",
		Edits: []Edit{{"internal/plan/pool/pool_state.go", "slices.SortStableFunc(p.staying, p.leavesFirst)", "_ = p.leavesFirst"}},
		Test:  "internal/plan/pool TestPlansDoNotDependOnTheOrderOfObjects", Rule: "then",
	},
	{
		Name:  "holes that wait for the hold",
		Edits: []Edit{{"internal/plan/pool/create_pods.go", "if p.current.Name == \"\" {", "if p.current.Name == \"\" || p.Hold.Holder.Foreign() {"}},
		Test:  "internal/plan/pool TestHolesAreFilled", Rule: "places are filled",
	},
	{
		Name:  "evictions beyond the budget, of any StatefulCluster",
		Edits: []Edit{{"internal/plan/pool/evict.go", "p.Object.Replicas-available <= most", "p.Object.Replicas-available <= most+1"}},
		Test:  "internal/plan/pool TestNoEvictionBreaksARule", Rule: "GrantWithinBudget",
	},
	{
		Name:  "updates beyond the budget, of any StatefulCluster",
		Edits: []Edit{{"internal/plan/pool/pool_state.go", "return max(0, p.Object.Replicas-p.countAvailable())", "return 0"}},
		Test:  "internal/plan/pool TestNoPlanBreaksARule", Rule: "breaks",
	},
	{
		Name:  "pods that lose their owners replaced instead of adopted",
		Edits: []Edit{{"internal/plan/pool/adopt.go", "if pod := &p.Pods[i]; pod.Owner == \"\" &&", "if pod := &p.Pods[i]; false &&"}},
		Test:  poolScenarios + "pods-that-lose-their-owners-keep-their-places", Rule: "create 2 pods",
	},
	{
		Name:  "wait for adoption that disappears with each look",
		Edits: []Edit{{"internal/plan/pool/adopt.go", "steps = append(steps, LookForOrphans{Pool: p.Key.Name})", "return []plan.Action{LookForOrphans{Pool: p.Key.Name}}, nil"}},
		Test:  poolScenarios + "a-wait-for-adoption-goes-on-while-orphans-are-looked-for", Rule: "-want +got",
	},
	{
		Name:  "pause that does not grow without claims",
		Edits: []Edit{{"internal/plan/pool/pause.go", "return max(len(lost), p.Lost)", "return len(lost)"}},
		Test:  poolScenarios + "pauses-double-although-no-claim-says-so", Rule: "delete web-a",
	},
	{
		Name:  "lost identities that this process forgets",
		Edits: []Edit{{"internal/control/pools/controller.go", "c.Observer.Lost(key, lost)", "c.Observer.Lost(key, 0)"}},
		Test:  "internal/control/pools TestLostIdentitiesMakeTheNextPauseLonger", Rule: "identities are known to be lost",
	},
	{
		Name:  "lost identities that count for ever",
		Edits: []Edit{{"internal/cluster/pools/checks.go", "if s.Now.Sub(at) < pool.LossesCountFor {", "if s.Now.Sub(at) >= 0 {"}},
		Test:  "internal/cluster/pools TestLossesCountForAnHour", Rule: "identities were lost",
	},
	{
		Name:  "record of a pod without claims that lasts until a claim of the cluster changes",
		Edits: []Edit{{"internal/plan/pool/evict.go", "newer.ClaimsAt = max(cached.ClaimsAt, i.Version)", "newer.ClaimsAt = cached.ClaimsAt"}},
		Test:  poolScenarios + "the-end-of-a-pod-without-claims-needs-no-newer-view-of-claims", Rule: "wait web because PodDisruptionPending",
	},
	{
		Name:  "revision that lost its label",
		Edits: []Edit{{"internal/act/pool_revisions.go", "if r.Labels[contract.PoolLabel] == s.Key.Name {", "if true {"}},
		Test:  "internal/act TestUpdatesOfAStatefulCluster/a revision that exists and lost its label gets it again", Rule: "-want +got",
	},
	{
		Name:  "template with what an API server wrote into it",
		Edits: []Edit{{"internal/render/render.go", "\"resourceVersion\", \"selfLink\", \"uid\",", "\"selfLink\", \"uid\","}},
		Test:  "internal/render TestAPodIsItsTemplateWithAnIdentity", Rule: "resourceVersion",
	},
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
		Name:  "former resources of a container that gets others later, forgotten",
		Edits: []Edit{{poolStages, "case had && pod.Update.Begun:", "case had || pod.Update.Begun:"}},
		Test:  "internal/plan/pool TestAnUpdateThatBeginsAgainKeepsTheFormerResources", Rule: "former resources",
	},
	{
		Name:  "container that does not restart, waited for",
		Edits: []Edit{{poolInPlace, "if _, changes := change.Images[c.Name]; changes {", "if _, changes := change.Images[c.Name]; changes || c.Running {"}},
		Test:  "internal/plan/pool TestAnUpdateInPlaceRestartsOnlyTheContainersWhoseImageChanges", Rule: "containers that restart",
	},
	{
		Name:  "pod kept from its clients because the update of another one goes on",
		Edits: []Edit{{poolStages, "return a.Effect().Pod == pod && !cancels", "return a.Effect().Pod == pod || !cancels"}},
		Test:  poolScenarios + "a-pod-serves-while-its-update-cannot-go-on-and-another-one-does", Rule: "open the gate of web-a",
	},
	{
		Name:  "Lease of a pool removed while it has pods",
		Edits: []Edit{{poolWorkload, "return !s.Object.Exists() && len(s.Pods) == 0", "return !s.Object.Exists()"}},
		Test:  "internal/plan/pool TestAStatefulClusterIsGoneWithItsLastPod", Rule: "with 1 pods: gone true",
	},
	{
		Name:  "end of a pod that is no hand-over, waited for",
		Edits: []Edit{{poolWorkload, "at.After(s.Now) && len(p.handovers) > 0 {", "at.After(s.Now) {"}},
		Test:  whenDue + "a pod terminates and no identity is handed over", Rule: "6m0s",
	},
	{
		Name:  "update that is late, due again and again",
		Edits: []Edit{{poolWorkload, "late && at.After(s.Now)", "late"}},
		Test:  whenDue + "an update has been late", Rule: "-4m0s",
	},
	{
		Name:  "crash loop that counts although it has no time",
		Edits: []Edit{{poolRepair, "case l.CrashLoop > 0 &&", "case l.CrashLoop >= 0 &&"}},
		Test:  poolScenarios + "without-a-time-for-crash-loops-a-pod-in-one-is-kept", Rule: "CrashLooping",
	},
	{
		Name:  "any template taken for that of a claim",
		Edits: []Edit{{poolRepair, "return t.Name == m.Template })\n\t\treturn !known", "return t.Name == m.Template || t.Name != \"\" })\n\t\treturn !known"}},
		Test:  poolScenarios + "a-new-pod-whose-only-claim-has-no-template-is-replaced", Rule: "wait web",
	},
	{
		Name:  "claim that exists, taken for one that cannot be created",
		Edits: []Edit{{poolRepair, "return !known && !slices.ContainsFunc(claims, func(c Claim) bool { return c.Name == m.Claim })", "return !known && !slices.ContainsFunc(claims, func(c Claim) bool { return c.Name == \"\" })"}},
		Test:  poolScenarios + "a-new-pod-whose-claim-exists-needs-no-template", Rule: "delete web-a",
	},
	{
		Name:  "repair delayed by identities of an earlier object",
		Edits: []Edit{{poolRepair, "if c.Pool == p.Object.UID && c.Retired && isHealth", "if c.Retired && isHealth"}},
		Test:  poolScenarios + "only-ill-identities-of-the-last-day-delay-a-repair", Rule: "delete web-a",
	},
	{
		Name:  "repair delayed by identities that were given up for another reason",
		Edits: []Edit{{poolRepair, "c.Retired && isHealth(c.Because) && p.Now", "c.Retired && p.Now"}},
		Test:  poolScenarios + "only-ill-identities-of-the-last-day-delay-a-repair", Rule: "delete web-a",
	},
	{
		Name:  "repair delayed by identities that were given up long ago",
		Edits: []Edit{{poolRepair, "isHealth(c.Because) && p.Now.Sub(c.Ended) < attemptsCountFor {", "isHealth(c.Because) {"}},
		Test:  poolScenarios + "only-ill-identities-of-the-last-day-delay-a-repair", Rule: "delete web-a",
	},
	{
		Name:  "identity given up once the grace period of its former pod ends",
		Edits: []Edit{{poolHandOver, "p.EndsBy.Add(s.Object.HandoverTimeout)", "p.EndsBy"}},
		Test:  poolScenarios + "a-hand-over-is-not-given-up-before-its-time", Rule: "create 1 pods of web",
	},
	{
		Name:  "identity given up although there is no time for hand-overs",
		Edits: []Edit{{poolHandOver, "return s.Object.HandoverTimeout > 0 && !p.EndsBy", "return !p.EndsBy"}},
		Test:  poolScenarios + "without-a-time-for-hand-overs-none-is-given-up", Rule: "create 1 pods of web",
	},
	{
		Name:  "claims that are being deleted, made to belong to the object",
		Edits: []Edit{{poolClaims, "c.Pool == p.Object.UID && !c.Deleting && wanted", "c.Pool == p.Object.UID && wanted"}},
		Test:  poolScenarios + "claims-that-are-being-deleted-do-not-belong-to-the-object", Rule: "own 1 claims of web",
	},
	{
		Name:  "pod that is too many, taken for one of a surge",
		Edits: []Edit{{poolSurge, "range p.needed() {", "range p.staying {"}},
		Test:  poolScenarios + "a-pod-that-is-too-many-lets-no-further-pod-be-updated", Rule: "update web-c of web in place",
	},
	{
		Name:  "surge that is a share of all pods",
		Edits: []Edit{{poolSurge, "most, lowered := s.MaxSurge.Of(p.Object.Replicas)", "most, lowered := s.MaxSurge.Of(len(p.staying))"}},
		Test:  poolScenarios + "a-surge-of-a-percentage-is-a-share-of-the-pods-asked-for", Rule: "create 1 pods",
	},
	{
		Name:  "surge that is over, kept while updates are paused",
		Edits: []Edit{{poolSurge, "p.paused() && outdated > 0", "p.paused()"}},
		Test:  poolScenarios + "a-surge-ends-although-updates-are-paused-once-no-pod-is-outdated", Rule: "delete web-a of web because ReplicasExceeded",
	},
	{
		Name:  "pod of a silent node that is too many, kept beside an available one",
		Edits: []Edit{{poolSurplus, "p.countAvailable() == 0", "p.countAvailable() <= 1"}},
		Test:  poolScenarios + "a-pod-of-a-silent-node-is-too-many-while-another-is-available", Rule: "TooManyUnhealthy web-a",
	},
	{
		Name:  "pause that is over, not remarked where updates have a grace period",
		Edits: []Edit{{"internal/plan/pool/remarks.go", "if o.Paused && !o.PausedAt(s.Now) {", "if o.Paused && !o.PausedAt(s.Now) && o.Strategy.Grace == 0 {"}},
		Test:  "internal/plan/pool TestRemarksAreWhatAPersonShouldCorrect", Rule: "paused until=0s grace=1s (-want +got)",
	},
	{
		Name:  "hand-over that finds no node, taken for a lost copy",
		Edits: []Edit{{poolRepair, "ailment{reason.HandoverFailed, doubtful, ", "ailment{reason.HandoverFailed, 0, "}},
		Test:  poolScenarios + "the-last-copy-is-not-given-up-because-its-next-pod-finds-no-node", Rule: "delete web-a of web because HandoverFailed",
	},
	{
		Name:  "hand-over that finds no node, not known as doubt to the rule",
		Edits: []Edit{{"internal/lock/invariant/pools/doubt.go", "return !p.Gated || v.missingClaim(p.ID, p.From) == \"\"", "return p.Gated && v.missingClaim(p.ID, p.From) == \"\""}},
		Test:  rulesOfPlans + "a next pod without a node while another is down", Rule: `want "DoubtKept"`,
	},
	{
		Name:  "claims that an identity has, not asked for by the rule about doubt",
		Edits: []Edit{{"internal/lock/invariant/pools/doubt.go", "return !p.Gated || v.missingClaim(p.ID, p.From) == \"\"", "return !p.Gated"}},
		Test:  rulesOfPlans + "a next pod that waits for claims that it has", Rule: `want "DoubtKept"`,
	},
	{
		Name:  "claim that an identity has lost, taken for doubt by the rule",
		Edits: []Edit{{"internal/lock/invariant/pools/doubt.go", "return !p.Gated || v.missingClaim(p.ID, p.From) == \"\"", "return true"}},
		Test:  rulesOfPlans + "a next pod whose identity has lost a claim", Rule: "DoubtKept",
	},
	{
		Name:  "pod that is not Ready for long, taken for a lost copy",
		Edits: []Edit{{poolRepair, "ailment{reason.NeverReady, doubtful, ", "ailment{reason.NeverReady, 0, "}},
		Test:  poolScenarios + "pods-that-are-not-ready-for-long-are-not-given-up-together", Rule: "delete web-b of web because NeverReady",
	},
	{
		Name:  "pods that are not Ready for long, given up without pauses",
		Edits: []Edit{{poolRepair, "pod.Created.Time().Add(l.Startup), p.nextAttempt())}", "pod.Created.Time().Add(l.Startup))}"}},
		Test:  poolScenarios + "repairs-of-pods-that-are-not-ready-pause-longer-and-longer", Rule: "delete web-b of web because NeverReady",
	},
	{
		Name:  "pod that a person names, counted as the other copy of one that has ended",
		Edits: []Edit{{poolEnded, " && !p.ails(&other) && !other.Asked })", " && !p.ails(&other) })"}},
		Test:  poolScenarios + "an-ended-pod-keeps-its-identity-beside-one-that-is-to-be-replaced", Rule: "delete web-a of web because PodFinished",
	},
	{
		Name:  "more ends of pods than the hold can record",
		Edits: []Edit{{poolEnded, "case pod.pauses || !p.hasRoom(&pod.Pod):", "case pod.pauses:"}},
		Test:  "internal/plan/pool TestAPlanReplacesAtMostAsManyEndedPodsAsTheHoldHasRoomFor/their kubelets ended them", Rule: "the plan deletes",
	},
	{
		Name:  "eviction of a pod that is not available yet, counted twice",
		Edits: []Edit{{poolEvict, "if !p.down(pod) {\n\t\tavailable--", "if pod.Up() {\n\t\tavailable--"}},
		Test:  "internal/plan/pool TestEvict/a pod that was Ready for a moment goes, because it counts as unavailable already", Rule: "PodNotYetAvailable web-a",
	},
	{
		Name:  "end of a pod that is recorded, paused again",
		Edits: []Edit{{"internal/plan/pool/pause.go", "return p.pendingOf[pod.Name].Cause == \"\" && p.replacedFrom", "return p.replacedFrom"}},
		Test:  poolScenarios + "an-end-that-is-recorded-does-not-pause-again", Rule: "ReplacementPaused web-a",
	},
	{
		Name:  "identity retired whose claims are being deleted",
		Edits: []Edit{{"internal/plan/pool/retire_identity.go", "c.marked() || c.Deleting || p.isHandedOver", "c.marked() || p.isHandedOver"}},
		Test:  poolScenarios + "an-identity-whose-claims-are-being-deleted-is-not-marked", Rule: "retire b of web with 0 claims",
	},
	{
		Name:  "new pod of an identity with data, taken for one without",
		Edits: []Edit{{poolState, "return p.Gated && p.From == \"\" && !slices.ContainsFunc(s.claimsOf(p.ID), func(c Claim) bool { return c.From != \"\" && c.From != p.UID })", "return p.Gated && p.From == \"\""}},
		Test:  poolScenarios + "a-new-pod-of-an-identity-with-data-stays-in-doubt", Rule: "delete web-b of web because ReplicasExceeded",
	},
	{
		Name:  "claims of a former object, labelled in the order of the caches",
		Edits: []Edit{{poolAdopt, "return strings.Compare(a.Name, b.Name) })", "return 0 * strings.Compare(a.Name, b.Name) })"}},
		Test:  poolScenarios + "claims-of-a-former-object-are-labelled-in-the-order-of-their-names", Rule: "label web-logs-000000000000000a, web-data-000000000000000a",
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
		Edits: []Edit{{successors, "case !exists || next.Phase == plan.Terminating ||", "case !exists ||"}},
		Test:  whenItEnds + "the successor terminates", Rule: "open: false",
	},
	{
		Name:  "record of a replacement that lasts although the successor has ended",
		Edits: []Edit{{successors, "case !exists || next.Phase == plan.Terminating ||", "case next.Phase == plan.Terminating ||"}},
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

// unnoticedInCaches are mistakes in what is known of StatefulClusters that no test noticed when they were planted.
var unnoticedInCaches = []Mutant{
	{
		Name:  "volume that waits for a node which is out of service, taken for usable",
		Edits: []Edit{{volumesOfPools, "!n.Spec.Unschedulable && !node.Gone &&", "!n.Spec.Unschedulable &&"}},
		Test:  lookOnce + "a volume on a node that is out of service", Rule: "Waits",
	},
	{
		Name:  "volume that waits for a node which takes no pods, taken for usable",
		Edits: []Edit{{volumesOfPools, "!n.Spec.Unschedulable && !node.Gone", "!node.Gone"}},
		Test:  lookOnce + "a volume on a node that takes no pods", Rule: "Waits",
	},
	{
		Name:  "volume that waits for a node which does not report, taken for usable",
		Edits: []Edit{{volumesOfPools, "!node.Gone && node.Silent.IsZero()", "!node.Gone"}},
		Test:  lookOnce + "a volume on a node that does not report", Rule: "Waits",
	},
	{
		Name:  "volume that waits for a node, taken for one out of reach by the look",
		Edits: []Edit{{volumesOfPools, "case exists == 0:", "case able == 0 && exists >= 0:"}},
		Test:  lookOnce + "a volume on a node that takes no pods", Rule: "Unreachable",
	},
	{
		Name:  "only the first volume of a pod looked at",
		Edits: []Edit{{volumesOfPools, "longestWait)\n\t\t}", "longestWait)\n\t\t\treturn look, nil\n\t\t}"}},
		Test:  lookOnce + "the second volume on a node that does not exist", Rule: "Unreachable",
	},
	{
		Name:  "volume given up by one look, without a live one",
		Edits: []Edit{{volumesOfPools, "if p.Scheduled || !volumes[p.UID].Unreachable {", "if p.Scheduled || !volumes[p.UID].Unreachable || s.Live {"}},
		Test:  lookTwice + "the node exists now", Rule: "Unreachable",
	},
	{
		Name:  "first look at a volume forgotten by the live one",
		Edits: []Edit{{volumesOfPools, "look.Since = volumes[p.UID].Since\n", "look.Since = look.At\n"}},
		Test:  lookTwice + "the node still does not exist", Rule: "Since",
	},
	{
		Name:  "volume of a pod that has a node, looked at again",
		Edits: []Edit{{volumesOfPools, "if p.Scheduled || !volumes[p.UID].Unreachable {", "if !volumes[p.UID].Unreachable {"}},
		Test:  lookTwice + "the pod has a node meanwhile", Rule: "Unreachable",
	},
	{
		Name:  "first look at a volume forgotten by the next one",
		Edits: []Edit{{volumesOfPools, "look.Since = s.Volumes[p.UID].Since", "look.Since = look.At"}},
		Test:  "internal/cluster/pools TestALookAtVolumesKeepsWhatTheOthersHaveShown", Rule: "Since",
	},
	{
		Name:  "look that shows a volume in reach, taken for the first one out of reach",
		Edits: []Edit{{volumesOfPools, "if look.Since = look.At; s.Volumes[p.UID].Unreachable {", "if look.Since = look.At; !s.Volumes[p.UID].At.IsZero() {"}},
		Test:  "internal/cluster/pools TestALookAtVolumesKeepsWhatTheOthersHaveShown", Rule: "Since",
	},
	{
		Name:  "looks at the volumes of other pods forgotten",
		Edits: []Edit{{volumesOfPools, "looked && all[s.Pods[i].UID].At.IsZero()", "looked && false"}},
		Test:  "internal/cluster/pools TestALookAtVolumesKeepsWhatTheOthersHaveShown", Rule: "q",
	},
	{
		Name:  "look at the volumes of a former pod kept instead of the new one",
		Edits: []Edit{{volumesOfPools, "looked && all[s.Pods[i].UID].At.IsZero()", "looked"}},
		Test:  "internal/cluster/pools TestALookAtVolumesKeepsWhatTheOthersHaveShown", Rule: "-want +got",
	},
	{
		Name:  "disruption although the deadline has changed",
		Edits: []Edit{{liveReadOfPool, "o.HandoverTimeout, o.Deadline,", "o.HandoverTimeout, 0,"}},
		Test:  whatIsAsked + "a deadline", Rule: "want false",
	},
	{
		Name:  "disruption although the liveness has changed",
		Edits: []Edit{{liveReadOfPool, "strings.Join(o.PodsToDelete, \",\"), o.Liveness}", "strings.Join(o.PodsToDelete, \",\"), pool.Liveness{}}"}},
		Test:  whatIsAsked + "liveness", Rule: "want false",
	},
	{
		Name:  "disruption although the time for hand-overs has changed",
		Edits: []Edit{{liveReadOfPool, "o.MinReady, o.HandoverTimeout,", "o.MinReady, 0,"}},
		Test:  whatIsAsked + "a time for hand-overs", Rule: "want false",
	},
	{
		Name:  "disruption although other pods are to leave",
		Edits: []Edit{{liveReadOfPool, "strings.Join(o.PodsToDelete, \",\"), o.Liveness}", "strings.Join(nil, \",\"), o.Liveness}"}},
		Test:  whatIsAsked + "pods that are to leave", Rule: "want false",
	},
	{
		Name:  "refusals of more storage forgotten too early",
		Edits: []Edit{{checksOfPools, "former.Claim != claim && former.Because.Until.After(now)", "former.Claim != claim && former.Because.Until.Before(now)"}},
		Test:  "internal/cluster/pools TestARefusedGrowthIsKeptUntilItIsAskedForAgain", Rule: "two claims",
	},
	{
		Name:  "refusals of more storage kept for ever",
		Edits: []Edit{{checksOfPools, "former.Claim != claim && former.Because.Until.After(now)", "former.Claim != claim"}},
		Test:  "internal/cluster/pools TestARefusedGrowthIsKeptUntilItIsAskedForAgain", Rule: "after a while",
	},
	{
		Name:  "refusals of more storage kept twice for one claim",
		Edits: []Edit{{checksOfPools, "former.Claim != claim && former.Because.Until.After(now)", "former.Because.Until.After(now)"}},
		Test:  "internal/cluster/pools TestARefusedGrowthIsKeptUntilItIsAskedForAgain", Rule: "one claim twice",
	},
	{
		Name:  "refusals of more storage that no snapshot shows",
		Edits: []Edit{{checksOfPools, "known.orphans, known.taken, known.growths,", "known.orphans, known.taken, nil,"}},
		Test:  "internal/cluster/pools TestARefusedGrowthIsKeptUntilItIsAskedForAgain", Rule: "two claims",
	},
	{
		Name:  "comparison with a former revision kept for the newest one",
		Edits: []Edit{{checksOfPools, "if c.newest == newest {", "if c.newest != \"\" {"}},
		Test:  "internal/cluster/pools TestComparisonsAreKeptForTheNewestRevision", Rule: "after another comparison",
	},
	{
		Name:  "comparisons with the newest revision forgotten",
		Edits: []Edit{{checksOfPools, "if c.newest == newest {", "if c.newest == \"\" {"}},
		Test:  "internal/cluster/pools TestComparisonsAreKeptForTheNewestRevision", Rule: "-want +got",
	},
	{
		Name:  "comparisons shown for another newest revision",
		Edits: []Edit{{checksOfPools, "if known.newest == s.Newest().Name {", "if known.newest != \"\" {"}},
		Test:  "internal/cluster/pools TestComparisonsAreKeptForTheNewestRevision", Rule: "of another newest revision",
	},
	{
		Name:  "checks of a StatefulCluster kept after its deletion",
		Edits: []Edit{{cacheOfPools, "\ts.observer.checks.forget(key)\n", ""}},
		Test:  "internal/cluster/pools TestChecksAreForgottenWithTheirObject/it is deleted", Rule: "want true",
	},
	{
		Name:  "checks of a StatefulCluster kept after a list without it",
		Edits: []Edit{{cacheOfPools, "if objects[key].UID != former[key].UID {", "if false {"}},
		Test:  "internal/cluster/pools TestChecksAreForgottenWithTheirObject", Rule: "want true",
	},
	{
		Name:  "checks of a StatefulCluster kept for another one of its name",
		Edits: []Edit{{cacheOfPools, "if objects[key].UID != former[key].UID {", "if objects[key].UID == \"\" {"}},
		Test:  "internal/cluster/pools TestChecksAreForgottenWithTheirObject/another one of its name is in the list", Rule: "want true",
	},
	{
		Name:  "storage for which lockstep has asked, not read",
		Edits: []Edit{{convertsPools, "storageOf(m.Annotations[contract.StorageAnnotation])", "storageOf(m.Labels[contract.StorageAnnotation])"}},
		Test:  "internal/cluster/pools TestAClaimIsConverted", Rule: "Storage",
	},
	{
		Name:  "StatefulCluster that stays in the cache as it was",
		Edits: []Edit{{cacheOfPools, "s.observer.objects[key], s.observer.at = o, max(s.observer.at, o.Version)", "s.observer.at = max(s.observer.at, o.Version)\n\tif s.observer.objects[key].UID == \"\" {\n\t\ts.observer.objects[key] = o\n\t}"}},
		Test:  "internal/cluster/pools TestTheCacheShowsThePoolsOfItsWatch", Rule: "the cache shows",
	},
	{
		Name:  "StatefulCluster that a list does not change in the cache",
		Edits: []Edit{{cacheOfPools, "\t\tobjects[key] = o\n", "\t\tif objects[key] = o; s.observer.objects[key].UID != \"\" {\n\t\t\tobjects[key] = s.observer.objects[key]\n\t\t}\n"}},
		Test:  "internal/cluster/pools TestTheCacheShowsThePoolsOfItsWatch", Rule: "the cache shows",
	},
	{
		Name:  "live read that lists pods and claims at the same time",
		Edits: []Edit{{liveReadOfPool, "\tif err := o.readClaims(ctx, &s); err != nil {\n\t\treturn pool.Snapshot{}, err\n\t}\n\tvar ofObject, ofPods error", "\tvar ofObject, ofPods error"}, {liveReadOfPool, "parallel.All(func() { ofObject = o.readObject(ctx, &s) }, func()", "parallel.All(func() { ofObject = errors.Join(o.readClaims(ctx, &s), o.readObject(ctx, &s)) }, func()"}},
		Test:  "internal/cluster/pools TestALiveReadListsPodsAndTheObjectAfterClaims", Rule: "requests began at other times",
	},
	{
		Name:  "live read whose hold is newer than its pods",
		Edits: []Edit{{liveReadOfPool, "\ts.Now = o.options.Now()\n\tarrange(&s)", "\tif held, err = o.options.Holds.Read(ctx, key); err != nil {\n\t\treturn pool.Snapshot{}, err\n\t}\n\ts.Now, s.Hold = o.options.Now(), held.Hold\n\tarrange(&s)"}, {liveReadOfPool, "\theld, err := o.options.Holds.Read(ctx, key)\n\tif err != nil {\n\t\treturn pool.Snapshot{}, err\n\t}\n", "\tvar held plan.Record\n\tvar err error\n"}},
		Test:  "internal/cluster/pools TestALiveReadListsPodsAndTheObjectAfterClaims", Rule: "requests began at other times",
	},
	{
		Name:  "former pool of a relabelled pod that is not looked at",
		Edits: []Edit{{liveReadOfPool, "\t\to.touched(former)\n", ""}},
		Test:  "internal/cluster/pools TestBothPoolsOfARelabelledObjectAreEnqueued/it goes to another pool", Rule: "enqueued (-want +got)",
	},
	{
		Name:  "claim of the object, taken for that of another owner",
		Edits: []Edit{{convertsPools, "if string(owner.UID) != object {", "if object != \"\" {"}},
		Test:  "internal/cluster/pools TestWhatAClaimWithoutLabelsBelongsTo/to the object", Rule: "StatefulCluster/db",
	},
	{
		Name:  "claim of a StatefulSet, taken for free",
		Edits: []Edit{{convertsPools, "if string(owner.UID) != object {", "if string(owner.UID) == \"\" {"}},
		Test:  "internal/cluster/pools TestWhatAClaimWithoutLabelsBelongsTo/to a StatefulSet", Rule: "StatefulSet/db",
	},
	{
		Name:  "live read that is not followed by another look",
		Edits: []Edit{{controlsPools, "seen.Live && !again {", "seen.Live && !again && again {"}},
		Test:  "internal/control/pools TestALiveReadIsFollowedByAnotherLook/the plan needed a live read", Rule: "want after 1s",
	},
	{
		Name:  "pod that no hold covers any more, judged under the former one",
		Edits: []Edit{{podEviction, " || live.Held != cached.Held", ""}},
		Test:  "internal/serve/admission TestUncachedPodIsReadFromTheAPIServer/a StatefulCluster may have adopted it, and no hold covers it any more", Rule: "want 429 CacheStale",
	},
}

// unnoticedInWrites are mistakes in what is written for StatefulClusters that no test noticed when they were planted.
var unnoticedInWrites = []Mutant{
	{
		Name:  "status that was not written, taken for written",
		Edits: []Edit{{statusOfPools, "last.text, last.failed = 0, min", "last.text, last.failed = last.text, min"}},
		Test:  "internal/control/pools TestAStatusThatWasNotWrittenIsWrittenAgain", Rule: "in the pause after the failed write 1",
	},
	{
		Name:  "resize that a policy forbids, repeated for ever",
		Edits: []Edit{{actStages, "apierrors.IsInvalid(err) || isForbiddenForGood(err) ||", "apierrors.IsInvalid(err) ||"}},
		Test:  whatIsRefused + "a policy forbids it", Rule: "a resize is impossible: false",
	},
	{
		Name:  "resize that a quota forbids, given up for good",
		Edits: []Edit{{actStages, "apierrors.IsForbidden(err) && !strings.Contains(err.Error(), \"exceeded quota\")", "apierrors.IsForbidden(err) && !strings.Contains(\"\", err.Error())"}},
		Test:  whatIsRefused + "a quota forbids it", Rule: "a resize is impossible: true",
	},
	{
		Name:  "resize for which there is no method, repeated for ever",
		Edits: []Edit{{actStages, " || apierrors.IsMethodNotSupported(err)", ""}},
		Test:  whatIsRefused + "the API server has no such method", Rule: "a resize is impossible: false",
	},
	{
		Name:  "resize of a pod that does not exist, given up for good",
		Edits: []Edit{{actStages, "(status.Status().Details == nil || status.Status().Details.Name == \"\")", "(status.Status().Details == nil || status.Status().Details.Name != \"-\")"}},
		Test:  whatIsRefused + "the pod does not exist any more", Rule: "a resize is impossible: true",
	},
	{
		Name:  "more storage that a claim cannot have, taken for an error",
		Edits: []Edit{{actClaims, "if apierrors.IsForbidden(err) || apierrors.IsInvalid(err) {", "if apierrors.IsForbidden(err) {"}},
		Test:  noMoreStorage + "the claim cannot have that much", Rule: "-want +got",
	},
	{
		Name:  "more storage that an API server cannot give now, taken for refused",
		Edits: []Edit{{actClaims, "if apierrors.IsForbidden(err) || apierrors.IsInvalid(err) {", "if err != nil {"}},
		Test:  noMoreStorage + "the API server is broken", Rule: "-want +got",
	},
	{
		Name:  "update in place without a time",
		Edits: []Edit{{actUpdates, "Since: e.now(),", "Since: e.now().AddDate(-1, 0, 0),"}},
		Test:  dated + "the mark at the end", Rule: "it is dated",
	},
	{
		Name:  "label that an init container reads, changed in place",
		Edits: []Edit{{compare, "slices.Concat(containers(pod, \"containers\"), containers(pod, \"initContainers\"))", "slices.Concat(containers(pod, \"containers\"))"}},
		Test:  compareTest + "a label that an init container reads", Rule: "InPlace",
	},
	{
		Name:  "annotation that an init container reads, changed in place",
		Edits: []Edit{{compare, ", \"annotations\": change.Annotations}", "}"}},
		Test:  compareTest + "an annotation that an init container reads", Rule: "InPlace",
	},
	{
		Name:  "storage that a template says in an annotation",
		Edits: []Edit{{renders, "contract.SpecifiedDeleteLabel, contract.StorageAnnotation,", "contract.SpecifiedDeleteLabel,"}},
		Test:  "internal/render TestAClaimSaysForHowMuchStorageItWasCreated/the template requests none", Rule: "9Gi",
	},
	{
		Name:  "storage of which a claim says nothing",
		Edits: []Edit{{renders, "if t.Storage.Text != \"\" {", "if t.Storage.Text == \"-\" {"}},
		Test:  "internal/render TestAClaimSaysForHowMuchStorageItWasCreated/as much as the template requests", Rule: "2Gi",
	},
	{
		Name:  "labels of a template that win over those of lockstep",
		Edits: []Edit{{renders, "\tmaps.Copy(labels, own)\n", "\tmaps.Copy(own, labels)\n\tmaps.Copy(labels, own)\n"}},
		Test:  "internal/render TestLabelsOfLockstepWinOverThoseOfATemplateAndOfTheSelector", Rule: "other",
	},
	{
		Name:  "labels of a template that win over those of the selector",
		Edits: []Edit{{renders, "\t\tlabels[k] = v\n", "\t\tsetDefault(labels, k, v)\n"}},
		Test:  "internal/render TestLabelsOfLockstepWinOverThoseOfATemplateAndOfTheSelector", Rule: "other",
	},
	{
		Name:  "mark of a withdrawn deletion that a template says",
		Edits: []Edit{{renders, "\t\t\t\tcontract.WithdrawnAnnotation,\n", ""}},
		Test:  "internal/render TestAPodIsItsTemplateWithAnIdentity/what only lockstep may say is removed from a template", Rule: "withdrawn",
	},
	{
		Name:  "claims of a new identity that stay although they go with the object",
		Edits: []Edit{{renders, "if o.Claim.DeleteWithObject {", "if o.UID == \"\" {"}},
		Test:  "internal/render TestAClaimBelongsToTheObjectIfItGoesWithIt", Rule: "it goes with the object: true",
	},
	{
		Name:  "hand-over that a template says",
		Edits: []Edit{{renders, "contract.HandoverAnnotation, contract.InPlaceUpdateAnnotation,", "contract.InPlaceUpdateAnnotation,"}},
		Test:  saysNothing + "the pod before", Rule: "of-a-template",
	},
	{
		Name:  "update in place that a template says",
		Edits: []Edit{{renders, "contract.InPlaceUpdateAnnotation, contract.SiblingsAnnotation,", "contract.SiblingsAnnotation,"}},
		Test:  saysNothing + "an update in place", Rule: "of-a-template",
	},
	{
		Name:  "set of claims that a template says",
		Edits: []Edit{{renders, "contract.InPlaceUpdateAnnotation, contract.SiblingsAnnotation,", "contract.InPlaceUpdateAnnotation,"}},
		Test:  saysNothing + "the other claims", Rule: "of-a-template",
	},
	{
		Name:  "time of an end that a template says",
		Edits: []Edit{{renders, "contract.RetiredAtAnnotation, contract.RetiredReasonAnnotation,", "contract.RetiredReasonAnnotation,"}},
		Test:  saysNothing + "the end of an identity", Rule: "of-a-template",
	},
	{
		Name:  "reason of an end that a template says",
		Edits: []Edit{{renders, "contract.RetiredAtAnnotation, contract.RetiredReasonAnnotation,", "contract.RetiredAtAnnotation,"}},
		Test:  saysNothing + "the reason of an end", Rule: "of-a-template",
	},
	{
		Name:  "request to replace a pod that a template says",
		Edits: []Edit{{renders, "contract.SpecifiedDeleteLabel, contract.StorageAnnotation,", "contract.StorageAnnotation,"}},
		Test:  saysNothing + "that it is to leave", Rule: "of-a-template",
	},
	{
		Name:  "pod that terminates, taken for an orphan",
		Edits: []Edit{{actAdoption, "ends := p.DeletionTimestamp != nil || ", "ends := "}},
		Test:  whichOrphans + "it terminates", Rule: "orphans (-want +got)",
	},
	{
		Name:  "pod that the selector does not match, taken for an orphan",
		Edits: []Edit{{actAdoption, "metav1.ListOptions{LabelSelector: s.Object.Selector}", "metav1.ListOptions{}"}},
		Test:  whichOrphans + "it runs", Rule: "requests (-want +got)",
	},
	{
		Name:  "pod that has ended, taken for an orphan",
		Edits: []Edit{{actAdoption, "p.Status.Phase == corev1.PodSucceeded || ", ""}},
		Test:  whichOrphans + "it has ended", Rule: "orphans (-want +got)",
	},
	{
		Name:  "pod that has failed, taken for an orphan",
		Edits: []Edit{{actAdoption, " || p.Status.Phase == corev1.PodFailed", ""}},
		Test:  whichOrphans + "it has failed", Rule: "orphans (-want +got)",
	},
	{
		Name:  "status that overwrites a later one",
		Edits: []Edit{{"internal/control/pools/status.go", "\t\t{\"op\": \"test\", \"path\": \"/metadata/resourceVersion\", \"value\": seen.Object.Version.String()},\n", ""}},
		Test:  "internal/control/pools TestAStatusIsOnlyWrittenToTheObjectThatWasRead", Rule: "does not test that /metadata/resourceVersion is",
	},
	{
		Name:  "status of a former object, taken for that of the object",
		Edits: []Edit{{"internal/control/pools/status.go", "seen.Object.UID+string(text)", "string(text)"}},
		Test:  "internal/control/pools TestAStatusIsWrittenAgainForAnotherObjectOfTheSameName", Rule: "after 1 requests, the status of the new object is neither written nor due",
	},
	{
		Name:  "drawn identity in a report, which changes with each attempt",
		Edits: []Edit{{controlsPools, "drawnID.ReplaceAllString(plan.Plain(failing.Message(failing.Worst(err)), longestFailure), \"-ID\")", "plan.Plain(failing.Message(failing.Worst(err)), longestFailure)"}},
		Test:  "internal/control/pools TestFailuresThatLastAreReportedWithTheirMessage/a quota, without the identity that was drawn", Rule: "db-0123456789abcdef",
	},
	{
		Name:  "pod that cannot be read, taken for one that a person has to delete",
		Edits: []Edit{{actPools, "case err != nil:\n\t\treturn fmt.Errorf(\"read pod ", "case false:\n\t\treturn fmt.Errorf(\"read pod "}},
		Test:  "internal/act TestAHandOverThatAnotherProcessHasMadeIsNoFailure/a pod of the name is unreadable", Rule: "the error asks to delete a pod: true",
	},
}
