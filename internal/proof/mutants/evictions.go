package mutants

// evictions are mutants about evictions that a webhook grants and the hold records.
var evictions = []Mutant{
	{
		Name:  "eviction while somebody has the hold by hand",
		Edits: []Edit{without(evict, "evictionHeldElsewhere"), blindToEvictions},
		Test:  explore + "an eviction during a rollout while a user acquires the hold manually", Rule: "ManualHoldKept",
	},
	{
		Name:  "eviction while another zone has the hold, seen by the check",
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
		Name:  "eviction of a pod beyond the cached spec that costs nothing",
		Edits: []Edit{{evict, "e.alreadyDown = b.isDown(z, pod)", "e.alreadyDown = !z.Owns(pod.Ordinal) || b.isDown(z, pod)"}, blindToEvictions},
		Test:  explore + "evictions of two pods of a zone that is scaled up", Rule: "WithinBudget",
	},
	{
		Name:  "pods beyond the cached spec that do not count as down",
		Edits: []Edit{{guards, "down := d.zone.down + d.zone.surplusDown", "down := d.zone.down"}, blindToEvictions},
		Test:  "internal/plan/group TestEvict/a recorded pod beyond the spec counts", Rule: "yes, recorded zone-a-0",
	},
	{
		Name:  "percentages of replicas that a noted downscale takes away",
		Edits: []Edit{{evict, "return min(z.Replicas, d.To)", "return z.Replicas"}},
		Test:  "internal/plan/group TestEvict/percentages refer to the replicas after a recorded downscale", Rule: "yes, recorded zone-a-0",
	},
	{
		Name:  "unbound grant that ends once another pod has the name",
		Edits: []Edit{{"internal/plan/group/intent_status.go", "case i.Unbound && !(s.Live && i.Lapsed()):", "case false && i.Unbound:"}},
		Test:  scenarios + "unbound-grant-counts-for-the-pod-that-now-has-the-name", Rule: "delete zone-b-0",
	},
	{
		Name:  "unbound eviction that is noted as bound",
		Edits: []Edit{{"internal/serve/admission/pod_eviction.go", "permit.Record.Unbound = e.UID == \"\"", "permit.Record.Unbound = false"}},
		Test:  "internal/serve/admission TestUnboundEvictionIsRecordedAsUnbound", Rule: "an eviction that is bound false is recorded as bound true",
	},
	{
		Name:  "eviction of whoever lockstep itself takes down",
		Edits: []Edit{without(evict, "alreadyRecorded")},
		Test:  explore + "an eviction during a rollout of its zone", Rule: "NoLostIntent",
	},
	{
		Name:  "eviction of a partition that is down in another zone",
		Edits: []Edit{{evict, "\tpartitionHeldElsewhere, // rollouts and downscales exclude evictions by partitions\n\tothersBeforeEviction,\n\tpartitionUnavailable,\n", "\tpartitionHeldElsewhere,\n\tothersBeforeEviction,\n"}, blindToEvictions},
		Test:  explore + "evictions of one partition", Rule: "WithinBudget",
	},
	{
		Name:  "eviction by partitions beside a rollout",
		Edits: []Edit{without(evict, "partitionHeldElsewhere"), blindToEvictions},
		Test:  explore + "an eviction by partitions during a rollout", Rule: "NoLostIntent",
	},
	{
		Name:  "eviction of a pod that took the place of the one that was asked about",
		Edits: []Edit{{evict, "\tif pod.UID != r.UID {\n", "\tif false {\n"}},
		Test:  explore + "an eviction during a rollout of its zone", Rule: "ExactGrant",
	},
	{
		Name:  "eviction of a pod that is down at whatever version",
		Edits: []Edit{{evict, "\tif e.down() {\n\t\tp.Version = requiredVersion(pod)\n", "\tif e.down() {\n"}},
		Test:  explore + "an eviction and a crash", Rule: "ExactGrant",
	},
	{
		Name:  "granted eviction void once its pod has another version",
		Edits: []Edit{{"internal/plan/group/intent_status.go", "case pod.UID == i.UID && i.Granted():", "case false && i.Granted():"}, blind},
		Test:  explore + "an eviction during a rollout, and a crash", Rule: "NoLostIntent",
	},
	{
		Name:  "granted eviction that ends while it can happen",
		Edits: []Edit{{"internal/plan/intent.go", "i.Granted() && i.Known >= GrantLimit", "i.Granted()"}, blind, blindToEvictions},
		Test:  explore + "an eviction during a rollout of another zone", Rule: "NoLostIntent",
	},
	{
		Name:  "granted eviction that ends while it can happen, seen by the check",
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
		Remark: "the explorer has no lengths of time",
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
		Name:  "granted eviction that has lapsed keeps every takedown from its look",
		Edits: []Edit{{confirm, "return a.Intent.UID == i.UID", "return false && a.Intent.UID == i.UID"}},
		Test:  "internal/control/groups TestReconcile/a lapsed grant allows a disruption after its live read", Rule: "want after 20s",
	},
	{
		Name:  "caches not asked again after a look",
		Edits: []Edit{{confirm, "!slices.Contains(proposed, one)", "false && !slices.Contains(proposed, one)"}},
		Test:  "internal/plan/group TestCachesConfirmThePlanOfALiveRead/a disruption while another zone became unavailable", Rule: "got true",
	},
	{
		Name:  "rollout that joins evictions by partitions of its zone",
		Edits: []Edit{{guards, "(intent.Zone != zone || intent.Partition != \"\")", "intent.Zone != zone"}},
		Test:  scenarios + "partition-evictions-block-rollout-of-their-own-zone", Rule: "delete zone-a-0",
	},
	{
		Name:  "granted eviction that ends beside a repair and is not taken off the hold",
		Edits: []Edit{{holdDecision, "decision.Need == Carry && records &&", "false && records &&"}},
		Test:  "internal/lock/hold TestAGrantThatEndsDuringARepairIsRemovedFromTheHold", Rule: "end intent of zone-a-1",
	},
	{
		Name:  "pod rolled whose eviction is granted",
		Edits: []Edit{{groupState, "|| granted && pod.Up() {", "|| false && granted {"}, blind},
		Test:  explore + "an eviction during a rollout of its zone", Rule: "NoLostIntent",
	},
	{
		Name:  "granted eviction forgotten for the repair of its pod",
		Edits: []Edit{{holdRecord, "stays := i.MayTake(d.UID, d.Version)", "stays := false"}, blind},
		Test:  explore + "an eviction during a rollout, and a crash", Rule: "NoLostIntent",
	},
	{
		Name:  "eviction that takes the hold without a look",
		Edits: []Edit{{holdEvict, "if !s.Live && (s.Hold.Holder != holder || !s.Hold.Own || ", "if !s.Live && ("}, blindToEvictions},
		Test:  explore + "an eviction and a crash", Rule: "OtherZonesAvailable",
	},
	{
		Name:  "eviction granted on caches under a record of another process",
		Edits: []Edit{{holdEvict, "s.Hold.Holder != holder || !s.Hold.Own || ", "s.Hold.Holder != holder || "}},
		Test:  unreadHold + "another process wrote it", Rule: "want 429 OtherZoneUnavailable",
	},
	{
		Name:  "pin that binds no pod of a StatefulSet which it knows no hold of",
		Edits: []Edit{{"internal/serve/admission/pod_eviction_pin.go", "case pod.Stranger() && !e.namesZonePod():", "case !pod.Held && !pod.Unplaced:"}},
		Test:  "internal/serve/admission TestEvictionIsBoundToTheJudgedPod/a pod of a StatefulSet that no hold covers as far as the caches show", Rule: "-want +got",
	},
	{
		Name:  "pin that binds no pod which its caches show as a pod of another owner",
		Edits: []Edit{{"internal/serve/admission/pod_eviction_pin.go", "case pod.Stranger() && !e.namesZonePod():", "case pod.Stranger():"}},
		Test:  "internal/serve/admission TestEvictionIsBoundToTheJudgedPod/a pod of no StatefulSet, with the name of a StatefulSet's pod", Rule: "-want +got",
	},
	{
		Name:  "pod that a StatefulSet may adopt and that is bound by its UID alone",
		Edits: []Edit{{"internal/serve/admission/pod_eviction_pin.go", "(e.mayBeAdopted(pod) || !pod.Up && !pod.Terminating)", "(!pod.Up && !pod.Terminating)"}},
		Test:  "internal/serve/admission TestEvictionIsBoundToTheJudgedPod/a pod of no StatefulSet, with the name of a StatefulSet's pod", Rule: "-want +got",
	},
	{
		Name:  "eviction of a zone's pod that the caches show as a pod of another owner",
		Edits: []Edit{{podEviction, "case pod.Stranger() && e.namesZonePod():", "case false:"}},
		Test:  "internal/serve/admission TestUncachedPodIsReadFromTheAPIServer/the caches show a pod of another owner, and it is a zone's", Rule: "want 429 CacheStale",
	},
	{
		Name:  "eviction of any pod of another owner that costs a read",
		Edits: []Edit{{podEviction, "case pod.Stranger() && e.namesZonePod():", "case pod.Stranger():"}},
		Test:  "internal/serve/admission TestPodThatNoStatefulSetNamesIsEvictedWithoutALiveRead", Rule: "1 of pods",
	},
	{
		Name:  "eviction that is bound to a former pod and asks for ever",
		Edits: []Edit{{"internal/serve/admission/pod_eviction_pin.go", "case e.UID != \"\" && e.UID != pod.UID && pod.UID != noPodUID:", "case false:"}},
		Test:  "internal/serve/admission TestEvictionBoundToAFormerPodIsAConflict", Rule: "want 409",
	},
	{
		Name:  "eviction that is a conflict by what the caches show",
		Edits: []Edit{{"internal/serve/admission/pod_eviction_pin.go", "known = known && (e.UID == \"\" || e.UID == pod.UID)\n", ""}},
		Test:  "internal/serve/admission TestEvictionIsBoundToTheJudgedPod/bound to a pod that the caches do not show yet", Rule: "answered",
	},
	{
		Name:  "note of who waits that vouches for the group",
		Edits: []Edit{{"internal/serve/admission/queue.go", "\tctx, stop :=", "\trecord.Own = true\n\tctx, stop :="}},
		Test:  unreadHold + "this process recorded a place in the queue", Rule: "want 429 OtherZoneUnavailable",
	},
	{
		Name:  "eviction that is granted and still waits",
		Edits: []Edit{{holdEvict, "return w.Operation.For(w.Zone) == granted.Evicts() })", "return false })"}},
		Test:  "internal/lock/hold TestAnEvictionThatIsGrantedLeavesTheQueue", Rule: "want zone-b alone",
	},
	{
		Name:  "eviction by partitions under the hold of its zone",
		Edits: []Edit{{holdEvict, "if granted.Partition == \"\" && ", "if "}},
		Test:  "internal/lock/hold TestHolderOfAGrantedEviction/partitions count, and an eviction of its zone has the hold", Rule: "want eviction/partitions",
	},
	{
		Name:  "eviction that prolongs the hold of a person",
		Edits: []Edit{{holdEvict, " && !h.Holder.Foreign() &&", " &&"}},
		Test:  "internal/lock/hold TestHolderOfAGrantedEviction/a manual hold has expired", Rule: "got manual/zone-a",
	},
	{
		Name:  "eviction granted on caches that are older than the last look",
		Edits: []Edit{{"internal/serve/admission/pod_eviction.go", "if decision.Need == hold.ReadLive || p.behind(cached, decision) {", "if decision.Need == hold.ReadLive {"}},
		Test:  "internal/serve/admission TestCachesOlderThanTheLastLiveReadGrantNoEviction", Rule: "a third pod may go",
		Remark: "its consequence in histories is a deviation of the explorer: live reads forgotten by webhooks",
	},
	{
		Name:  "live read for a refused eviction that later plans do not know of",
		Edits: []Edit{{podEviction, "\t\t\tp.Fresh.ReadLive(&live)\n", ""}},
		Test:  "internal/serve/admission TestLiveReadForARefusedEvictionShowsWhichCachesAreOlder", Rule: "count as up to date",
	},
	{
		Name:  "count of a group that outlives a grant",
		Edits: []Edit{{podEviction, "\t\t\tp.outlooks.forget(key)\n", ""}},
		Test:  "internal/serve/admission TestEvictionsAfterAGrantAreRefusedByOneNewCount", Rule: "counted 3 times",
	},
	{
		Name:  "pod that is down by a count of a moment ago",
		Edits: []Edit{{"internal/serve/admission/pod_eviction.go", "if permit.Allowed() && !permit.NeedsRecord() {", "if false {"}},
		Test:  "internal/serve/admission TestEvictionIsNotGrantedFromACountOfAnEarlierRequest", Rule: "PodUnavailable",
	},
	{
		Name:  "yes by a count that began before it was asked for",
		Edits: []Edit{{"internal/serve/admission/outlooks.go", "return c.number > before", "return c.number >= before"}},
		Test:  "internal/serve/admission TestRequestsDuringACountGetAResultThatIsNotTooOld", Rule: "a yes waits for the next count",
	},
	{
		Name:  "refusal by a count of long ago",
		Edits: []Edit{{"internal/serve/admission/outlooks.go", "return now.Before(c.until.Add(staleGrace))", "return now.Before(c.until.Add(time.Hour))"}},
		Test:  "internal/serve/admission TestRequestsDuringACountGetAResultThatIsNotTooOld", Rule: "the last count is too old",
	},
	{
		Name:  "eviction by budgets of which nothing is heard any more",
		Edits: []Edit{{"internal/cluster/budgets/cache.go", "time.Since(b.lastContact) >= dynamicwatch.SilentFor", "time.Since(b.lastContact) >= 1_000_000*dynamicwatch.SilentFor"}},
		Test:  "internal/cluster/budgets TestBudgetsWithoutHeartbeatsAreUnknown", Rule: "known: true, want false",
	},
	{
		Name:  "turn of a zone that an eviction keeps from being whole",
		Edits: []Edit{{groupState, "&& !z.available() && !evicted {", "&& !z.available() && (!evicted || true) {"}},
		Test:  "internal/plan/group TestARolloutTakesTurnsWithEvictionsThatNeverGetThrough", Rule: "is not rolled after half an hour",
	},
	{
		Name:  "drain that waits for who waits for the drain",
		Edits: []Edit{{evict, "intent.Since.Add(-away)", "b.Now"}},
		Test:  "internal/plan/group TestADrainFinishesWhileOthersWaitForItsPods", Rule: "is not over after half an hour",
	},
	{
		Name:  "drains that wait for nobody once a pod is away for long",
		Edits: []Edit{{evict, "intent.Since.Add(-away)", "intent.Since.Add(-24*time.Hour)"}},
		Test:  "internal/plan/group TestARolloutTakesTurnsWithDrainsWithoutAnEnd", Rule: "is not rolled",
	},
	{
		Name:  "drain that goes before those alone who came after it",
		Edits: []Edit{{evict, "intent.Since.Add(-away)", "intent.Since"}},
		Test:  "internal/plan/group TestADrainFinishesWhileOthersWaitForItsPods", Rule: "is not over after half an hour",
	},
	{
		Name:  "eviction by budgets that cannot be read",
		Edits: []Edit{{"internal/plan/group/evict.go", "\tif b.Unread {\n", "\tif false {\n"}, blindToEvictions},
		Test:  "internal/plan/group TestEvict", Rule: "no_running_pod_is_evicted_while_budgets_cannot_be_read",
	},
	{
		Name:  "watch that counts as heard of before it has told all",
		Edits: []Edit{{"internal/cluster/dynamicwatch/heartbeats.go", "case !h.initialEvents:", "case true:"}},
		Test:  "internal/cluster/budgets TestIncompleteInitialListIsNoHeartbeat", Rule: "known: true, want false",
	},
	{
		Name:  "eviction that is noted in place of others",
		Edits: []Edit{{holdEvict, "append(others, granted)", "append(others[:0], granted)"}, blindToEvictions},
		Test:  explore + "evictions of two pods of one zone", Rule: "NoLostIntent",
	},
	{
		Name:  "hold of an eviction that nobody gives back",
		Edits: []Edit{{group, "if holder.Free() || holder.Foreign() || b.Hold.Unreadable", "if !b.heldBy(holder.Zone()) || b.Hold.Unreadable"}},
		Test:  explore + "an eviction and a crash", Rule: "Progress",
	},
	{
		Name:  "rollout that goes before evictions that asked first",
		Edits: []Edit{{guards, "return b.waitingBefore(b.since(plan.RolloutOperation, z.Name), z.Name)\n", "return plan.Refusal{}\n"}},
		Test:  scenarios + "eviction-that-queued-first-precedes-rollout", Rule: "delete zone-a-0",
	},
	{
		Name:  "place in the queue that keeps the zone of the hold from its budget",
		Edits: []Edit{{evict, "if b.mayOvertake[place.Zone] && b.couldHaveItsTurn(e) {", "if false {"}},
		Test:  "internal/plan/group TestADrainUsesItsBudgetWhileAnotherZoneWaits", Rule: "if no other zone waits",
	},
	{
		Name:  "eviction that overtakes and lets others follow, without an end",
		Edits: []Edit{{evict, "Overtook: !b.beforeEviction(e).None(),", "Overtook: false,"}},
		Test:  "internal/plan/group TestAZoneHasItsTurnHoweverManyOthersOvertakeIt", Rule: "zone-b had",
	},
	{
		Name:  "rollout that overtakes and lets others follow",
		Edits: []Edit{{group, "overtakes = true", "overtakes = false"}},
		Test:  "internal/plan/group TestAPodThatIsRolledBeforeOthersIsRecordedAsSuch", Rule: "zone-a-1:false",
	},
	{
		Name:  "repair that forgets that the pod before it overtook",
		Edits: []Edit{{group, "reason.OutdatedRevision, c.overtook", "reason.OutdatedRevision, false"}},
		Test:  "internal/plan/group TestAPodThatIsRolledBeforeOthersIsRecordedAsSuch", Rule: "zone-a-0:false",
	},
	{
		Name:  "rollout kept for ever by a partition that a smaller zone does not have",
		Edits: []Edit{{partition, "if t.fresh >= max(1, budget.Limit) {", "if t.total() >= max(1, budget.Limit) {"}},
		Test:  "internal/plan/group TestProgress", Rule: "the goal is not reached",
	},
	{
		Name:  "unbound eviction that takes no pod which came later",
		Edits: []Edit{{"internal/plan/intent.go", "i.Granted() && (i.Unbound || !i.Succeeded(uid, version))", "i.Granted() && !i.Succeeded(uid, version)"}},
		Test:  "internal/plan/group TestPodsThatAGrantedEvictionMayStillDelete/an unbound grant and a pod that replaced the recorded pod", Rule: "got false, want true",
	},
	{
		Name:  "percentage of the replicas that a downscale of an earlier StatefulSet left",
		Edits: []Edit{{evict, "d.Zone == z.Name && d.UID == z.UID {", "d.Zone == z.Name {"}},
		Test:  "internal/plan/group TestEvict/a downscale of a former StatefulSet does not change percentages", Rule: "got  PodStarting zone-a-1",
	},
	{
		Name:  "recorded pod beyond the spec that stands for one that is down by itself",
		Edits: []Edit{{"internal/plan/group/queue.go", "intent.Zone == holder.Name && holder.Wants(intent.Pod) {", "intent.Zone == holder.Name {"}},
		Test:  "internal/plan/group TestEvict/a recorded pod beyond the spec does not count as the pod that is not ready", Rule: "got  QueuedBehindOtherZone zone-b",
	},
}
