package mutants

// workloads are mistakes in what the lock knows of a workload, and in the record of its Lease.
var workloads = []Mutant{
	{
		Name:  "recorded delete that is repeated although its zone was paused",
		Edits: []Edit{{holdDecision, "d.Need != ReadLive", "d.Need != ReadLive && !slices.ContainsFunc(plan.Only[plan.DeletePod](steps), func(d plan.DeletePod) bool { return d.AlreadyRecorded })"}},
		Test:  "internal/lock/hold TestStatefulSetsAreReadBeforePodsAreDisrupted", Rule: "its delete is already recorded",
	},
	{
		Name:  "free hold taken to record the time of a downscale",
		Edits: []Edit{{holdRecord, "\tif !a.Holder.Free() {", "\tif !a.Holder.Free() || s.Hold.Holder.Free() {"}},
		Test:  "internal/lock/hold TestADownscaleThatNeedsNoHoldIsDated", Rule: "-want +got",
	},
	{
		Name:  "Lease of a budget without its part",
		Edits: []Edit{{recordOfKinds, "\tplan.KindBudget:      groups{},\n", ""}},
		Test:  "internal/lock/record TestEveryKindOfLeaseKeepsItsPart", Rule: "budget",
	},
	{
		Name:  "unreadable part accepted because the intents are readable",
		Edits: []Edit{{recordOfKinds, "cmp.Or(wrongIntents, wrongPart); err != nil {", "cmp.Or(wrongIntents, wrongPart); err != nil && len(r.Intents) == 0 {"}},
		Test:  "internal/lock/record TestAPartThatCannotBeReadIsNotOverwritten", Rule: "got",
	},
	{
		Name:  "former zones no longer remembered once the record is written",
		Edits: []Edit{{nextPart, "\tnext.Members = Remembered(*s)\n", "\tif len(s.FormerZones) == 0 {\n\t\tnext.Members = Remembered(*s)\n\t}\n"}},
		Test:  "internal/plan/group TestTheNextPartRemembersZonesThatLeft", Rule: "zone-c",
	},
	{
		Name:  "time of a downscale written into the record that snapshots share",
		Edits: []Edit{{nextPart, "\tnext := map[string]time.Time{}\n\tmaps.Copy(next, times)\n", "\tnext := times\n\tmaps.Copy(next, times)\n"}},
		Test:  "internal/plan/group TestNextPartsDoNotChangeTheRecord", Rule: "-before +after",
	},
	{
		Name:  "pods notified to stay although a downscale failed",
		Edits: []Edit{{"internal/plan/group/set_replicas.go", "Order: plan.UnderHold, Visible: true, Resizes: true}", "Order: plan.UnderHold, Visible: true}"}},
		Test:  "internal/plan/group TestAnyChangeOfReplicasDecidesWhichPodsLeave", Rule: "from 3 to 1",
	},
	{
		Name:  "former zone that counts as a zone of the group for freshness",
		Edits: []Edit{{workload, "s.FormerZones[i].shown(true)", "s.FormerZones[i].shown(false)"}},
		Test:  "internal/plan/group TestZonesThatLeftAreShownOutsideOfTheGroup", Rule: "zone-a is shown",
	},
	{
		Name:  "orphans that count as belonging to no other group",
		Edits: []Edit{{workload, "return !z.Uncovered }", "return !z.Uncovered && z.Exists }"}},
		Test:  "internal/plan/group TestAGroupIsSharedWhileAZoneThatLeftMayBelongToAnother", Rule: "orphaned",
	},
	{
		Name:  "rollout of a zone that counts as done by the status of an earlier spec",
		Edits: []Edit{{workload, "Done: z.Observed && z", "Done: z"}},
		Test:  "internal/plan/group TestHowFarTheRolloutOfAZoneIs", Rule: "the status is behind the spec",
	},
	{
		Name:  "rollout of a zone that counts as done after its first pod",
		Edits: []Edit{{workload, "return serving == z.Replicas", "return serving > 0"}},
		Test:  "internal/plan/group TestHowFarTheRolloutOfAZoneIs", Rule: "one starts",
	},
	{
		Name:  "rollout that waits for a zone that another controller rolls out",
		Edits: []Edit{{workload, "return z.OnDelete && !z.Deleting &&", "return !z.Deleting &&"}},
		Test:  "internal/plan/group TestHowFarTheRolloutOfAZoneIs", Rule: "another controller rolls the zone",
	},
	{
		Name:  "caches that wait for the StatefulSet of a former zone",
		Edits: []Edit{{"internal/lock/freshness/known.go", "!seen.Outside && !reached(", "!reached("}},
		Test:  "internal/lock/freshness TestAViewNeedNotShowTheStatefulSetOfAZoneThatLeft", Rule: "behind: StatefulSet zone-b",
	},
	{
		Name:  "rollout that counts as begun when another operation took the hold",
		Edits: []Edit{{"internal/lock/history/next.go", "r.held.Holder == r.record.Holder && ", ""}},
		Test:  "internal/lock/history TestARolloutBeginsWhenItsHoldWasTaken", Rule: "it begins -1h0m0s from now",
	},
	{
		Name:  "zone that counts as done while a delete of its pods is recorded",
		Edits: []Edit{{"internal/lock/history/next.go", "return !recorded && r.seen", "return (recorded || true) && r.seen"}},
		Test:  "internal/lock/history TestAZoneIsNotDoneWhileADeleteOfItsPodsIsRecorded", Rule: "with 1 intents, zone-a is over: true",
	},
	{
		Name:  "update of a StatefulCluster that ends before its last pod is Ready",
		Edits: []Edit{{"internal/lock/history/next.go", "return !waits", "return !waits || true"}},
		Test:  "internal/lock/history TestAnUpdateOfAStatefulClusterIsRecordedWithItsPods", Rule: "db 1->2 0..",
	},
	{
		Name:  "replacement that never ends in the Lease of a StatefulCluster",
		Edits: []Edit{{holdDecision, "case idle(s) && s.Hold.Rollouts.Open() > 0:", "case idle(s) && s.Hold.Rollouts.Current.Begun():"}},
		Test:  "internal/lock/history TestAReplacementIsRecordedUntilTheSuccessorIsReady", Rule: "deleted 0 recreated 1 ready",
	},
	{
		Name:  "hand-over of a paused StatefulCluster that counts as an update",
		Edits: []Edit{{"internal/lock/history/next.go", "now.Observed && !now.Paused &&", "now.Observed &&"}},
		Test:  "internal/lock/history TestAHandOverBeginsAnUpdateOnlyIfPodsMayBeUpdated", Rule: "paused: true, recorded",
	},
	{
		Name:  "live read of a budget that is repeated for a StatefulSet that is back",
		Edits: []Edit{{"internal/cluster/observe/former_zones.go", "return key.Rolled() && o.belongs(key, set)", "return o.belongs(key, set)"}},
		Test:  "internal/cluster/observe TestALiveReadOfABudgetIsNotRepeatedWhenAStatefulSetIsBack", Rule: "a StatefulSet that left the group is back",
	},
	{
		Name:  "zone that is served by orphans although an eviction of its pods is recorded",
		Edits: []Edit{{"internal/plan/group/orphans.go", ", b.leftover(z.Zone)).None()", ").None()"}},
		Test:  "internal/plan/group TestEvict/an orphan in the way stays while a partition eviction in a zone that left the group is recorded", Rule: "got  yes",
	},
	{
		Name:  "time of a downscale that cannot be written again",
		Edits: []Edit{{"internal/lock/record/downscale.go", "if !writable(d.Since) {", "if false {"}},
		Test:  "internal/lock/record TestTextThatIsNotUnderstoodIsRefused/a time of a downscale that UTC cannot write", Rule: "years 0 to 9999",
	},
	{
		Name:  "budget without a Lease that is reconciled",
		Edits: []Edit{{groupsController, " || key.Kind == plan.KindBudget", ""}},
		Test:  "internal/control/groups TestABudgetWithoutALeaseIsNotReconciled", Rule: "want",
	},
	{
		Name:  "refused downscale that takes the hold of another zone",
		Edits: []Edit{{admissionHolds, "next, possible := hold.Resume(held.Record(), part, clock.Now())", "next, _ := hold.Resume(held.Record(), part, clock.Now())\n\t\tnext.Holder, next.Part = part.InProgress(), part"}},
		Test:  "internal/serve/admission TestARefusedDownscaleDoesNotTakeTheHoldOfAnotherZone", Rule: "the hold is downscale/zone-a",
	},
}
