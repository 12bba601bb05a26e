package mutants

// downscales are mutants about downscales that a webhook admits and the hold records.
var downscales = []Mutant{
	{
		Name:  "downscale ended on caches",
		Edits: []Edit{{"internal/plan/group/end_downscale.go", "Read: plan.Always, ", ""}},
		Test:  explore + "a downscale during a rollout", Rule: "DownscaleKept",
	},
	{
		Name:  "downscale ended before its last pod",
		Edits: []Edit{{downscaleState, "return z.surplus.None() && z.Observed", "return true || z.Observed"}},
		Test:  scenarios + "effective-delayed-downscale-drops-its-acknowledgements", Rule: "record zone-a from 2 to 1 admitted because DownscaleDetected",
	},
	{
		Name:  "downscale ended before the StatefulSet controller has seen it",
		Edits: []Edit{{downscaleState, "return z.surplus.None() && z.Observed", "return z.surplus.None()"}},
		Test:  scenarios + "downscale-counts-until-statefulset-controller-observes-it", Rule: "end zone-a",
	},
	{
		Name:  "downscale dropped while its update can still come",
		Edits: []Edit{{downscale, "\t\treturn Awaited\n", "\t\treturn Overtaken\n"}, blind},
		Test:  explore + "a downscale during a rollout", Rule: "NoLostIntent",
	},
	{
		Name:  "downscale admitted whichever operation has the hold",
		Edits: []Edit{without(admit, "forDownscale(heldElsewhere)")},
		Test:  "internal/plan/group TestAdmit", Rule: "GroupHeld",
		Remark: "the guard otherZoneUnavailable would still refuse it",
	},
	{
		Name:  "downscale admitted although another zone is unavailable",
		Edits: []Edit{without(admit, "ifDisrupting(forDownscale(otherZoneUnavailable))")},
		Test:  "internal/plan/group TestAdmit", Rule: "OtherZoneUnavailable",
	},
	{
		Name:  "downscale admitted although the group changed while pods were prepared",
		Edits: []Edit{{prepareDownscale, "if answer = group.StillAdmits(p.Observer.Cached(key), v.Record, v.Ask); !answer.Allowed() {", "if answer = (group.DownscaleAnswer{}); !answer.Allowed() {"}},
		Test:  "internal/serve/admission TestDownscaleIsRefusedIfTheGroupChangesDuringPreparation", Rule: "a_pod_of_another_zone_breaks",
	},
	{
		Name:  "downscale admitted on caches that are behind its record",
		Edits: []Edit{{admit, "if b.DownscaleStatus(recorded) == Unseen {", "if false {"}},
		Test:  "internal/serve/admission TestDownscaleIsRefusedIfTheGroupChangesDuringPreparation/the caches are behind the record", Rule: "want CacheStale",
	},
	{
		Name:  "recorded downscale that counts as a live read of the group",
		Edits: []Edit{{prepareDownscale, "next.Own = false // so the leader reads", "next.Own = true // so the leader reads"}},
		Test:  unreadHold + "this process recorded a downscale of pods that are down", Rule: "want 429 OtherZoneUnavailable",
	},
	{
		Name:  "record of prepared pods that counts as a live read of the group",
		Edits: []Edit{{admissionHolds, "held.Own = false //", "held.Own = true //"}},
		Test:  unreadHold + "this process recorded that pods are prepared", Rule: "want 429 OtherZoneUnavailable",
	},
	{
		Name:  "record of pods notified to stay that counts as a live read of the group",
		Edits: []Edit{{admissionHolds, "\t\theld.Own = false // the process that continues reads the group live first\n", ""}},
		Test:  unreadHold + "this process recorded that pods of a cancelled downscale are notified to stay", Rule: "want 429 OtherZoneUnavailable",
	},
	{
		Name:  "earlier request admitted on the record of a later request",
		Edits: []Edit{{prepareDownscale, "!record.Written(recorded.Since).Equal(record.Written(held.Downscale.Since)) {", "record.Written(recorded.Since).IsZero() {"}},
		Test:  "internal/serve/admission TestEarlierRequestDoesNotAdmitTheRecordOfALaterRequest", Rule: "want 429 PreparationCancelled",
	},
	{
		Name:  "undone preparation that counts as a live read of the group",
		Edits: []Edit{{admissionHolds, "\t\theld.Own = false // the process that continues reads the group live first\n", ""}},
		Test:  "internal/serve/admission TestPreparationsOfAFormerLeaderAreUndone/under a free hold", Rule: "the one of this process: true",
	},
	{
		Name:  "lockstep's own downscale sent later than the hold dates it",
		Edits: []Edit{{actHold, "return step.Effect().EndsBeforeExpiry })", "return step.Effect().EndsBeforeExpiry && false })"}},
		Test:  "internal/act TestADownscaleIsNotSentLaterThanTheHoldDatesIt", Rule: "after 45s: sent",
	},
	{
		Name:  "pods called to prepare on caches alone",
		Edits: []Edit{{"internal/plan/group/prepare_pods.go", ", Read: plan.Always}", "}"}},
		Test:  "internal/lock/hold TestCover/pods are read live before they are called to prepare", Rule: "want \"read live\"",
	},
	{
		Name:  "downscale that counts as failed because another downscale replaces it",
		Edits: []Edit{{nextPart, "d.Ours && (next.None() || next.Generation == SeenInEffect) && s", "d.Ours && s"}},
		Test:  "internal/lock/hold TestADownscaleThatTheNextOneReplacesIsTriedAgainAtOnce", Rule: "given up",
	},
	{
		Name:  "pod notified to stay although the scale-up of its zone failed",
		Edits: []Edit{{executor, "e.Resizes && r.Err != nil {", "e.Resizes && r.Err != nil && false {"}},
		Test:  "internal/act TestPodsAreNotNotifiedToStayIfAWriteOfTheirZoneFailed/a raise", Rule: "-want +got",
	},
	{
		Name:  "pods not notified to stay under a hold from outside",
		Edits: []Edit{{actHold, "case d.Need == hold.Write && !d.Record.Holder.Foreign():", "case d.Need == hold.Write:"}},
		Test:  "internal/act TestPodsAreNotifiedToStayUnderALapsedHold", Rule: "call undoing zone-a/zone-a-1",
	},
	{
		Name:  "answers of pods forgotten for a downscale that a webhook began",
		Edits: []Edit{{podCalls, "if a.Downscale.Ours && a", "if a"}},
		Test:  "internal/act TestPodsAreCalledAfterTheHoldWasWritten/nor the preparation of a webhook", Rule: "recorded zone-a from 2 to 1 preparing",
	},
	{
		Name:  "answers of pods forgotten for a downscale that needs none",
		Edits: []Edit{{podCalls, "a.Downscale.Ours && a.Downscale.Stage == group.Preparing {", "a.Downscale.Ours {"}},
		Test:  "internal/act TestPodsAreCalledAfterTheHoldWasWritten/nor a downscale that needs no answer", Rule: "recorded zone-a from 2 to 1 admitted",
	},
	{
		Name:  "pods called by a process that is shutting down",
		Edits: []Edit{{executor, "if ctx.Err() == nil && e.Managed(w.View().Key.Namespace) {", "if e.Managed(w.View().Key.Namespace) {"}},
		Test:  "internal/act TestNothingIsSentOnceTheProcessIsToEnd", Rule: "requests: [call preparing",
	},
	{
		Name:  "pods notified to stay by a process that is shutting down",
		Edits: []Edit{{executor, "if ctx.Err() == nil && e.Managed(w.View().Key.Namespace) {", "if e.Managed(w.View().Key.Namespace) {"}},
		Test:  "internal/act TestNothingIsSentOnceTheProcessIsToEnd", Rule: "stay",
	},
	{
		Name:  "no time left for actions that require no hold",
		Edits: []Edit{{executor, "longestUnderHold = 45 * time.Second", "longestUnderHold = 60 * time.Second"}},
		Test:  "internal/act TestReplicasAreAddedThoughWritesUnderTheHoldTakeTooLong", Rule: "replicas are not added",
	},
	{
		Name:  "downscale of a pod that is down while another zone may scale down at any moment",
		Edits: []Edit{{admit, "shrinksElsewhere(b, d), tooSoon(b, d)", "tooSoon(b, d)"}},
		Test:  "internal/plan/group TestAdmit", Rule: "a_pod_that_is_not_ready_is_not_removed_while_an_admitted_downscale",
	},
	{
		Name:  "downscale of a pod that is down while caches are behind the record of another zone's downscale",
		Edits: []Edit{{downscaleTime, "course != Awaited && course != Unseen {", "course != Awaited {"}},
		Test:  "internal/plan/group TestAdmit/a pod that is not ready is not removed while caches are behind the record of another downscale", Rule: "want GroupHeld zone-b",
	},
	{
		Name: "downscale of a pod that is down recorded only if a zone has a minimum time",
		Edits: []Edit{{
			admit, "\treturn DownscaleAnswer{Because: firstOf(holdUnreadable(b)",
			"\tif !slices.ContainsFunc(b.zonesAnywhere(), func(z *Zone) bool { return z.MinBetween != Span{} }) {\n\t\treturn DownscaleAnswer{}\n\t}\n\treturn DownscaleAnswer{Because: firstOf(holdUnreadable(b)",
		}},
		Test: "internal/plan/group TestAdmit", Rule: "a_pod_that_is_not_ready_is_removed_whatever_other_zones_do",
	},
	{
		Name:  "time of a downscale overwritten by an earlier time",
		Edits: []Edit{{nextPart, "if !by.After(times[zone]) {", "if false {"}},
		Test:  "internal/lock/hold TestTheLatestTimeOfADownscaleIsKept", Rule: "dated",
	},
	{
		Name:  "downscale that changes the group and is judged by the former group alone",
		Edits: []Edit{{prepareDownscale, "case shrinks && c.ChangesGroup():", "case false:"}},
		Test:  "internal/serve/admission TestDownscaleThatChangesTheGroupOfItsZoneIsRefused", Rule: "it_joins_one",
	},
	{
		Name:  "granted eviction whose age starts again with each term of a leader",
		Edits: []Edit{{groupsController, "\tc.Reporter.Forget(key)\n\tc.Messages", "\tc.Reporter.Forget(key)\n\tc.Fresh.Forget(key)\n\tc.Messages"}},
		Test:  "internal/control/groups TestResignKeepsObservationsAndWrites", Rule: "forgotten",
	},
	{
		Name:  "zone with pods that changes its first ordinal",
		Edits: []Edit{{prepareDownscale, "case c.MovesOrdinals():", "case false:"}},
		Test:  "internal/serve/admission TestZoneWithPodsKeepsItsFirstOrdinal", Rule: "TestZoneWithPodsKeepsItsFirstOrdinal",
	},
	{
		Name:  "group of one zone in which partitions are evicted one after the other",
		Edits: []Edit{{partition, "if len(b.zoneStates) > 1 {", "if true {"}},
		Test:  "internal/plan/group TestEvict", Rule: "in_the_only_zone,_the_budget_counts_pods_even_with_partitions",
	},
	{
		Name:  "pod that counts as available before minReadySeconds have passed",
		Edits: []Edit{{"internal/plan/pod.go", "return p.Up() && (minReady <= 0 || !now.Before(p.StableAt(minReady)))", "return p.Up()"}},
		Test:  walk, Rule: "WithinBudget",
		Remark: "the explorer has no durations",
	},
	{
		Name:  "clock ahead of the API server where the machine's clock is wrong",
		Edits: []Edit{{"internal/cluster/clock/clock.go", "least: date}", "least: date.Add(time.Second)}"}},
		Test:  "internal/cluster/clock TestClockIsNeverAhead", Rule: "slow after",
	},
	{
		Name:  "machine's clock of another speed trusted because it agrees for a moment",
		Edits: []Edit{{"internal/cluster/clock/clock.go", "trustAfter = time.Minute", "trustAfter = 0 * time.Minute"}},
		Test:  "internal/cluster/clock TestClockIsNeverAhead", Rule: "slow after",
	},
	{
		Name:  "minimum time between downscales one instant longer",
		Edits: []Edit{{downscaleTime, "until := last.Add(between); b.Now.Before(until)", "until := last.Add(between); !b.Now.After(until)"}},
		Test:  "internal/plan/group TestAdmit", Rule: "a_minimum_time_that_is_just_over_has_passed",
	},
	{
		Name:  "minimum time between downscales not checked",
		Edits: []Edit{without(admit, "tooSoon")},
		Test:  walk, Rule: "TooSoon",
		Remark: "only the judge of the walk knows the time",
	},
	{
		Name:   "minimum time between downscales not checked for pods that are down",
		Edits:  []Edit{{admit, "\ttooSoon,", "\tifDisrupting(tooSoon),"}},
		Test:   "internal/plan/group TestAdmit",
		Rule:   "the_minimum_time_applies_to_a_pod_that_is_not_ready",
		Remark: "they may become ready before the update arrives; a fault campaign found this",
	},
	{
		Name:   "downscale dated by its admission",
		Edits:  []Edit{{nextPart, "former.Zone, former.EffectiveBy(s.Now))", "former.Zone, former.Since)"}},
		Test:   "internal/lock/hold TestADownscaleIsDatedByItsLatestPossibleTime",
		Rule:   "dated",
		Remark: "TestWalk finds it in 547 schedules",
	},
	{
		Name:  "preparation begun while another is undone",
		Edits: []Edit{{admit, "case recorded.Stage == Undoing:", "case false:"}},
		Test:  "internal/plan/group TestAdmit", Rule: "no_pod_is_prepared_while_others_are_notified_that_they_stay",
	},
	{
		Name:  "observed downscale recorded over the hold of another zone",
		Edits: []Edit{{downscaleState, "return b.recordedElsewhere(zone).None() &&", "return true || b.recordedElsewhere(zone).None() &&"}},
		Test:  explore + "scaling in two zones", Rule: "DownscaleAlone",
	},
	{
		Name:  "downscale removed from the hold before all pods have answered",
		Edits: []Edit{{downscaleSteps, "\tcase called.Underway || called.Failed != \"\":\n\t\treturn nil\n", ""}},
		Test:  scenarios + "pod-that-does-not-acknowledge-stay-keeps-group-held", Rule: "end zone-b",
	},
	{
		Name: "downscale and rollout of another zone at once",
		Edits: []Edit{
			{guards, "if stands := b.downscaleElsewhere(zone); !stands.None() && !b.ended {", "if stands := b.downscaleElsewhere(zone); false {"},
			{downscaleState, "\tif d.Zone != zone.Name || b.ended {\n", "\tif true || d.Zone != zone.Name || b.ended {\n"}, blind,
		},
		Test: scenarios + "admitted-downscale-blocks-rollouts-of-other-zones", Rule: "delete zone-a-0",
	},
	{
		Name:  "pods called to prepare in a zone that must not be scaled down",
		Edits: []Edit{{admit, "if because := barred(z); !because.None() {", "if because := barred(z); false {"}},
		Test:  "internal/plan/group TestAdmit", Rule: "no_pod_is_called_in_a_zone_that_must_not_be_scaled_down",
	},
	{
		Name:  "pod that counts as notified to stay by a call that it does not serve",
		Edits: []Edit{{"internal/act/podcalls/zone.go", "present, left, answered)", "present, left, stays)"}},
		Test:  "internal/act/podcalls TestAPodThatDeclinedIsNotNotifiedByACallWithoutContent", Rule: "a_call_that_the_pod_does_not_serve",
	},
	{
		Name:  "answers of pods forgotten after a snapshot that does not show their zone",
		Edits: []Edit{{"internal/act/podcalls/preparations.go", "exists && !g.lastCall.Underway &&", "(exists || true) && !g.lastCall.Underway &&"}},
		Test:  "internal/act/podcalls TestAViewWithoutTheZoneForgetsNoAnswer", Rule: "want that all have answered",
	},
	{
		Name:  "reverted downscale that counts because of later changes",
		Edits: []Edit{{downscale, "if s.DownscaleStatus(d) == Overtaken && !s.Shrank(d) {", "if false {"}},
		Test:  "internal/plan/group TestARevertedDownscaleDoesNotCountAfterLaterChanges", Rule: "counts as a downscale: true",
	},
	{
		Name:  "pod notified to stay although no call can have reached it",
		Edits: []Edit{{downscaleState, "made.Before(d.Since.Add(lateCalls))", "(true || made.Before(d.Since.Add(lateCalls)))"}},
		Test:  "internal/plan/group TestAPodCreatedLongAfterTheCancellationIsNotNotified", Rule: "a pod that no call can have reached",
	},
	{
		Name:  "downscale judged by a cached StatefulSet that is older than its label",
		Edits: []Edit{{prepareDownscale, "known && ok && set.Version >= shown {", "known && ok && shown > 0 {"}},
		Test:  "internal/serve/admission TestDownscaleIsJudgedByTheGroupThatItsStatefulSetHasJustJoined", Rule: "want 429 GroupHeld",
	},
	{
		Name:  "preparation undone again under the expired hold of another zone",
		Edits: []Edit{{holdRecord, "free := record.Holder.Free() || record.Lapsed(now) ||", "free := record.Holder.Free() || record.Expired(now) ||"}},
		Test:  "internal/lock/hold TestAPreparationThatAnotherProcessGaveUpIsUndoneAgain", Rule: "another zone has an expired hold: possible true",
	},
	{
		Name:  "preparation undone under an expired deadline",
		Edits: []Edit{{prepareDownscale, "ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), detachedTimeout)\n\tdefer stop()\n\terr := p.stage", "ctx, stop := context.WithTimeout(ctx, detachedTimeout)\n\tdefer stop()\n\terr := p.stage"}},
		Test:  "internal/serve/admission TestPodsAreNotifiedToStayIfPreparationTimesOut", Rule: "the hold contains",
	},
	{
		Name:  "webhook that writes to a namespace that opted out during the request",
		Edits: []Edit{{"internal/serve/admission/holds.go", "record plan.Record) error {\n\tif !h.Managed(key.Namespace) {", "record plan.Record) error {\n\tif false {"}},
		Test:  "internal/serve/admission TestDownscaleWritesNothingAfterItsNamespaceOptedOut", Rule: "written after the namespace opted out",
	},
	{
		Name:  "group lock that each request creates",
		Edits: []Edit{{"internal/serve/admission/group_locks.go", "\tlock, known := t.groups[key]\n", "\tlock, known := (map[plan.Key]*groupLock{})[key]\n"}},
		Test:  "internal/serve/admission TestEvictionIsRefusedForNowIfTheGroupLockIsNotFreeInTime", Rule: "GroupHeld",
		Remark: "between replicas, the Lease decides: see the next mutant, and the mutants of Lease writes",
	},
	{
		Name: "downscale recorded over the write of another replica",
		Edits: []Edit{{
			prepareDownscale, "\t\t\treturn Allow(reason.NotManaged)\n\t\tcase reason.ClassOf(err) == reason.Moved:\n\t\t\tcontinue\n",
			"\t\t\treturn Allow(reason.NotManaged)\n\t\tcase reason.ClassOf(err) == reason.Moved:\n\t\t\tnext.Version = p.Holds.Cached(key).Version\n\t\t\t_ = p.Holds.Write(ctx, key, next)\n",
		}},
		Test: "internal/serve/admission TestConcurrentDownscalesAreAdmittedInOneZone", Rule: "2 of two zones may be scaled down",
	},
	{
		Name:  "downscale admitted although the hold could not be written",
		Edits: []Edit{{prepareDownscale, "\t\tcase err != nil:\n\t\t\tif !v.Dated {", "\t\tcase false:\n\t\t\tif !v.Dated {"}},
		Test:  walk, Rule: "RecordedFirst",
	},
}
