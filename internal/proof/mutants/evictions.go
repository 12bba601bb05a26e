package mutants

// evictions are mutants about evictions that a webhook grants and the hold records.
var evictions = []Mutant{
	{
		Name:  "eviction while a user has acquired the hold manually",
		Edits: []Edit{without(evict, "evictionHeldElsewhere"), blindToEvictions},
		Test:  explore + "an eviction during a rollout while a user acquires the hold manually", Rule: "ManualHoldKept",
	},
	{
		Name:  "eviction while another zone has the hold, detected by an invariant",
		Edits: []Edit{without(evict, "evictionHeldElsewhere")},
		Test:  explore + "an eviction during a downscale by lockstep", Rule: "GrantAlone",
	},
	{
		Name:  "eviction while a pod of another zone is down",
		Edits: []Edit{without(evict, "forEviction(otherZoneUnavailable)"), blindToEvictions},
		Test:  explore + "an eviction and a crash", Rule: "OtherZonesAvailable",
	},
	{
		Name:  "evictions beyond the budget",
		Edits: []Edit{without(evict, "forEviction(budgetSpent)"), blindToEvictions},
		Test:  explore + "an eviction during a rollout of its zone", Rule: "WithinBudget",
	},
	{
		Name:  "eviction of a pod beyond the cached spec not counted against the budget",
		Edits: []Edit{{evict, "e.alreadyDown = b.isDown(z, pod)", "e.alreadyDown = !z.Owns(pod.Ordinal) || b.isDown(z, pod)"}, blindToEvictions},
		Test:  explore + "evictions of two pods of a zone that is scaled up", Rule: "WithinBudget",
	},
	{
		Name:  "pods beyond the cached spec that do not count as down",
		Edits: []Edit{{guards, "down := d.zone.down + d.zone.surplusDown", "down := d.zone.down"}, blindToEvictions},
		Test:  "internal/plan/group TestEvict/a recorded pod beyond the spec counts", Rule: "yes, recorded zone-a-0",
	},
	{
		Name:  "percentage of the replicas before a recorded downscale",
		Edits: []Edit{{evict, "return min(z.Replicas, d.To)", "return z.Replicas"}},
		Test:  "internal/plan/group TestEvict/percentages refer to the replicas after a recorded downscale", Rule: "yes, recorded zone-a-0",
	},
	{
		Name:  "unbound grant that ends once another pod has the name",
		Edits: []Edit{{"internal/plan/group/intent_status.go", "case i.Unbound && !(s.Live && i.Lapsed()):", "case false && i.Unbound:"}},
		Test:  scenarios + "unbound-grant-counts-for-the-pod-that-now-has-the-name", Rule: "delete zone-b-0",
	},
	{
		Name:  "unbound eviction recorded as bound",
		Edits: []Edit{{"internal/serve/admission/pod_eviction.go", "permit.Record.Unbound = e.UID == \"\"", "permit.Record.Unbound = false"}},
		Test:  "internal/serve/admission TestUnboundEvictionIsRecordedAsUnbound", Rule: "an eviction that is bound false is recorded as bound true",
	},
	{
		Name:  "eviction of a pod that lockstep is about to delete",
		Edits: []Edit{without(evict, "alreadyRecorded")},
		Test:  explore + "an eviction during a rollout of its zone", Rule: "NoLostIntent",
	},
	{
		Name:  "eviction of a partition that is down in another zone",
		Edits: []Edit{{evict, "\tpartitionHeldElsewhere, // rollouts and downscales exclude evictions by partitions\n\tothersBeforeEviction,\n\tpartitionUnavailable,\n", "\tpartitionHeldElsewhere,\n\tothersBeforeEviction,\n"}, blindToEvictions},
		Test:  explore + "evictions of one partition", Rule: "WithinBudget",
	},
	{
		Name:  "eviction by partitions during a rollout",
		Edits: []Edit{without(evict, "partitionHeldElsewhere"), blindToEvictions},
		Test:  explore + "an eviction by partitions during a rollout", Rule: "NoLostIntent",
	},
	{
		Name:  "eviction of a pod that replaced the requested pod",
		Edits: []Edit{{evict, "\tif pod.UID != r.UID {\n", "\tif false {\n"}},
		Test:  explore + "an eviction during a rollout of its zone", Rule: "ExactGrant",
	},
	{
		Name:  "eviction of a pod that is down without a required version",
		Edits: []Edit{{evict, "\tif e.down() {\n\t\tp.Version = requiredVersion(pod)\n", "\tif e.down() {\n"}},
		Test:  explore + "an eviction and a crash", Rule: "ExactGrant",
	},
	{
		Name:  "granted eviction cancelled once its pod has another version",
		Edits: []Edit{{"internal/plan/group/intent_status.go", "case pod.UID == i.UID && i.Granted():", "case false && i.Granted():"}, blind},
		Test:  explore + "an eviction during a rollout, and a crash", Rule: "NoLostIntent",
	},
	{
		Name:  "granted eviction that ends while it can still happen",
		Edits: []Edit{{"internal/plan/intent.go", "i.Granted() && i.Known >= GrantLimit", "i.Granted()"}, blind, blindToEvictions},
		Test:  explore + "an eviction during a rollout of another zone", Rule: "NoLostIntent",
	},
	{
		Name:  "granted eviction that ends while it can still happen, detected by an invariant",
		Edits: []Edit{{"internal/plan/intent.go", "i.Granted() && i.Known >= GrantLimit", "i.Granted()"}},
		Test:  explore + "an eviction during a rollout of another zone", Rule: "OneZoneAtATime: the plan breaks it",
	},
	{
		Name: "granted eviction that ends while the API server works on it",
		Edits: []Edit{
			{"internal/plan/intent.go", "const GrantLimit = 70 * time.Second", "const GrantLimit = 10 * time.Second"},
			{invariantNotes, "const longestEviction = 70 * time.Second", "const longestEviction = 10 * time.Second"},
		},
		Test: walk, Rule: "RecordedFirst",
		Remark: "the explorer has no durations",
	},
	{
		Name:  "granted eviction that ends on caches",
		Edits: []Edit{{"internal/plan/group/intent_status.go", "if s.Live && i.Lapsed() &&", "if i.Lapsed() &&"}, {"internal/plan/end_intent.go", "Read: Always, ", ""}},
		Test:  explore + "an eviction during a rollout of another zone", Rule: "GrantKept",
	},
	{
		Name:  "granted eviction that never ends",
		Edits: []Edit{{group, "append(after, b.endIntents()...)", "append(after, b.endIntents()[:0]...)"}},
		Test:  scenarios + "unused-eviction-grant-ends-after-live-read", Rule: "end intent of zone-b-0",
	},
	{
		Name:  "dry run of an eviction that takes the hold",
		Edits: []Edit{{"internal/serve/admission/pod_eviction.go", "case !permit.NeedsRecord() || e.DryRun:", "case !permit.NeedsRecord():"}},
		Test:  "internal/serve/admission TestDryRunEvictionIsJudgedAndChangesNothing", Rule: "1 writes; want 1, 0, 0",
	},
	{
		Name:  "lapsed grant that keeps caches from confirming any disruption",
		Edits: []Edit{{confirm, "return a.Intent.UID == i.UID", "return false && a.Intent.UID == i.UID"}},
		Test:  "internal/control/groups TestReconcile/a lapsed grant allows a disruption after its live read", Rule: "want after 20s",
	},
	{
		Name:  "plan of a live read not confirmed by caches",
		Edits: []Edit{{confirm, "!slices.Contains(proposed, one)", "false && !slices.Contains(proposed, one)"}},
		Test:  "internal/plan/group TestCachesConfirmThePlanOfALiveRead/a disruption while another zone became unavailable", Rule: "got true",
	},
	{
		Name:  "rollout that joins evictions by partitions of its zone",
		Edits: []Edit{{guards, "(intent.Zone != zone || intent.Partition != \"\")", "intent.Zone != zone"}},
		Test:  scenarios + "partition-evictions-block-rollout-of-their-own-zone", Rule: "delete zone-a-0",
	},
	{
		Name:  "granted eviction that ends during a repair and is not removed from the hold",
		Edits: []Edit{{holdDecision, "decision.Need == Carry && records &&", "false && records &&"}},
		Test:  "internal/lock/hold TestAGrantThatEndsDuringARepairIsRemovedFromTheHold", Rule: "end intent of zone-a-1",
	},
	{
		Name:  "rollout of a pod whose eviction is granted",
		Edits: []Edit{{groupState, "|| granted && pod.Up() {", "|| false && granted {"}, blind},
		Test:  explore + "an eviction during a rollout of its zone", Rule: "NoLostIntent",
	},
	{
		Name:  "granted eviction dropped by the repair of its pod",
		Edits: []Edit{{holdRecord, "stays := i.MayTake(d.UID, d.Version)", "stays := false"}, blind},
		Test:  explore + "an eviction during a rollout, and a crash", Rule: "NoLostIntent",
	},
	{
		Name:  "eviction that takes the hold without a live read",
		Edits: []Edit{{holdEvict, "if !s.Live && (s.Hold.Holder != holder || !s.Hold.Own || ", "if !s.Live && ("}, blindToEvictions},
		Test:  explore + "an eviction and a crash", Rule: "OtherZonesAvailable",
	},
	{
		Name:  "eviction granted on caches under a record of another process",
		Edits: []Edit{{holdEvict, "s.Hold.Holder != holder || !s.Hold.Own || ", "s.Hold.Holder != holder || "}},
		Test:  unreadHold + "another process wrote it", Rule: "want 429 OtherZoneUnavailable",
	},
	{
		Name:  "eviction not bound to its pod if the caches show no hold of the StatefulSet",
		Edits: []Edit{{"internal/serve/admission/pod_eviction_pin.go", "case pod.OutsideStatefulSets() && !e.namesZonePod():", "case !pod.Held && !pod.Unplaced:"}},
		Test:  "internal/serve/admission TestEvictionIsBoundToTheJudgedPod/a pod of a StatefulSet that no hold covers as far as the caches show", Rule: "-want +got",
	},
	{
		Name:  "eviction not bound to its pod if the caches show a pod of another owner",
		Edits: []Edit{{"internal/serve/admission/pod_eviction_pin.go", "case pod.OutsideStatefulSets() && !e.namesZonePod():", "case pod.OutsideStatefulSets():"}},
		Test:  "internal/serve/admission TestEvictionIsBoundToTheJudgedPod/a pod of no StatefulSet, with the name of a StatefulSet's pod", Rule: "-want +got",
	},
	{
		Name:  "eviction of a pod that a StatefulSet may adopt bound by UID alone",
		Edits: []Edit{{"internal/serve/admission/pod_eviction_pin.go", "(e.mayBeAdopted(pod) || !pod.Up && !pod.Terminating)", "(!pod.Up && !pod.Terminating)"}},
		Test:  "internal/serve/admission TestEvictionIsBoundToTheJudgedPod/a pod of no StatefulSet, with the name of a StatefulSet's pod", Rule: "-want +got",
	},
	{
		Name:  "eviction of an orphan bound by UID alone",
		Edits: []Edit{{"internal/serve/admission/pod_eviction_pin.go", "pod.Orphaned && !pod.Terminating || ", ""}},
		Test:  "internal/serve/admission TestEvictionIsBoundToTheJudgedPod/an orphan that is up", Rule: "-want +got",
	},
	{
		Name:  "eviction of an orphan without a required version",
		Edits: []Edit{{evict, "\t\tp.Version = e.versionOfOrphan()\n", ""}},
		Test:  "internal/serve/admission TestAnOrphanIsEvictedOnlyAtTheVersionThatWasJudged/bound to its UID alone", Rule: "InvariantViolated",
	},
	{
		Name:  "eviction of an orphan bound to a later version than the judged one",
		Edits: []Edit{{podEviction, "(permit.Version != 0 || !permit.NeedsRecord())", "!permit.NeedsRecord()"}},
		Test:  "internal/serve/admission TestAnOrphanIsEvictedOnlyAtTheVersionThatWasJudged/bound to a later version", Rule: "want 429 CacheStale",
	},
	{
		Name:  "orphans not recognized when an eviction is bound",
		Edits: []Edit{{"internal/cluster/observe/lookup.go", "\tpod.Orphaned = true\n", ""}},
		Test:  "internal/cluster/observe TestOrphansThatAStatefulSetDoesNotAdoptBelongToItsGroup", Rule: "the orphan is",
	},
	{
		Name:  "eviction of a zone's pod that the caches show as a pod of another owner",
		Edits: []Edit{{podEviction, "case pod.OutsideStatefulSets() && e.namesZonePod():", "case false:"}},
		Test:  "internal/serve/admission TestUncachedPodIsReadFromTheAPIServer/the caches show a pod of another owner, and it is a zone's", Rule: "want 429 CacheStale",
	},
	{
		Name:  "live read for every eviction of a pod of another owner",
		Edits: []Edit{{podEviction, "case pod.OutsideStatefulSets() && e.namesZonePod():", "case pod.OutsideStatefulSets():"}},
		Test:  "internal/serve/admission TestPodThatNoStatefulSetNamesIsEvictedWithoutALiveRead", Rule: "1 of pods",
	},
	{
		Name:  "eviction bound to a former pod that is retried forever",
		Edits: []Edit{{"internal/serve/admission/pod_eviction_pin.go", "case e.UID != \"\" && e.UID != pod.UID && pod.UID != noPodUID:", "case false:"}},
		Test:  "internal/serve/admission TestEvictionBoundToAFormerPodIsAConflict", Rule: "want 409",
	},
	{
		Name:  "eviction refused as a conflict on caches alone",
		Edits: []Edit{{"internal/serve/admission/pod_eviction_pin.go", "known = known && (e.UID == \"\" || e.UID == pod.UID)\n", ""}},
		Test:  "internal/serve/admission TestEvictionIsBoundToTheJudgedPod/bound to a pod that the caches do not show yet", Rule: "answered",
	},
	{
		Name:  "recorded place in the queue that counts as a live read of the group",
		Edits: []Edit{{"internal/serve/admission/queue.go", "\tctx, stop :=", "\trecord.Own = true\n\tctx, stop :="}},
		Test:  unreadHold + "this process recorded a place in the queue", Rule: "want 429 OtherZoneUnavailable",
	},
	{
		Name:  "granted eviction that stays in the queue",
		Edits: []Edit{{holdEvict, "return w.Operation.For(w.Zone) == granted.Evicts() })", "return false })"}},
		Test:  "internal/lock/hold TestAnEvictionThatIsGrantedLeavesTheQueue", Rule: "want zone-b alone",
	},
	{
		Name:  "eviction by partitions under the hold of its zone",
		Edits: []Edit{{holdEvict, "if granted.Partition == \"\" && ", "if "}},
		Test:  "internal/lock/hold TestHolderOfAGrantedEviction/partitions count, and an eviction of its zone has the hold", Rule: "want eviction/partitions",
	},
	{
		Name:  "eviction that renews a manual hold",
		Edits: []Edit{{holdEvict, " && !h.Holder.Foreign() &&", " &&"}},
		Test:  "internal/lock/hold TestHolderOfAGrantedEviction/a manual hold has expired", Rule: "got manual/zone-a",
	},
	{
		Name:  "eviction granted on caches that are older than the last live read",
		Edits: []Edit{{"internal/serve/admission/pod_eviction.go", "if decision.Need == hold.ReadLive || p.behind(seen, decision) {", "if decision.Need == hold.ReadLive {"}},
		Test:  "internal/serve/admission TestCachesOlderThanTheLastLiveReadGrantNoEviction", Rule: "a third pod may go",
		Remark: "the explorer shows its consequence with the deviation: live reads forgotten by webhooks",
	},
	{
		Name:  "live read for a refused eviction that later plans ignore",
		Edits: []Edit{{podEviction, "\t\t\tp.Fresh.ReadLive(live.snapshot())\n", ""}},
		Test:  "internal/serve/admission TestLiveReadForARefusedEvictionShowsWhichCachesAreOlder", Rule: "count as up to date",
	},
	{
		Name:  "count of a group used again after a grant",
		Edits: []Edit{{podEviction, "\t\t\tp.outlooks.forget(key)\n", ""}},
		Test:  "internal/serve/admission TestEvictionsAfterAGrantAreRefusedByOneNewCount", Rule: "counted 3 times",
	},
	{
		Name:  "eviction granted because an earlier count shows the pod down",
		Edits: []Edit{{"internal/serve/admission/pod_eviction.go", "if permit.Allowed() && !permit.NeedsRecord() {", "if false {"}},
		Test:  "internal/serve/admission TestEvictionIsNotGrantedFromACountOfAnEarlierRequest", Rule: "PodUnavailable",
	},
	{
		Name:  "eviction allowed by a count that began before its request",
		Edits: []Edit{{"internal/serve/admission/outlooks.go", "return c.number > before", "return c.number >= before"}},
		Test:  "internal/serve/admission TestRequestsDuringACountGetAResultThatIsNotTooOld", Rule: "a yes waits for the next count",
	},
	{
		Name:  "refusal by a count that is too old",
		Edits: []Edit{{"internal/serve/admission/outlooks.go", "return now.Before(c.until.Add(staleGrace))", "return now.Before(c.until.Add(time.Hour))"}},
		Test:  "internal/serve/admission TestRequestsDuringACountGetAResultThatIsNotTooOld", Rule: "the last count is too old",
	},
	{
		Name:  "eviction under budgets whose watch has no heartbeats",
		Edits: []Edit{{"internal/cluster/budgets/cache.go", "time.Since(b.lastContact) >= dynamicwatch.SilentFor", "time.Since(b.lastContact) >= 1_000_000*dynamicwatch.SilentFor"}},
		Test:  "internal/cluster/budgets TestBudgetsWithoutHeartbeatsAreUnknown", Rule: "known: true, want false",
	},
	{
		Name:  "rollout turn given to a zone that an eviction makes unavailable",
		Edits: []Edit{{groupState, "&& !z.available() && !evicted {", "&& !z.available() && (!evicted || true) {"}},
		Test:  "internal/plan/group TestARolloutTakesTurnsWithEvictionsThatNeverGetThrough", Rule: "is not rolled after half an hour",
	},
	{
		Name:  "drain that waits for operations that wait for the drain",
		Edits: []Edit{{evict, "intent.Since.Add(-away)", "b.Now"}},
		Test:  "internal/plan/group TestEvict/a pod that is away for long waits for the rest of its node, so the eviction goes before an operation that came later or shortly before", Rule: "got  QueuedBehindOtherZone",
	},
	{
		Name:  "drains that wait for no other operation once a pod is down for long",
		Edits: []Edit{{evict, "intent.Since.Add(-away)", "intent.Since.Add(-24*time.Hour)"}},
		Test:  "internal/plan/group TestEvict/an operation that has waited twice as long goes before it", Rule: "got  yes",
	},
	{
		Name:  "drain that waits for no other operation as soon as a pod is down",
		Edits: []Edit{{evict, "if away < longAbsence {", "if false {"}},
		Test:  "internal/plan/group TestEvict/a pod that is away for less than two minutes waits for nothing", Rule: "got  yes",
	},
	{
		Name:  "drain that precedes only operations that came after it",
		Edits: []Edit{{evict, "intent.Since.Add(-away)", "intent.Since"}},
		Test:  "internal/plan/group TestEvict/a pod that is away for long waits for the rest of its node, so the eviction goes before an operation that came later or shortly before", Rule: "got  QueuedBehindOtherZone",
	},
	{
		Name:  "eviction although budgets cannot be read",
		Edits: []Edit{{"internal/plan/group/evict.go", "\tif b.Unread {\n", "\tif false {\n"}, blindToEvictions},
		Test:  "internal/plan/group TestEvict", Rule: "no_running_pod_is_evicted_while_budgets_cannot_be_read",
	},
	{
		Name:  "watch with a heartbeat before its initial list is complete",
		Edits: []Edit{{"internal/cluster/dynamicwatch/heartbeats.go", "case !h.initialEvents:", "case true:"}},
		Test:  "internal/cluster/budgets TestIncompleteInitialListIsNoHeartbeat", Rule: "known: true, want false",
	},
	{
		Name:  "eviction recorded in place of other intents",
		Edits: []Edit{{holdEvict, "append(others, granted)", "append(others[:0], granted)"}, blindToEvictions},
		Test:  explore + "evictions of two pods of one zone", Rule: "NoLostIntent",
	},
	{
		Name:  "hold of an eviction that is never released",
		Edits: []Edit{{group, "if holder.Free() || holder.Foreign() || b.Hold.Unreadable", "if !b.heldBy(holder.Zone()) || b.Hold.Unreadable"}},
		Test:  explore + "an eviction and a crash", Rule: "Progress",
	},
	{
		Name:  "rollout that precedes evictions that queued first",
		Edits: []Edit{{guards, "return b.waitingBefore(b.since(plan.RolloutOperation, z.Name), z.Name)\n", "return plan.Refusal{}\n"}},
		Test:  scenarios + "eviction-that-queued-first-precedes-rollout", Rule: "delete zone-a-0",
	},
	{
		Name:  "place in the queue that keeps the zone with the hold from using its budget",
		Edits: []Edit{{evict, "if b.mayOvertake[place.Zone] && b.couldHaveItsTurn(e) {", "if false {"}},
		Test:  "internal/plan/group TestADrainUsesItsBudgetWhileAnotherZoneWaits", Rule: "if no other zone waits",
	},
	{
		Name:  "eviction that overtakes and is not recorded as such",
		Edits: []Edit{{evict, "Overtook: !b.beforeEviction(e).None(),", "Overtook: false,"}},
		Test:  "internal/plan/group TestAZoneHasItsTurnHoweverManyOthersOvertakeIt", Rule: "zone-b had",
	},
	{
		Name:  "rollout that overtakes and is not recorded as such",
		Edits: []Edit{{group, "overtakes = true", "overtakes = false"}},
		Test:  "internal/plan/group TestAPodThatIsRolledBeforeOthersIsRecordedAsSuch", Rule: "zone-a-1:false",
	},
	{
		Name:  "repair that drops the record that its former pod overtook",
		Edits: []Edit{{group, "reason.OutdatedRevision, c.overtook", "reason.OutdatedRevision, false"}},
		Test:  "internal/plan/group TestAPodThatIsRolledBeforeOthersIsRecordedAsSuch", Rule: "zone-a-0:false",
	},
	{
		Name:  "rollout blocked forever by a partition that a smaller zone does not have",
		Edits: []Edit{{partition, "if t.fresh >= max(1, budget.Limit) {", "if t.Total() >= max(1, budget.Limit) {"}},
		Test:  "internal/plan/group TestProgress", Rule: "the goal is not reached",
	},
	{
		Name:  "unbound eviction that does not apply to a pod created later",
		Edits: []Edit{{"internal/plan/intent.go", "i.Granted() && (i.Unbound || !i.Succeeded(uid, version))", "i.Granted() && !i.Succeeded(uid, version)"}},
		Test:  "internal/plan/group TestPodsThatAGrantedEvictionMayStillDelete/an unbound grant and a pod that replaced the recorded pod", Rule: "got false, want true",
	},
	{
		Name:  "percentage of the replicas after a downscale of a former StatefulSet",
		Edits: []Edit{{evict, "d.Zone == z.Name && d.UID == z.UID {", "d.Zone == z.Name {"}},
		Test:  "internal/plan/group TestEvict/a downscale of a former StatefulSet does not change percentages", Rule: "got  PodStarting zone-a-1",
	},
	{
		Name:  "recorded pod beyond the spec that counts as a pod that is not ready",
		Edits: []Edit{{"internal/plan/group/queue.go", "intent.Zone == holder.Name && holder.Wants(intent.Pod) {", "intent.Zone == holder.Name {"}},
		Test:  "internal/plan/group TestEvict/a recorded pod beyond the spec does not count as the pod that is not ready", Rule: "got  QueuedBehindOtherZone zone-b",
	},
}
