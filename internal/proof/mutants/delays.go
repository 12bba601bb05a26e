package mutants

// delays are mutants about pods that must be ready to leave for a time before they do.
var delays = []Mutant{
	{
		Name:  "pods told to leave for whom the hold has no room",
		Edits: []Edit{{messages, "max(z.wish.immediate, z.Replicas-roomOf(len(b.zoneStates)).pods)", "max(z.wish.immediate, z.Replicas-MaxAcknowledged)"}},
		Test:  "internal/plan/group TestEveryPodNotifiedToLeaveIsRecordedForAnyNumberOfZones", Rule: "is notified to leave: true, recorded: false",
	},
	{
		Name:  "more noted of a zone than is read back",
		Edits: []Edit{{ordinalRange, "min(MaxOrdinalRanges, max(r.ordinalRanges, len(recorded)))", "max(r.ordinalRanges, len(recorded)+1)"}},
		Test:  "internal/plan/group TestReplacedPodsDoNotExceedTheLimitOfOrdinalRanges", Rule: "101 ordinal ranges",
	},
	{
		Name:  "who agreed forgotten when the group gets more zones",
		Edits: []Edit{{delay, ".with(recorded.OrdinalRanges).fit(next)", ".fit(next)"}},
		Test:  "internal/plan/group TestEveryPodNotifiedToLeaveIsRecordedForAnyNumberOfZones", Rule: "is notified to leave: true, recorded: false",
	},
	{
		Name:  "delayed downscale without a look at what the hold notes",
		Edits: []Edit{{delay, "\tsince, recorded := b.AgreedSince(z, pod)\n", "\tsince, recorded := notified.Since, true\n"}, blind},
		Test:  "internal/plan/group TestNoPodIsRemovedBeforeItsDelayHasPassed", Rule: "is removed after",
	},
	{
		Name:  "delayed downscale without a look at what the hold notes, seen by the check",
		Edits: []Edit{{delay, "\tsince, recorded := b.AgreedSince(z, pod)\n", "\tsince, recorded := notified.Since, true\n"}},
		Test:  "internal/plan/group TestNoPodIsRemovedBeforeItsDelayHasPassed", Rule: "DelayKept",
	},
	{
		Name:  "delayed downscale without a look at what the pod says",
		Edits: []Edit{{delay, "if notified.Since.After(since) {", "if false {"}, blind},
		Test:  "internal/plan/group TestNoPodIsRemovedBeforeItsDelayHasPassed", Rule: "is removed after",
	},
	{
		Name:  "delayed downscale of who was restarted since he agreed",
		Edits: []Edit{{messages, "t.Message == Leave && !t.Ready.Equal(pod.ReadySince)", "false"}, blind},
		Test:  "internal/plan/group TestNoPodIsRemovedBeforeItsDelayHasPassed", Rule: "restarted",
	},
	{
		Name:  "delayed downscale of who was restarted since he agreed, seen by the check",
		Edits: []Edit{{messages, "t.Message == Leave && !t.Ready.Equal(pod.ReadySince)", "false"}},
		Test:  "internal/plan/group TestNoPodIsRemovedBeforeItsDelayHasPassed", Rule: "DelayKept",
	},
	{
		Name:  "delayed downscale that is taken away, and who was prepared is forgotten",
		Edits: []Edit{{delay, "if owed := b.owed(z.Zone); !owed.None() {", "if owed := b.owed(z.Zone); false {"}},
		Test:  "internal/plan/group TestNoPodStaysPreparedWhenTheDelayChanges", Rule: "neither notified to stay nor recorded",
	},
	{
		Name:  "delayed downscale that is taken away, and nobody is told who does not answer",
		Edits: []Edit{{group, "because = firstOf(because, b.unreleased(z.Zone))", "_ = b.unreleased"}},
		Test:  "internal/plan/group TestScenariosGolden/prepared-pod-that-has-not-acknowledged-stay-is-reported", Rule: "that it stays",
	},
	{
		Name:  "delayed downscale that is taken away, and who was prepared hears it by another call",
		Edits: []Edit{{messages, "b.message(z, Stay, recorded.Call, parts)", "b.message(z, Stay, z.Delay.Call, parts)"}},
		Test:  "internal/plan/group TestNoPodStaysPreparedWhenTheDelayChanges", Rule: "at the end",
	},
	{
		Name:  "delayed downscale by what was agreed to by another call",
		Edits: []Edit{{ordinalRange, "z.delays() && a.Call == z.Delay.Call", "z.delays()"}},
		Test:  scenarios + "changed-delay-call-cancels-former-preparation-first", Rule: "who are to stay",
	},
	{
		Name:  "delayed downscale that is over and comes back",
		Edits: []Edit{{ordinalRange, "return !a.Over && z.delays()", "return z.delays()"}},
		Test:  scenarios + "re-added-delay-begins-again-after-prepared-pods-acknowledge-stay", Rule: "that it stays",
	},
	{
		Name:  "delayed downscale that waits for a clock that was ahead by years",
		Edits: []Edit{{ordinalRange, "known && !since.After(s.Now.Add(FarAhead))", "known"}},
		Test:  "internal/plan/group TestATimeFarInTheFutureDelaysNoPod", Rule: "there are 2 replicas",
	},
	{
		Name:  "delayed downscale whose tail jumps over a silent pod",
		Edits: []Edit{{delay, "\t\t\tw.replicas = place + 1\n\t\t\treturn w\n", "\t\t\tw.objection = plan.Refusal{}\n"}},
		Test:  scenarios + "delayed-downscale-stops-at-pod-that-has-not-acknowledged", Rule: "pods with higher ordinals are removed",
	},
	{
		Name:  "delayed downscale that is withdrawn and nobody is told to stay",
		Edits: []Edit{{messages, "return pod.Ordinal-z.Start < z.wish.immediate && !parts(pod)", "return false && pod.Ordinal-z.Start < z.wish.immediate && !parts(pod)"}},
		Test:  scenarios + "cancelled-delayed-downscale-notifies-pods-that-they-stay", Rule: "send stay",
	},
	{
		Name:  "delayed downscale that is withdrawn and remembered",
		Edits: []Edit{{delay, "z.wish.immediate, z.Replicas, func", "0, z.Replicas, func"}, blind},
		Test:  "internal/plan/group TestNoPodIsRemovedBeforeItsDelayHasPassed", Rule: "is removed after",
	},
	{
		Name:  "delayed downscale remembered for whoever comes next",
		Edits: []Edit{{ordinalRange, "s.between(place, place+1).Pods == MarkOf(pod.UID)", "true"}, blind},
		Test:  "internal/plan/group TestNoPodIsRemovedBeforeItsDelayHasPassed", Rule: "is removed after",
	},
	{
		Name:  "delayed downscale remembered for whoever comes next, seen by the check",
		Edits: []Edit{{ordinalRange, "s.between(place, place+1).Pods == MarkOf(pod.UID)", "true"}},
		Test:  "internal/plan/group TestNoPodIsRemovedBeforeItsDelayHasPassed", Rule: "DelayKept",
	},
	{
		Name:  "delayed downscale not known to the webhook of another replica",
		Edits: []Edit{{admit, "newGroupState(s.AsRecorded())\n\tanswer := b.admit(r)", "newGroupState(s)\n\tanswer := b.admit(r)"}},
		Test:  "internal/plan/group TestAWebhookOfAnotherReplicaKnowsTheDelayedDownscaleByLockstep", Rule: "answers",
	},
	{
		Name:  "pods told to stay before the hold forgets that they agreed",
		Edits: []Edit{{executor, "\tif err := e.writeHold(ctx, w, d); err != nil {\n", "\te.call(ctx, w, plan.In(plan.Notifying, steps))\n\tif err := e.writeHold(ctx, w, d); err != nil {\n"}},
		Test:  "internal/act TestPodsAreNotifiedAfterTheHoldWasWritten", Rule: "send stay",
	},
	{
		Name:  "who agreed noted over what nobody has read",
		Edits: []Edit{{holdRecord, "if !s.Hold.Exists && !s.Live {", "if false {"}},
		Test:  scenarios + "acknowledgement-is-recorded-after-live-read-if-no-lease-exists", Rule: "read live",
	},
	{
		Name:  "who agreed noted, and a hold from outside prolonged",
		Edits: []Edit{{holdRecord, "if !d.Record.Holder.Foreign() { // a hold from outside", "if true { // a hold from outside"}},
		Test:  "internal/lock/hold TestAcknowledgementsDoNotChangeTheHold", Rule: "prolonged true",
	},
	{
		Name:  "who is to leave after all told to stay where a void failed",
		Edits: []Edit{{executor, "withoutFailedResizes(plan.In(plan.Notifying, steps), receipts)", "plan.In(plan.Notifying, steps)"}},
		Test:  "internal/act TestPodsAreNotNotifiedToStayIfAWriteOfTheirZoneFailed/a cancelled downscale", Rule: "send stay",
	},
	{
		Name:  "stamp beside the next note",
		Edits: []Edit{{"internal/plan/group/group.go", "b.dropWritesThatCancel(append(after, b.stamp()...), actions)", "append(after, b.stamp()...)"}},
		Test:  scenarios + "last-downscale-annotation-is-not-written-while-next-is-recorded", Rule: "stamp zone-b",
	},
	{
		Name:  "time of a downscale that is over stamped no more",
		Edits: []Edit{{"internal/plan/group/stamp.go", "at := b.Hold.Downscaled[z.Name]\n\tif at.After(b.Now)", "at := b.Hold.Downscaled[z.Name]\n\tif true || at.After(b.Now)"}},
		Test:  scenarios + "missing-downscale-time-is-written-for-up-to-a-minute", Rule: "stamp zone-b",
	},
	{
		Name:  "stamp that voids the next note",
		Edits: []Edit{{"internal/plan/group/stamp.go", "return time.Time{} // a write would void the note", "_ = d"}},
		Test:  scenarios + "earlier-downscale-time-is-not-written-while-next-downscale-is-awaited", Rule: "stamp zone-b",
	},
	{
		Name:  "raise that fails keeps an overdue downscale",
		Edits: []Edit{{replicas, "&& z.Name != overdue {", "&& (z.Name != overdue || true) {"}},
		Test:  scenarios + "overdue-downscale-is-cancelled-before-its-zone-scales-up", Rule: "set zone-b from 2 to 9",
	},
	{
		Name:  "pods asked on what the caches say of the hold",
		Edits: []Edit{{"internal/plan/group/prepare_pods.go", ", Read: plan.Always}", "}"}},
		Test:  scenarios + "own-downscale-calls-pods-once-it-is-recorded", Rule: "read live",
	},
}
