package mutants

// delays are mutants about delayed downscales: pods acknowledge, and run on for the delay.
var delays = []Mutant{
	{
		Name:  "pods notified of their removal although the hold has no room for them",
		Edits: []Edit{{messages, "max(z.wish.immediate, z.Replicas-roomOf(len(b.zoneStates)).pods)", "max(z.wish.immediate, z.Replicas-MaxAcknowledged)"}},
		Test:  "internal/plan/group TestEveryPodNotifiedToLeaveIsRecordedForAnyNumberOfZones", Rule: "is notified to leave: true, recorded: false",
	},
	{
		Name:  "more ordinal ranges of a zone recorded than can be read back",
		Edits: []Edit{{ordinalRange, "min(MaxOrdinalRanges, max(r.ordinalRanges, len(recorded)))", "max(r.ordinalRanges, len(recorded)+1)"}},
		Test:  "internal/plan/group TestReplacedPodsDoNotExceedTheLimitOfOrdinalRanges", Rule: "101 ordinal ranges",
	},
	{
		Name:  "acknowledgements forgotten when the group gets more zones",
		Edits: []Edit{{delay, ".with(recorded.OrdinalRanges).fit(next)", ".fit(next)"}},
		Test:  "internal/plan/group TestEveryPodNotifiedToLeaveIsRecordedForAnyNumberOfZones", Rule: "is notified to leave: true, recorded: false",
	},
	{
		Name:  "delayed downscale that ignores the acknowledgements in the hold",
		Edits: []Edit{{delay, "\tsince, recorded := b.AcknowledgedSince(z, pod)\n", "\tsince, recorded := notified.Since, true\n"}, blind},
		Test:  "internal/plan/group TestNoPodIsRemovedBeforeItsDelayHasPassed", Rule: "is removed after",
	},
	{
		Name:  "delayed downscale that ignores the acknowledgements in the hold, detected by an invariant",
		Edits: []Edit{{delay, "\tsince, recorded := b.AcknowledgedSince(z, pod)\n", "\tsince, recorded := notified.Since, true\n"}},
		Test:  "internal/plan/group TestNoPodIsRemovedBeforeItsDelayHasPassed", Rule: "DelayKept",
	},
	{
		Name:  "delayed downscale that ignores the time in the pod's answer",
		Edits: []Edit{{delay, "if notified.Since.After(since) {", "if false {"}, blind},
		Test:  "internal/plan/group TestNoPodIsRemovedBeforeItsDelayHasPassed", Rule: "is removed after",
	},
	{
		Name:  "delayed downscale of a pod that restarted after its acknowledgement",
		Edits: []Edit{{messages, "t.Message == Leave && !t.Ready.Equal(pod.ReadySince)", "false"}, blind},
		Test:  "internal/plan/group TestNoPodIsRemovedBeforeItsDelayHasPassed", Rule: "restarted",
	},
	{
		Name:  "delayed downscale of a pod that restarted after its acknowledgement, detected by an invariant",
		Edits: []Edit{{messages, "t.Message == Leave && !t.Ready.Equal(pod.ReadySince)", "false"}},
		Test:  "internal/plan/group TestNoPodIsRemovedBeforeItsDelayHasPassed", Rule: "DelayKept",
	},
	{
		Name:  "prepared pods forgotten when the delay of their zone is removed",
		Edits: []Edit{{delay, "if owed := b.owed(z.Zone); !owed.None() {", "if owed := b.owed(z.Zone); false {"}},
		Test:  "internal/plan/group TestNoPodStaysPreparedWhenTheDelayChanges", Rule: "neither notified to stay nor recorded",
	},
	{
		Name:  "prepared pod that does not acknowledge stay not reported after the delay is removed",
		Edits: []Edit{{group, "because = firstOf(because, b.unreleased(z.Zone))", "_ = b.unreleased"}},
		Test:  "internal/plan/group TestScenariosGolden/prepared-pod-that-has-not-acknowledged-stay-is-reported", Rule: "that it stays",
	},
	{
		Name:  "prepared pods notified to stay by another call than the one that prepared them",
		Edits: []Edit{{messages, "b.message(z, Stay, recorded.Call, parts)", "b.message(z, Stay, z.Delay.Call, parts)"}},
		Test:  "internal/plan/group TestNoPodStaysPreparedWhenTheDelayChanges", Rule: "at the end",
	},
	{
		Name:  "delayed downscale that uses acknowledgements of another call",
		Edits: []Edit{{ordinalRange, "z.delays() && a.Call == z.Delay.Call", "z.delays()"}},
		Test:  scenarios + "changed-delay-call-cancels-former-preparation-first", Rule: "who are to stay",
	},
	{
		Name:  "delay that is added again and reuses ended acknowledgements",
		Edits: []Edit{{ordinalRange, "return !a.Over && z.delays()", "return z.delays()"}},
		Test:  scenarios + "re-added-delay-begins-again-after-prepared-pods-acknowledge-stay", Rule: "that it stays",
	},
	{
		Name:  "delayed downscale that waits for a time far in the future",
		Edits: []Edit{{ordinalRange, "known && !since.After(s.Now.Add(FarAhead))", "known"}},
		Test:  "internal/plan/group TestATimeFarInTheFutureDelaysNoPod", Rule: "there are 2 replicas",
	},
	{
		Name:  "delayed downscale that continues past a pod that has not acknowledged",
		Edits: []Edit{{delay, "\t\t\tw.replicas = place + 1\n\t\t\treturn w\n", "\t\t\tw.objection = plan.Refusal{}\n"}},
		Test:  scenarios + "delayed-downscale-stops-at-pod-that-has-not-acknowledged", Rule: "pods with higher ordinals are removed",
	},
	{
		Name:  "pods not notified to stay after a delayed downscale is cancelled",
		Edits: []Edit{{messages, "return pod.Ordinal-z.Start < z.wish.immediate && !parts(pod)", "return false && pod.Ordinal-z.Start < z.wish.immediate && !parts(pod)"}},
		Test:  scenarios + "cancelled-delayed-downscale-notifies-pods-that-they-stay", Rule: "send stay",
	},
	{
		Name:  "acknowledgements kept after a delayed downscale is cancelled",
		Edits: []Edit{{delay, "z.wish.immediate, z.Replicas, func", "0, z.Replicas, func"}, blind},
		Test:  "internal/plan/group TestNoPodIsRemovedBeforeItsDelayHasPassed", Rule: "is removed after",
	},
	{
		Name:  "acknowledgement that counts for the replacement of its pod",
		Edits: []Edit{{ordinalRange, "s.between(place, place+1).Pods == MarkOf(pod.UID)", "true"}, blind},
		Test:  "internal/plan/group TestNoPodIsRemovedBeforeItsDelayHasPassed", Rule: "is removed after",
	},
	{
		Name:  "acknowledgement that counts for the replacement of its pod, detected by an invariant",
		Edits: []Edit{{ordinalRange, "s.between(place, place+1).Pods == MarkOf(pod.UID)", "true"}},
		Test:  "internal/plan/group TestNoPodIsRemovedBeforeItsDelayHasPassed", Rule: "DelayKept",
	},
	{
		Name:  "delayed downscale not known to the webhook of another replica",
		Edits: []Edit{{admit, "newGroupState(s.AsRecorded())\n\tanswer := b.admit(r)", "newGroupState(s)\n\tanswer := b.admit(r)"}},
		Test:  "internal/plan/group TestAWebhookOfAnotherReplicaKnowsTheDelayedDownscaleByLockstep", Rule: "answers",
	},
	{
		Name:  "pods notified to stay before the hold drops their acknowledgements",
		Edits: []Edit{{executor, "\tif err := e.writeHold(ctx, w, d); err != nil {\n", "\te.call(ctx, w, plan.In(plan.Notifying, steps))\n\tif err := e.writeHold(ctx, w, d); err != nil {\n"}},
		Test:  "internal/act TestPodsAreNotifiedAfterTheHoldWasWritten", Rule: "send stay",
	},
	{
		Name:  "acknowledgements recorded without a live read of a missing Lease",
		Edits: []Edit{{holdRecord, "if !s.Hold.Exists && !s.Live {", "if false {"}},
		Test:  scenarios + "acknowledgement-is-recorded-after-live-read-if-no-lease-exists", Rule: "read live",
	},
	{
		Name:  "hold from outside renewed when acknowledgements are recorded",
		Edits: []Edit{{holdRecord, "if !d.Record.Holder.Foreign() { // a hold from outside", "if true { // a hold from outside"}},
		Test:  "internal/lock/hold TestAcknowledgementsDoNotChangeTheHold", Rule: "prolonged true",
	},
	{
		Name:  "pods notified to stay although the cancellation of their downscale failed",
		Edits: []Edit{{executor, "withoutFailedResizes(plan.In(plan.Notifying, steps), receipts)", "plan.In(plan.Notifying, steps)"}},
		Test:  "internal/act TestPodsAreNotNotifiedToStayIfAWriteOfTheirZoneFailed/a cancelled downscale", Rule: "send stay",
	},
	{
		Name:  "last-downscale annotation written while the next downscale is recorded",
		Edits: []Edit{{"internal/plan/group/group.go", "b.dropWritesThatCancel(append(after, b.stamp()...), actions)", "append(after, b.stamp()...)"}},
		Test:  scenarios + "last-downscale-annotation-is-not-written-while-next-is-recorded", Rule: "stamp zone-b",
	},
	{
		Name:  "last-downscale annotation not written once the downscale has ended",
		Edits: []Edit{{"internal/plan/group/stamp.go", "at := b.Hold.Downscaled[z.Name]\n\tif at.After(b.Now)", "at := b.Hold.Downscaled[z.Name]\n\tif true || at.After(b.Now)"}},
		Test:  scenarios + "missing-downscale-time-is-written-for-up-to-a-minute", Rule: "stamp zone-b",
	},
	{
		Name:  "last-downscale annotation whose write cancels the next downscale",
		Edits: []Edit{{"internal/plan/group/stamp.go", "return time.Time{} // a write would make the record obsolete", "_ = d"}},
		Test:  scenarios + "earlier-downscale-time-is-not-written-while-next-downscale-is-awaited", Rule: "stamp zone-b",
	},
	{
		Name:  "zone that scales up before its overdue downscale is cancelled",
		Edits: []Edit{{replicas, "&& z.Name != overdue {", "&& (z.Name != overdue || true) {"}},
		Test:  scenarios + "overdue-downscale-is-cancelled-before-its-zone-scales-up", Rule: "set zone-b from 2 to 9",
	},
	{
		Name:  "pods called on the cached hold without a live read",
		Edits: []Edit{{"internal/plan/group/prepare_pods.go", ", Read: plan.Always}", "}"}},
		Test:  scenarios + "own-downscale-calls-pods-once-it-is-recorded", Rule: "read live",
	},
}
