package mutants

// intents are mutants about the hold: which operation acquires it, which intents it
// records, and when it is released.
var intents = []Mutant{
	{
		Name:  "intent dropped by time alone",
		Edits: []Edit{{"internal/plan/group/intent_status.go", "\tpod, present := s.Pod(i.Pod)\n\tswitch {\n", "\tpod, present := s.Pod(i.Pod)\n\tswitch {\n\tcase s.Hold.Expired(s.Now):\n\t\treturn plan.Obsolete\n"}, blind},
		Test:  explore + "a pause while requests arrive late and the hold expires", Rule: "NoLostIntent",
	},
	{
		Name:  "intent of a deleted pod that ends on a cache in which its zone was not raised yet",
		Edits: []Edit{{"internal/plan/group/intent_status.go", "if s.Live && s.deletedAndUnwanted(i) {", "if s.deletedAndUnwanted(i) {"}, blind, blindToEvictions},
		Test:  explore + "two evictions during a rollout of a zone that is scaled up", Rule: "WithinBudget",
	},
	{
		Name:  "former zone that does not block other zones",
		Edits: []Edit{{guards, "\tif objection := b.formerZonesSettled(d.inTheWay); !objection.None() {\n\t\treturn objection\n\t}\n\tfor _, z", "\tfor _, z"}},
		Test:  scenarios + "zone-without-group-label-blocks-other-zones-while-a-pod-is-down", Rule: "OtherZonesAvailable",
	},
	{
		Name:  "former zone that does not block other zones, detected by the explorer",
		Edits: []Edit{{guards, "\tif objection := b.formerZonesSettled(d.inTheWay); !objection.None() {\n\t\treturn objection\n\t}\n\tfor _, z", "\tfor _, z"}, blind},
		Test:  explore + "a zone is orphaned and applied again while a pod of it crashes", Rule: "OtherZonesAvailable",
	},
	{
		Name:  "former zone forgotten although it is back in the group",
		Edits: []Edit{{observeLeft, "case set != nil && o.isBack(key, set):", "case set != nil && o.isBack(key, set) && false:"}},
		Test:  "internal/cluster/observe TestALiveReadIsRepeatedIfAFormerZoneReturns", Rule: "want zone-a with its pod in the group",
	},
	{
		Name:  "ready pods of a former zone evicted",
		Edits: []Edit{{evict, "case !pod.Up() && (z.Ignored || e.down()):", "case true:"}},
		Test:  "internal/plan/group TestEvict/a pod of a zone that left the group stays while it is ready", Rule: "got  yes",
	},
	{
		Name:  "forgotten zone that keeps caches from confirming any disruption",
		Edits: []Edit{{confirm, "return slices.Contains(a.Gone, z.Name)", "return false"}},
		Test:  "internal/plan/group TestCachesConfirmThePlanOfALiveRead/a disruption after a zone was forgotten", Rule: "got false, want true",
	},
	{
		Name:  "intent that ends while the StatefulSet of its zone is deleted and has pods",
		Edits: []Edit{{"internal/plan/group/intent_status.go", "return left == nil || !left.wants(i.Pod)", "return left == nil || !left.Exists || !left.wants(i.Pod)"}},
		Test:  scenarios + "intent-stays-while-zone-of-deleted-statefulset-has-pods", Rule: "end intent of zone-a-0",
	},
	{
		Name:  "zone forgotten on caches",
		Edits: []Edit{{"internal/plan/group/record_members.go", "e.Read = plan.Always", "e.Read = plan.IfNew"}, {formerZone, "if z := &b.FormerZones[i]; !b.Live && !z.Uncovered || !b.settled(z) {", "if z := &b.FormerZones[i]; !b.settled(z) {"}},
		Test:  scenarios + "hold-drops-deleted-zone-only-after-live-read", Rule: "hold: write free",
	},
	{
		Name:  "zone that is not remembered when it joins",
		Edits: []Edit{{formerZone, "step.Joined = append(step.Joined, z.Name)", "_ = z"}},
		Test:  scenarios + "joining-zone-is-recorded-in-the-hold", Rule: "remember zone-b",
	},
	{
		Name:  "orphaned pods that the cache does not show",
		Edits: []Edit{{"internal/cluster/observe/records.go", "if ordinal, ok := OrphanOf(pod); ok {", "if ordinal, ok := OrphanOf(pod); ok && false {"}},
		Test:  "internal/cluster/observe TestFormerZonesAreShownWithTheirPods/its StatefulSet was deleted without its pods", Rule: "pods []",
	},
	{
		Name:  "pods of a former zone that enqueue no group",
		Edits: []Edit{{"internal/cluster/observe/events.go", "for _, key := range o.holds.Remembering(member.namespace(), parent) {", "for _, key := range o.holds.Remembering(member.namespace(), parent+\"?\") {"}},
		Test:  "internal/cluster/observe TestAGroupIsEnqueuedForPodsOfItsFormerZone", Rule: "want its group",
	},
	{
		Name:  "hold of a newer version that lapses while it has an intent",
		Edits: []Edit{{planHold, "return len(h.Intents) == 0 && idle && h.Unrenewed", "return h.Unrenewed"}},
		Test:  scenarios + "progressive-hold-of-newer-version-never-lapses-while-it-has-an-intent", Rule: "delete zone-a-0",
	},
	{
		Name:  "hold of a newer version that lapses while it records a downscale",
		Edits: []Edit{{planHold, "len(h.Intents) == 0 && idle && h.Unrenewed", "len(h.Intents) == 0 && h.Unrenewed"}},
		Test:  scenarios + "hold-of-newer-version-never-lapses-while-it-records-a-downscale", Rule: "delete zone-a-0",
	},
	{
		Name:  "hold of a newer version that lapses by its recorded time alone",
		Edits: []Edit{{planHold, "idle && h.Unrenewed >= h.Duration", "idle"}},
		Test:  "internal/lock/lease TestRenewalsOfANewerVersionAreTimedByTheProcessThatSeesThem", Rule: "the hold lapses",
	},
	{
		Name:  "live read that does not list StatefulSets once more after a pod was deleted",
		Edits: []Edit{{liveRead, "\t\tif confirmed {\n", "\t\tif confirmed || true {\n"}},
		Test:  "internal/cluster/observe TestALiveReadIsRepeatedIfAStatefulSetWantsADeletedPodAgain", Rule: "want 2 and open",
	},
	{
		Name:  "intent dropped because an older pod of that name is seen",
		Edits: []Edit{{"internal/plan/group/intent_status.go", "\tcase pod.Version <= i.Version:\n\t\treturn plan.Open // an older incarnation: this view is behind\n", ""}, blind},
		Test:  explore + "two templates while the operator dies and requests arrive late", Rule: "NoLostIntent",
	},
	{
		Name:  "intent that is no longer wanted dropped without updating its pod",
		Edits: []Edit{{"internal/plan/group/intent_status.go", "\tcase pod.Version == i.Version:\n\t\treturn plan.Pending\n", ""}, blind},
		Test:  explore + "a pause while requests arrive late and the hold expires", Rule: "NoLostIntent",
	},
	{
		Name:  "hold taken without a live read",
		Edits: []Edit{{holdDecision, "if !s.Live && deletesNeedLiveRead(s.Hold, holder, deletes) {", "if false && deletesNeedLiveRead(s.Hold, holder, deletes) {"}},
		Test:  explore + "three zones", Rule: "OtherZonesAvailable",
	},
	{
		Name:  "stale hold taken over without a live read",
		Edits: []Edit{{holdDecision, "if !s.Live && deletesNeedLiveRead(s.Hold, holder, deletes) {", "if !s.Live && !s.Hold.Expired(s.Now) && deletesNeedLiveRead(s.Hold, holder, deletes) {"}},
		Test:  explore + "three zones", Rule: "OtherZonesAvailable",
	},
	{
		Name:  "record of another process continued without a live read",
		Edits: []Edit{{holdDecision, "if h.Holder != holder || !h.Own {", "if h.Holder != holder {"}},
		Test:  explore + "three zones", Rule: "OtherZonesAvailable",
	},
	{
		Name:  "renewed record of another process that counts as a live read",
		Edits: []Edit{{holdRecord, "next.Own = s.Hold.Own || s.Live", "next.Own = true"}},
		Test:  "internal/lock/hold TestAProcessThatHasOnlyRenewedAHoldReadsTheGroupBeforeItDeletes", Rule: "want a live read before",
	},
	{
		Name:  "hold that covers a delete released by the same plan",
		Edits: []Edit{{group, "\t\tif !c.hasIntent {\n\t\t\tb.intentCount++\n\t\t}\n", ""}},
		Test:  "internal/plan/group TestNoPlanReleasesTheHoldTogetherWithADelete", Rule: "the hold is released together with a delete",
	},
	{
		Name:  "repair planned on caches alone",
		Edits: []Edit{{holdDecision, "if !d.Up || d.UnknownRevision || d.NeedsLiveRead {", "if d.UnknownRevision {"}},
		Test:  "internal/lock/hold TestCover/a repair is always read live first", Rule: `want "read live"`,
		Remark: "it would repeat deletes while the cache of zones is behind, which violates no rule",
	},
	{
		Name:  "intents of other pods left out of the record",
		Edits: []Edit{{holdRecord, "case !anew || d.AlreadyRecorded || stays:", "case false && (!anew || d.AlreadyRecorded || stays):"}, blind},
		Test:  explore + "a revert while the operator dies", Rule: "NoLostIntent",
	},
	{
		Name:  "full hold without room for a repair that replaces an intent",
		Edits: []Edit{{holdRecord, "return !d.Up && replaced[d.Pod] },", "return !d.Up && replaced[d.Pod] && false },"}},
		Test:  "internal/lock/hold TestAFullHoldHasRoomForARepairInThePlaceOfAnIntent", Rule: "GrantKept",
	},
	{
		Name: "hold released while an intent counts",
		Edits: []Edit{
			{group, "b.Hold.Unreadable != \"\" || b.intentCount > 0 {", "b.Hold.Unreadable != \"\" {"},
			{group, "if z.Name == holder.Zone() && (!z.available() || (holder.Operation() == plan.RolloutOperation && b.goesOn(z) && !b.yields(z))) {", "if z.Name == holder.Zone() && b.goesOn(z) {"},
		},
		Test: explore + "a pause while requests arrive late and the hold expires", Rule: "Progress",
		Remark: "checked twice: a zone with an intent is also unavailable",
	},
	{
		Name:  "pod of an unknown revision deleted on caches alone",
		Edits: []Edit{{holdDecision, "if !d.Up || d.UnknownRevision || d.NeedsLiveRead {", "if !d.Up {"}},
		Test:  "internal/lock/hold TestCover/a pod of an unknown revision is read live first", Rule: "want \"read live\"",
	},
	{
		Name:  "Lease deleted although it records a downscale that the caches do not show yet",
		Edits: []Edit{{holdDecision, "return free && s.InProgress().Free() && len", "return free && len"}},
		Test:  "internal/lock/hold TestCover/an expired hold stays while it records a later downscale", Rule: "got \"remove\"",
	},
	{
		Name:  "place in the queue lost by a repeated request",
		Edits: []Edit{{"internal/lock/hold/queue.go", "\t\t\tasks.Since = w.Since\n", ""}},
		Test:  "internal/lock/hold TestARepeatedRequestKeepsItsPlaceInTheQueue/the earlier request keeps the first place", Rule: "-want +got",
	},
	{
		Name:  "place in the queue kept after its requests stopped",
		Edits: []Edit{{"internal/lock/hold/queue.go", "case !same && waits:", "case !same:"}},
		Test:  "internal/lock/hold TestARepeatedRequestKeepsItsPlaceInTheQueue/another zone that did not ask for too long loses its place", Rule: "-want +got",
	},
	{
		Name:  "place of a rollout in the queue not written with a renewal",
		Edits: []Edit{{"internal/lock/hold/queue.go", "\t\t\td.Record, _ = Enqueued(d.Record, a.Waiting)\n", ""}},
		Test:  "internal/lock/hold TestARolloutTakesItsPlaceInTheQueueByTheNextWrite", Rule: "waiting: []",
	},
	{
		Name:  "hold never released",
		Edits: []Edit{{group, "\treturn []plan.Action{plan.Release{Holder: holder}}\n", "\treturn nil\n"}},
		Test:  explore + "a user acquires the hold manually", Rule: "Progress",
	},
	{
		Name:  "planned deletion that is no longer wanted and never cancelled",
		Edits: []Edit{{group, "\tactions = append(b.cancelDeletions(actions), actions...)\n", ""}},
		Test:  explore + "a revert while the operator dies", Rule: "Progress",
	},
}
