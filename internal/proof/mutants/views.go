package mutants

// views are mutants about what a process reads of the cluster, and what it keeps in
// memory.
var views = []Mutant{
	{
		Name:  "disruption before which StatefulSets are not read",
		Edits: []Edit{{holdDecision, "plan.Disrupts(steps) && d.Need != ReadLive", "false"}},
		Test:  "internal/lock/hold TestStatefulSetsAreReadBeforePodsAreDisrupted", Rule: "a pod that is up is deleted",
	},
	{
		Name:  "disruption on a live read before which StatefulSets are not read",
		Edits: []Edit{{holdDecision, "d.Need != ReadLive", "d.Need != ReadLive && !s.Live"}},
		Test:  "internal/lock/hold TestStatefulSetsAreReadBeforePodsAreDisrupted", Rule: "the same plan is of a live read",
	},
	{
		Name:  "downscale before which StatefulSets are not read",
		Edits: []Edit{{"internal/plan/group/set_replicas.go", "plan.IfInherited, true, true, true", "plan.IfInherited, true, false, true"}},
		Test:  "internal/lock/hold TestStatefulSetsAreReadBeforePodsAreDisrupted", Rule: "a downscale that is carried out",
	},
	{
		Name:  "downscale under a hold that a person may have taken since",
		Edits: []Edit{{"internal/plan/group/set_replicas.go", "plan.IfInherited, true, true, true", "plan.IfInherited, true, true, false"}},
		Test:  "internal/lock/hold TestCover", Rule: `want "write downscale/zone-a"`,
	},
	{
		Name:  "disruption although the specs of StatefulSets have changed",
		Edits: []Edit{{groupsController, "case !same:", "case false && !same:"}},
		Test:  "internal/control/groups TestReconcile/a StatefulSet was paused during the live read", Rule: "carried out",
	},
	{
		Name:  "disruption although the caches already show that a zone is paused",
		Edits: []Edit{{groupsController, " || !seen.SameDesiredState(&t.seen)", ""}},
		Test:  "internal/control/groups TestReconcile/a zone was paused while StatefulSets were read, and the caches show it already", Rule: "live reads, want 1",
	},
	{
		Name:  "disruption although a pod of another zone broke during the last read",
		Edits: []Edit{{groupsController, "\treturn again, nil\n", "\tt.decision.DisruptBefore = before\n\treturn t, nil\n"}},
		Test:  "internal/control/groups TestReconcile/a pod of another zone broke during the read of the StatefulSets", Rule: "OtherZoneUnavailable",
	},
	{
		Name:  "live read confirmed by cached StatefulSets",
		Edits: []Edit{{groupsController, "c.Observer.SameDesiredState(ctx, t.seen)", "c.Observer.SameDesiredState(ctx, c.Observer.Cached(t.seen.Key))"}},
		Test:  "internal/control/groups TestAPlanIsConfirmedByItsAssumptions", Rule: "want that of a live read",
	},
	{
		Name:  "plan that counts as confirmed forever",
		Edits: []Edit{{groupsController, "again.decision.DisruptBefore = before", "again.decision.DisruptBefore = before.Add(time.Hour)"}},
		Test:  "internal/control/groups TestAPlanIsConfirmedByItsAssumptions", Rule: "confirmed until",
	},
	{
		Name:  "disruption of a plan that was confirmed too long ago",
		Edits: []Edit{{executor, "return !step.Effect().Disrupts || !tooLate(d)", "return true"}},
		Test:  "internal/act TestAPlanThatWasConfirmedTooLongAgoDisruptsNothing", Rule: "too late",
	},
	{
		Name:  "step that deletes pods for as long as the API server is slow",
		Edits: []Edit{{executor, "if time.Since(began) < beginWithin && mayBegin", "if time.Since(began) >= 0 && mayBegin"}},
		Test:  "internal/act TestDeletesAreParallelAndBounded", Rule: "want 10 after 1s",
	},
	{
		Name:  "deletes of one plan that are sent one after the other",
		Edits: []Edit{{executor, "const atATime = 10", "const atATime = 1"}},
		Test:  "internal/act TestDeletesAreParallelAndBounded", Rule: "at most 1 at a time",
	},
	{
		Name:  "plan of two pods confirmed although the caches propose only one",
		Edits: []Edit{{confirm, "return !slices.ContainsFunc(taken, func(one string) bool { return !slices.Contains(proposed, one) })", "return slices.ContainsFunc(taken, func(one string) bool { return slices.Contains(proposed, one) })"}},
		Test:  "internal/plan/group TestCachesConfirmThePlanOfALiveRead/two pods of which caches propose one", Rule: "got true",
	},
	{
		Name:  "plan confirmed only if it equals the plan of the caches",
		Edits: []Edit{{confirm, "return !slices.ContainsFunc(taken, func(one string) bool { return !slices.Contains(proposed, one) })", "return slices.Equal(taken, proposed)"}},
		Test:  "internal/plan/group TestCachesConfirmThePlanOfALiveRead/one pod of two that caches propose", Rule: "got false",
	},
	{
		Name:  "pod that was created again, confirmed by its name",
		Edits: []Edit{{confirm, `"pod "+a.UID`, `"pod "+a.Pod`}},
		Test:  "internal/plan/group TestCachesConfirmThePlanOfALiveRead/a pod that was created again", Rule: "got true",
	},
	{
		Name:  "repair that the caches must confirm",
		Edits: []Edit{{confirm, "if a.Up {", "if true {"}},
		Test:  "internal/plan/group TestCachesConfirmThePlanOfALiveRead/a repair of a pod that is ready in caches", Rule: "got false",
	},
	{
		Name:  "all former zones forgotten with one of them",
		Edits: []Edit{{confirm, "return slices.Contains(a.Gone, z.Name)", "return len(a.Gone) > 0"}},
		Test:  "internal/plan/group TestCachesConfirmThePlanOfALiveRead/a plan that forgets one zone while another zone left", Rule: "got true",
	},
	{
		Name:  "downscale whose record times out while StatefulSets are read",
		Edits: []Edit{{groupsController, "\tseen.Now = t.seen.Now\n", ""}},
		Test:  "internal/control/groups TestARecordDoesNotTimeOutWhileItsPlanIsConfirmed", Rule: "set zone-a from 2 to 1",
	},
	{
		Name:  "changed minimum time between downscales that a read of StatefulSets does not detect",
		Edits: []Edit{{snapshot, "z.MinBetween == other.MinBetween && ", ""}},
		Test:  "internal/plan/group TestWhetherTwoStatesOfAStatefulSetRequestTheSame", Rule: "changed: it asks for another minimum time",
	},
	{
		Name:  "failed read of a StatefulSet taken for an unchanged spec",
		Edits: []Edit{{"internal/cluster/observe/verify.go", "\t\treturn false, err\n", "\t\treturn true, nil\n"}},
		Test:  "internal/cluster/observe TestAFailedReadIsNotTakenForTheSame", Rule: "true, <nil>",
	},
	{
		Name:  "later grant of a pod ended with the former one",
		Edits: []Edit{{confirm, " && a.Intent.Since.Equal(i.Since)", ""}},
		Test:  "internal/plan/group TestCachesConfirmNoDisruptionBesideALaterRecord/a later grant of the same pod", Rule: "got true",
	},
	{
		Name:  "downscale that only a live read shows as completed",
		Edits: []Edit{{confirm, "if a.Restored && h.Downscale", "if h.Downscale"}},
		Test:  "internal/plan/group TestCachesConfirmNoDisruptionBesideALaterRecord/a downscale that the caches do not show as completed", Rule: "got true",
	},
	{
		Name:  "later downscale of a zone ended with the restored one",
		Edits: []Edit{{confirm, "if a.Restored && h.Downscale.Same(a.Downscale) {", "if a.Restored {"}},
		Test:  "internal/plan/group TestCachesConfirmNoDisruptionBesideALaterRecord/a later downscale of the same zone", Rule: "got true",
	},
	{
		Name:  "StatefulSets read one after the other",
		Edits: []Edit{{"internal/cluster/observe/verify.go", "parallel.Each(len(cached.Zones), len(cached.Zones), func", "parallel.Each(len(cached.Zones), 1, func"}},
		Test:  "internal/cluster/observe TestStatefulSetsAreReadAtTheSameTime", Rule: "a request waits until",
	},
	{
		Name:  "downscale although a pod of another zone broke during the last read",
		Edits: []Edit{{confirm, "if a.lowers() {", "if false {"}},
		Test:  "internal/plan/group TestCachesConfirmThePlanOfALiveRead/a downscale while another zone became unavailable", Rule: "got true",
	},
	{
		Name:  "explorer in which an old version of the Lease becomes the current one",
		Edits: []Edit{{"internal/proof/sim/canonical.go", "if !c.hasAbsences() {", "if true {"}},
		Test:  "internal/proof/sim TestFirstCachesKeepTheirVersionOfTheLease", Rule: "NoLostIntent",
	},
	{
		Name:  "pause that a read of StatefulSets does not detect",
		Edits: []Edit{{snapshot, "z.Paused == other.Paused &&", ""}},
		Test:  "internal/plan/group TestWhetherTwoStatesOfAStatefulSetRequestTheSame", Rule: "changed: it is paused",
	},
	{
		Name:  "StatefulSet that moved to another group and counts as unchanged",
		Edits: []Edit{{"internal/cluster/observe/verify.go", " || !o.belongs(cached.Key, set)", ""}},
		Test:  "internal/cluster/observe TestChangesOfLiveStatefulSetsAreDetected/another group", Rule: "true, <nil>, want false",
	},
	{
		Name:  "walk that does not read StatefulSets before a disruption on caches",
		Edits: []Edit{{"internal/cluster/observe/verify.go", "same[i] = z.SameDesiredState(&live)", "same[i] = true"}, {"internal/cluster/observe/verify.go", " || !o.belongs(cached.Key, set)", ""}, {"internal/cluster/observe/verify.go", "live := zoneOf(set)", "_ = zoneOf(set)"}},
		Test:  walk, Rule: "NotPaused",
	},
	{
		Name:  "live read as new as its newest list of pods",
		Edits: []Edit{{liveRead, "if i == 0 || seen.at < s.PodsAt {", "if i == 0 || seen.at > s.PodsAt {"}},
		Test:  "internal/cluster/observe TestAPodIsDeletedAccordingToTheListOfItsOwnZone", Rule: "want obsolete",
	},
	{
		Name:  "pods listed at the same time as the zone of a downscale",
		Edits: []Edit{{liveRead, "if !held.Downscale.None() {", "if false {"}},
		Test:  "internal/cluster/observe TestALiveReadUnderADownscaleShowsEveryPodThatItsZoneHadWhenItWasRead", Rule: "the pod beyond spec.replicas is not shown",
	},
	{
		Name: "snapshot from caches whose version is newer than its objects",
		Edits: []Edit{
			{cachedView, "\t\tZonesAt: seen(o.zones),\n\t\tPodsAt:  seen(o.pods),\n", ""},
			{cachedView, "\tarrange(&s)\n\to.fill(&s)\n", "\ts.ZonesAt, s.PodsAt = seen(o.zones), seen(o.pods)\n\tarrange(&s)\n\to.fill(&s)\n"},
		},
		Test: "internal/cluster/observe TestASnapshotFromCachesIsNoNewerThanItsObjects", Rule: "in a snapshot at version",
	},
	{
		Name:  "older reply about a Lease in place of a newer one",
		Edits: []Edit{{leaseMemory, "case before && r.version < known.version:", "case false && before && r.version < known.version:"}},
		Test:  "internal/lock/lease TestTheNewestOfOwnReplyAndCacheIsShown/a live read that was answered before a write does not hide the write", Rule: `want "own rollout/zone-a"`,
	},
	{
		Name:  "Lease that was created during a live read and is hidden by it",
		Edits: []Edit{{store, "\t\ts.remember(key, reply{version: before})\n", "\t\t_ = before\n\t\ts.remember(key, reply{version: s.newest(key).version})\n"}},
		Test:  "internal/lock/lease TestTheNewestOfOwnReplyAndCacheIsShown/a live read that found no Lease does not hide a Lease that was written meanwhile", Rule: "want \"own rollout/zone-a\"",
	},
	{
		Name:  "damaged times of downscales that count as none",
		Edits: []Edit{{recordOfGroup, "p.Downscaled, times = ParseTimes", "p.Downscaled, _ = ParseTimes"}, {recordOfGroup, "var part, times, zones error", "var part, zones error"}, {recordOfGroup, "cmp.Or(part, times, zones,", "cmp.Or(part, zones,"}},
		Test:  "internal/lock/lease TestReadingLeasesOfOtherClients/damaged times of downscales make the hold unreadable", Rule: "read times of downscales",
	},
	{
		Name:  "record written over another Lease than the decision was based on",
		Edits: []Edit{{store, "string(current.UID) != record.UID || ", ""}},
		Test:  "internal/lock/lease TestARecordThatWasDecidedOnAnotherLeaseIsNotWritten", Rule: "want one of class moved",
	},
	{
		Name:  "granted eviction whose time limit never passes",
		Edits: []Edit{{"internal/lock/lease/ages.go", "\t\tif !before {\n", "\t\tif true || !before {\n"}},
		Test:  "internal/lock/lease TestAGrantIsKnownSinceThisProcessHasSeenItFirst", Rule: "known for 0s, want 1m10s",
	},
	{
		Name:  "repeated grant of an eviction timed from the first grant",
		Edits: []Edit{{"internal/lock/lease/ages.go", "intents[i].Since.UnixMilli()}", "0}"}},
		Test:  "internal/lock/lease TestARepeatedGrantIsANewGrant", Rule: "want 0s",
	},
	{
		Name:  "budgets that become known after they were read",
		Edits: []Edit{{cachedView, "\ts.Budgets = o.budgetsOf(s.Key.Namespace)\n", "\ts.Budgets = o.budgetsOf(s.Key.Namespace)\n\ts.Unread = !o.BudgetsKnown()\n"}},
		Test:  "internal/cluster/observe TestBudgetsThatBecomeKnownAfterTheyWereReadAreUnread", Rule: "unread: false",
	},
	{
		Name:  "pod of a group that is evicted under the hold of a budget",
		Edits: []Edit{{"internal/cluster/observe/lookup.go", "true, set.key()\n\t\t\tcontinue\n", "true, set.key()\n"}},
		Test:  "internal/cluster/observe TestAPodOfAGroupIsEvictedUnderTheHoldOfItsGroup", Rule: "want the hold of team/store",
	},
	{
		Name:  "live read without the version of each zone's list of pods",
		Edits: []Edit{{liveRead, "seen.of[z.UID]...), seen.at", "seen.of[z.UID]...), 0"}},
		Test:  "internal/cluster/observe TestALiveReadSaysHowNewTheListOfEachZoneIs", Rule: "are of version 0",
	},
	{
		Name:  "pod created after a live read that counts as deleted before it",
		Edits: []Edit{{freshnessKnown, "if !seen && pod.Version <= at {", "if !seen {"}},
		Test:  "internal/lock/freshness TestAViewIsStaleUntilItShowsTheLiveRead/a pod that was created after the live read is shown", Rule: "the end of pod zone-a-1",
	},
	{
		Name:  "caches that count as behind for longer because a clock was set back",
		Edits: []Edit{{"internal/lock/freshness/freshness.go", "if e.since.IsZero() || view.Now.Before(e.since) {", "if e.since.IsZero() {"}},
		Test:  "internal/lock/freshness TestHowLongViewsHaveBeenBehind", Rule: "once the clock was set back",
	},
}
