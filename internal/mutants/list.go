package mutants

// Files that mistakes are made in.
const (
	board     = "internal/plan/board.go"
	budget    = "internal/plan/budget.go"
	group     = "internal/plan/group.go"
	guards    = "internal/plan/guards.go"
	fate      = "internal/plan/hold.go"
	admit     = "internal/plan/admit.go"
	decrease  = "internal/plan/decrease.go"
	shrink    = "internal/plan/shrink.go"
	follow    = "internal/plan/follow.go"
	mirror    = "internal/plan/mirror.go"
	asked     = "internal/plan/asked.go"
	delay     = "internal/plan/delay.go"
	stretch   = "internal/plan/stretch.go"
	cover     = "internal/hold/hold.go"
	agreed    = "internal/hold/agreed.go"
	known     = "internal/freshness/known.go"
	check     = "internal/invariant/invariant.go"
	executor  = "internal/act/executor.go"
	writes    = "internal/act/writes.go"
	store     = "internal/lease/store.go"
	evict     = "internal/plan/evict.go"
	partition = "internal/plan/partition.go"
	grants    = "internal/hold/evict.go"
	granted   = "internal/invariant/grant.go"
	snapshot  = "internal/plan/snapshot.go"
	manual    = "internal/hold/manual.go"
	confirm   = "internal/plan/confirm.go"
	downscale = "internal/admission/prepare_downscale.go"
	explore   = "internal/sim TestExplore/"
	scenarios = "internal/plan TestScenariosGolden/"
	walk      = "internal/sim/walk TestWalk"
)

// blind switches the check of single plans off, so that the mistake must be
// found in what comes of it.
var blind = Edit{check, "if covered.Verdict == hold.Look {", "if true {"}

// blindToEvictions does the same with the check of single evictions.
var blindToEvictions = Edit{granted, "if !p.Allowed() || covered.Verdict == hold.Look {", "if true {"}

// All returns the mutants.
func All() []Mutant { return append([]Mutant(nil), all...) }

var all = []Mutant{
	// budgets
	{
		Name:  "budget off by one, in the guard",
		Edits: []Edit{{guards, "if after <= d.zone.budget {", "if after <= d.zone.budget+1 {"}, blind},
		Test:  explore + "a crash while the operator dies and its hold expires", Rule: "WithinBudget",
	},
	{
		Name:  "budget off by one, for everybody who asks",
		Edits: []Edit{{budget, "return max(1, b.Pods)", "return max(1, b.Pods) + 1"}},
		Test:  explore + "a crash while the operator dies and its hold expires", Rule: "WithinBudget",
		Remark: "the check of plans asks the same function; only the judge of histories has a budget of its own",
	},
	{
		Name: "down pods not counted",
		Edits: []Edit{
			{board, "\t\t\tz.down++\n\t\t\tz.blame(objection)", "\t\t\tz.blame(objection)"},
			{board, "\t\tz.down += z.missing\n", ""}, blind,
		},
		Test: explore + "a crash while the operator dies and its hold expires", Rule: "WithinBudget",
	},
	{
		Name:  "missing pods not counted",
		Edits: []Edit{{board, "\t\tz.down += z.missing\n", ""}, blind},
		Test:  explore + "a crash while the operator dies and its hold expires", Rule: "WithinBudget",
	},
	{
		Name:  "noted pods not counted",
		Edits: []Edit{{board, "\tif noted {\n", "\tif false && noted {\n"}, blind},
		Test:  explore + "a revert while requests come late", Rule: "WithinBudget",
	},
	{
		Name: "down pods counted twice",
		Edits: []Edit{
			{board, "\t\t\tz.down++\n\t\t\tz.blame(objection)", "\t\t\tz.down += 2\n\t\t\tz.blame(objection)"},
			{board, "\t\tz.down += z.missing\n", "\t\tz.down += 2 * z.missing\n"},
		},
		Test: explore + "two pods at a time while the operator dies", Rule: "BudgetUsed",
		Remark: "too strict breaks nothing; a world with a budget of two must use it",
	},
	{
		Name: "pods that are noted and down counted twice",
		Edits: []Edit{{
			board, "\tz.problem = firstOf(lifecycle(zone)",
			"\tfor _, intent := range b.counting {\n\t\tif intent.Zone == zone.Name {\n\t\t\tz.down++\n\t\t}\n\t}\n\tz.problem = firstOf(lifecycle(zone)",
		}},
		Test: explore + "two pods at a time while the operator dies", Rule: "BudgetUsed",
	},
	{
		Name:  "zone whole by the pods that exist, whatever it asks for",
		Edits: []Edit{{board, "z.missing = max(0, zone.Replicas-present)", "z.missing = max(0, present-present)"}, blind},
		Test:  scenarios + "a-missing-pod-spends-the-budget", Rule: "delete zone-a-1",
		Remark: "as in a status, which counts what there is",
	},
	{
		Name:  "budget counted as a status does",
		Edits: []Edit{{board, "\t\treturn Refusal{Code: reason.PodLeaving, Pod: pod.Name}\n", "\t\treturn Refusal{}\n"}, blind},
		Test:  explore + "two pods at a time and a crash", Rule: "WithinBudget",
		Remark: "a pod that leaves may still be Ready in a status",
	},

	// guards of every replacement
	{
		Name:  "guard wrongUpdateStrategy removed",
		Edits: []Edit{{guards, "\twrongUpdateStrategy, // guarantee 3: another controller would interfere\n", ""}},
		Test:  explore + "another update strategy for a while", Rule: "OnDeleteOnly",
	},
	{
		Name:  "guard paused removed",
		Edits: []Edit{{guards, "\tpaused,              // somebody asked this zone to stand still\n", ""}},
		Test:  explore + "a pause and a crash", Rule: "StandStill",
		Remark: "takedowns are kept by notItsTurn as well: a paused zone is never at turn; repairs are not",
	},
	{
		Name:  "guard zoneInTransition removed",
		Edits: []Edit{{guards, "\tzoneInTransition,    // what is outdated is judged against the newest spec only\n", ""}},
		Test:  explore + "a revert while the operator dies", Rule: "AsAsked",
	},

	// guards of takedowns
	{
		Name:  "guard notItsTurn removed",
		Edits: []Edit{{guards, "\tnotItsTurn,        // one zone after the other, in order\n", ""}, blind},
		Test:  explore + "two operators", Rule: "NoLostIntent",
		Remark: "both zones at once: the hold can only note the deeds of one",
	},
	{
		Name:  "guard heldElsewhere removed",
		Edits: []Edit{{guards, "\theldElsewhere,     // guarantee 1: one operation in one zone at a time\n", ""}, blind},
		Test:  explore + "somebody takes the hold by hand", Rule: "HandsOff",
		Remark: "what a rollout holds is kept by otherZoneNotWhole as well: a zone with an intent is not whole",
	},
	{
		Name:  "guard otherZoneNotWhole removed",
		Edits: []Edit{{guards, "\totherZoneNotWhole, // guarantee 2: the rest of the group serves\n", ""}, blind},
		Test:  explore + "a crash while the operator dies and its hold expires", Rule: "RestIsWhole",
	},
	{
		Name: "guards heldElsewhere and otherZoneNotWhole removed",
		Edits: []Edit{
			{guards, "\theldElsewhere,     // guarantee 1: one operation in one zone at a time\n", ""},
			{guards, "\totherZoneNotWhole, // guarantee 2: the rest of the group serves\n", ""}, blind,
		},
		Test: explore + "a pause while requests come late and the hold expires", Rule: "OneZoneAtATime",
		Remark: "each stands in for the other, and notItsTurn for both until the zone at turn is paused",
	},
	{
		Name:  "guard shrinks removed",
		Edits: []Edit{{guards, "\tshrinks,           // a downscale of this zone settles first\n", ""}},
		Test:  explore + "scaling down and up in one zone", Rule: "NotedFirst",
		Remark: "the downscale is noted under the hold that the takedown would need",
	},
	{
		Name:  "guard budgetSpent removed",
		Edits: []Edit{{guards, "\tbudgetSpent,       // guarantee 4: at most so many pods of a zone\n", ""}, blind},
		Test:  explore + "a crash while the operator dies and its hold expires", Rule: "WithinBudget",
	},
	{
		Name:  "guard roomForIntent removed",
		Edits: []Edit{{guards, "\troomForIntent,     // a takedown is always noted, and the hold can only carry so many\n", ""}},
		Test:  "internal/plan TestAHoldCarriesAtMostAHundredIntents", Rule: "want 100",
		Remark: "a hundred pods are more than any world of the explorer has",
	},

	// the hold and its intents
	{
		Name:  "intent dropped by time alone",
		Edits: []Edit{{fate, "\tpod, present := s.Pod(i.Pod)\n\tswitch {\n", "\tpod, present := s.Pod(i.Pod)\n\tswitch {\n\tcase s.Hold.Expired(s.Now):\n\t\treturn Void\n"}, blind},
		Test:  explore + "a pause while requests come late and the hold expires", Rule: "NoLostIntent",
	},
	{
		Name:  "intent dropped since its pod is not seen, however old the view",
		Edits: []Edit{{fate, "if !stillWanted && s.PodsAt >= i.Version {", "if !stillWanted {"}, blind},
		Test:  explore + "scaling up while the operator dies and requests come late", Rule: "NoLostIntent",
	},
	{
		Name:  "intent dropped since an older pod of that name is seen",
		Edits: []Edit{{fate, "\tcase pod.Version <= i.Version:\n\t\treturn Open // an older incarnation: this view is behind\n", ""}, blind},
		Test:  explore + "two templates while the operator dies and requests come late", Rule: "NoLostIntent",
	},
	{
		Name:  "intent that is no longer wanted dropped without a touch",
		Edits: []Edit{{fate, "\tcase pod.Version == i.Version:\n\t\treturn Pending\n", ""}, blind},
		Test:  explore + "a pause while requests come late and the hold expires", Rule: "NoLostIntent",
	},
	{
		Name:  "hold taken without a look",
		Edits: []Edit{{cover, "if !s.Live && needsLook(s.Hold, holder, deeds) {", "if false && needsLook(s.Hold, holder, deeds) {"}},
		Test:  explore + "three zones", Rule: "RestIsWhole",
	},
	{
		Name:  "stale hold taken over without a look",
		Edits: []Edit{{cover, "if !s.Live && needsLook(s.Hold, holder, deeds) {", "if !s.Live && !s.Hold.Expired(s.Now) && needsLook(s.Hold, holder, deeds) {"}},
		Test:  explore + "three zones", Rule: "RestIsWhole",
	},
	{
		Name:  "record of another process gone on with without a look",
		Edits: []Edit{{cover, "if h.Holder != holder || !h.Own {", "if h.Holder != holder {"}},
		Test:  explore + "three zones", Rule: "RestIsWhole",
	},
	{
		Name:  "repair planned on caches alone",
		Edits: []Edit{{cover, "if !d.Up || d.Odd {", "if d.Odd {"}},
		Test:  "internal/hold TestCover/a repair is always looked at", Rule: `want "look live"`,
		Remark: "it would repeat deletes while the cache of zones is behind, which breaks no rule",
	},
	{
		Name:  "intents of others left out of the record",
		Edits: []Edit{{cover, "if s.Fate(i).Counts() && (!anew || d.Noted || stays) {", "if false && (!anew || d.Noted || stays) {"}, blind},
		Test:  explore + "a revert while the operator dies", Rule: "NoLostIntent",
	},
	{
		Name: "hold given back while an intent counts",
		Edits: []Edit{
			{group, "b.Hold.Unreadable != \"\" || b.noted > 0 || Disrupts(deeds) {", "b.Hold.Unreadable != \"\" || Disrupts(deeds) {"},
			{group, "if z.Name == holder.Zone() && (!z.whole() || (holder.Operation() == Rollout && b.goesOn(z) && !b.yields(z))) {", "if z.Name == holder.Zone() && b.goesOn(z) {"},
		},
		Test: explore + "a pause while requests come late and the hold expires", Rule: "Progress",
		Remark: "asked twice: a zone with an intent is not whole either",
	},
	{
		Name:  "hold never given back",
		Edits: []Edit{{group, "\treturn []Action{Release{Holder: holder}}\n", "\treturn nil\n"}},
		Test:  explore + "somebody takes the hold by hand", Rule: "Progress",
	},
	{
		Name:  "unwanted deed never made impossible",
		Edits: []Edit{{group, "\tdeeds = append(b.withdrawals(deeds), deeds...)\n", ""}},
		Test:  explore + "a revert while the operator dies", Rule: "Progress",
	},

	// freshness
	{
		Name:  "freshness ignores looks",
		Edits: []Edit{{known, "k.looks = append(k.looks, live)", ""}},
		Test:  explore + "a crash while the operator dies and its hold expires", Rule: "WithinBudget",
	},
	{
		Name:  "freshness ignores that a pod had gone",
		Edits: []Edit{{known, "\treturn lingering(view, look)\n", "\t_ = lingering\n\treturn \"\"\n"}},
		Test:  explore + "two pods at a time while others delete pods and replies get lost", Rule: "WithinBudget",
	},
	{
		Name:   "freshness takes absence for an end",
		Edits:  []Edit{{known, "\treturn view >= wanted\n", "\treturn true\n"}},
		Test:   "internal/freshness TestAViewIsBehindUntilItShowsWhatWasWritten/an absent pod is unknown in an older view",
		Rule:   "pod zone-a-0 after version 10",
		Remark: "the explorer finds no harm in it: what is absent counts as down, and intents compare versions themselves",
	},
	{
		Name:  "older look in place of a newer one",
		Edits: []Edit{{known, "return olderThan(live, former) == \"\"", "return true"}},
		Test:  "internal/freshness TestALookThatEndsLaterHidesNothingOfANewerOne", Rule: "pod zone-a-0 at version 99",
	},
	{
		Name:  "freshness ignores own deletes and touches",
		Edits: []Edit{{known, "\tk.moved[pod] = version\n", "\t_, _ = pod, version\n"}},
		Test:  explore + "a crash while the operator dies and its hold expires", Rule: "NoRepeat",
	},
	{
		Name:  "freshness ignores own adoptions",
		Edits: []Edit{{known, "\tk.written[zone] = version\n", "\t_, _ = zone, version\n"}},
		Test:  explore + "a crash while the operator dies and its hold expires", Rule: "NoRepeat",
	},
	{
		Name:  "freshness never content",
		Edits: []Edit{{known, "if (present && pod.Version == version) || !reached(", "if present || !reached("}},
		Test:  explore + "two pods at a time while the operator dies", Rule: "Progress",
	},

	// requests, which the explorer sends by itself
	{
		Name:  "UID dropped from the preconditions of a delete",
		Edits: []Edit{{writes, "Preconditions: &metav1.Preconditions{UID: &uid, ResourceVersion: &version},", "Preconditions: &metav1.Preconditions{ResourceVersion: &version},"}, {writes, "uid, version := types.UID(d.UID), d.Version.String()", "version := d.Version.String()"}},
		Test:  "internal/act TestEveryWriteNamesTheVeryObject", Rule: "uid-of-zone-a-0",
	},
	{
		Name:  "resourceVersion dropped from the preconditions of a delete",
		Edits: []Edit{{writes, "Preconditions: &metav1.Preconditions{UID: &uid, ResourceVersion: &version},", "Preconditions: &metav1.Preconditions{UID: &uid},"}, {writes, "uid, version := types.UID(d.UID), d.Version.String()", "uid := types.UID(d.UID)"}},
		Test:  "internal/act TestEveryWriteNamesTheVeryObject", Rule: "resourceVersion",
		Remark: "what comes of it in the explorer: TestEveryBentRuleIsNoticed",
	},
	{
		Name:  "resourceVersion dropped from touches and adoptions",
		Edits: []Edit{{"internal/act/patch.go", "Metadata: metadata{UID: uid, ResourceVersion: version.String()}", "Metadata: metadata{UID: uid, ResourceVersion: version.String()[:0]}"}},
		Test:  "internal/act TestEveryWriteNamesTheVeryObject", Rule: "resourceVersion",
	},
	{
		Name: "intent written after the deed",
		Edits: []Edit{
			{executor, "\tif err := e.cover(ctx, s, d); err != nil {\n", "\tdeleted := e.deletePods(ctx, s.Key, steps)\n\tif err := e.cover(ctx, s, d); err != nil {\n"},
			{executor, "\treceipts := e.deletePods(ctx, s.Key, steps)\n", "\treceipts := deleted\n"},
		},
		Test: "internal/act TestOrderOfRequests", Rule: "DELETE pods/zone-a-0",
		Remark: "what comes of it in the explorer: TestEveryBentRuleIsNoticed",
	},
	{
		Name: "replicas added before the deed",
		Edits: []Edit{
			{executor, "\tdone, err := e.covered(ctx, s, steps, d)\n", "\treceipts = append(receipts, e.write(ctx, s.Key, free)...)\n\tdone, err := e.covered(ctx, s, steps, d)\n"},
			{executor, "\treceipts = append(receipts, done...)\n\treceipts = append(receipts, e.write(ctx, s.Key, free)...)\n", "\treceipts = append(receipts, done...)\n"},
		},
		Test: "internal/act TestNoPodIsDeletedAfterReplicasWereAdded", Rule: "PATCH statefulsets/zone-b",
		Remark: "what comes of it in the walk: TestEveryBentRuleIsNoticed",
	},
	{
		Name:  "writers go on until the hold expires",
		Edits: []Edit{{cover, "record.Renewed.Add(record.Duration - Margin)", "record.Renewed.Add(record.Duration)"}},
		Test:  "internal/act TestNothingIsSentUnderAHoldThatCouldExpire", Rule: "want 0 in at most",
	},
	{
		Name:  "Lease written without its version",
		Edits: []Edit{{store, "\treturn leases.Update(ctx, encode(current, key, record, s.actor), metav1.UpdateOptions{})", "\tnext := encode(current, key, record, s.actor)\n\tnext.ResourceVersion = \"\"\n\treturn leases.Update(ctx, next, metav1.UpdateOptions{})"}},
		Test:  "internal/lease TestEveryWriteNamesTheLeaseThatItReplaces", Rule: "Conflict",
		Remark: "what comes of it in the explorer: TestEveryBentRuleIsNoticed",
	},
	{
		Name:  "Lease written over a record that nobody decided on",
		Edits: []Edit{{store, "if current == nil || string(current.UID) != record.UID || versionOf(current) != record.Version {", "if current == nil {"}},
		Test:  "internal/lease TestAWriteDoesNotOverwriteWhatTheCacheLearnedAfterTheDecision", Rule: "the other process's hold and intent were overwritten",
	},

	// downscales
	{
		Name:  "downscale ended on caches",
		Edits: []Edit{{cover, "case (changes || endsGrants(steps)) && !s.Live:", "case endsGrants(steps) && !s.Live:"}},
		Test:  explore + "a downscale beside a rollout", Rule: "DecreaseKept",
	},
	{
		Name:  "downscale ended before its last pod",
		Edits: []Edit{{shrink, "return z.surplus.None() && z.Observed", "return true || z.Observed"}},
		Test:  explore + "a downscale beside a rollout", Rule: "DecreaseKept",
	},
	{
		Name:  "downscale dropped while its update can still come",
		Edits: []Edit{{decrease, "\t\treturn Awaited\n", "\t\treturn Overtaken\n"}, blind},
		Test:  explore + "a downscale beside a rollout", Rule: "NoLostIntent",
	},
	{
		Name:  "downscale admitted whoever has the hold",
		Edits: []Edit{{admit, "\tholdIsElsewhere,                   // guarantee 1: one operation in one zone at a time\n", ""}},
		Test:  "internal/plan TestAdmit", Rule: "GroupHeld",
		Remark: "that the other zone is not whole would keep it from harm",
	},
	{
		Name:  "downscale admitted although another zone is not whole",
		Edits: []Edit{{admit, "\tifSomebodyServes(restIsNotWhole),  // guarantee 2: the rest of the group serves\n", ""}},
		Test:  "internal/plan TestAdmit", Rule: "OtherZoneNotWhole",
	},
	{
		Name:  "downscale admitted whatever has broken while pods were prepared",
		Edits: []Edit{{downscale, "if because = plan.StillAdmits(p.Observer.Cached(key), v.Note, v.Ask); !because.None() {", "if because = (plan.Refusal{}); !because.None() {"}},
		Test:  "internal/admission TestWhatChangesWhilePodsArePreparedIsAskedAboutBeforeTheYes", Rule: "a_pod_of_another_zone_breaks",
	},
	{
		Name:  "downscale of a pod that is down while another zone may shrink at any moment",
		Edits: []Edit{{admit, "shrinksElsewhere(b, d), tooSoon(b, d)", "tooSoon(b, d)"}},
		Test:  "internal/plan TestAdmit", Rule: "but_not_while_another_zone_may_shrink",
	},
	{
		Name:  "time of a downscale that an earlier one is written over",
		Edits: []Edit{{"internal/hold/hold.go", "by.After(times[former.Zone])", "true"}},
		Test:  "internal/hold TestTheLatestTimeOfADownscaleIsKept", Rule: "dated",
	},
	{
		Name:  "downscale that its former group alone judges",
		Edits: []Edit{{downscale, "case shrinks && c.Regroups():", "case false:"}},
		Test:  "internal/admission TestNoUpdateShrinksAZoneAndChangesItsGroup", Rule: "it_joins_one",
	},
	{
		Name:  "granted eviction that is known anew with each term of a leader",
		Edits: []Edit{{"internal/controller/group/controller.go", "\tc.Reporter.Forget(key)\n\tc.Told", "\tc.Reporter.Forget(key)\n\tc.Holds.Forget(key)\n\tc.Told"}},
		Test:  "internal/controller/group TestWhoeverLeadsNoMoreKnowsWhatWasSeenAndWritten", Rule: "forgotten",
	},
	{
		Name:  "zone that moves its first ordinal on",
		Edits: []Edit{{downscale, "case c.Moves():", "case false:"}},
		Test:  "internal/admission TestAZoneThatHasPodsKeepsItsFirstOrdinal", Rule: "TestAZoneThatHasPodsKeepsItsFirstOrdinal",
	},
	{
		Name:  "group of one zone in which partitions are evicted one after the other",
		Edits: []Edit{{partition, "if len(b.standings) > 1 {", "if true {"}},
		Test:  "internal/plan TestEvict", Rule: "where_there_is_no_other_zone_its_budget_counts",
	},
	{
		Name:  "pod that counts as available from its first moment on",
		Edits: []Edit{{snapshot, "return p.Up() && (minReady <= 0 || !now.Before(p.StableAt(minReady)))", "return p.Up()"}},
		Test:  walk, Rule: "OneZoneAtATime",
		Remark: "the explorer has no lengths of time",
	},
	{
		Name:  "time of the API server that is fast where this machine's clock is wrong",
		Edits: []Edit{{"internal/clock/clock.go", "least: date}", "least: date.Add(time.Second)}"}},
		Test:  "internal/clock TestAClockIsNeverAhead", Rule: "slow after",
	},
	{
		Name:  "machine's clock of another pace that is believed while it agrees in passing",
		Edits: []Edit{{"internal/clock/clock.go", "believedAfter = time.Minute", "believedAfter = 0 * time.Minute"}},
		Test:  "internal/clock TestAClockIsNeverAhead", Rule: "slow after",
	},
	{
		Name:  "minimum time between downscales one instant longer",
		Edits: []Edit{{admit, "until := last.Add(between); b.Now.Before(until)", "until := last.Add(between); !b.Now.After(until)"}},
		Test:  "internal/plan TestAdmit", Rule: "a_minimum_time_that_is_just_over_has_passed",
	},
	{
		Name: "minimum time between downscales not asked for",
		Edits: []Edit{
			{admit, "\ttooSoon,                           // guarantee 6: the minimum time between downscales\n", ""},
			{admit, "ifSomebodyServes(restIsNotWhole)(b, d), tooSoon(b, d))", "ifSomebodyServes(restIsNotWhole)(b, d))"},
		},
		Test: walk, Rule: "TooSoon",
		Remark: "only the walk's judge knows what time it is",
	},
	{
		Name:   "minimum time between downscales not asked for by pods that are down",
		Edits:  []Edit{{admit, "\ttooSoon,                           // guarantee 6", "\tifSomebodyServes(tooSoon),         // guarantee 6"}},
		Test:   "internal/plan TestAdmit",
		Rule:   "who_is_down_keeps_the_minimum_time",
		Remark: "they may come up before the update comes: a campaign has found this",
	},
	{
		Name:   "downscale that counts from the yes to it",
		Edits:  []Edit{{cover, "by := former.EffectiveBy(s.Now)", "by := former.Since"}},
		Test:   "internal/hold TestADownscaleIsDatedByWhenItCanHaveComeAtTheLatest",
		Rule:   "dated",
		Remark: "TestWalk finds it in 547 schedules",
	},
	{
		Name:  "preparation begun while another is undone",
		Edits: []Edit{{admit, "case noted.Stage == Undoing:", "case false:"}},
		Test:  "internal/plan TestAdmit", Rule: "nobody_is_prepared_while_others_are_told_that_they_stay",
	},
	{
		Name:  "seen downscale noted over the hold of another zone",
		Edits: []Edit{{shrink, "return b.notedElsewhere(zone).None() &&", "return true || b.notedElsewhere(zone).None() &&"}},
		Test:  explore + "scaling in two zones", Rule: "DecreaseAlone",
	},
	{
		Name:  "downscale taken off the hold before all pods have answered",
		Edits: []Edit{{asked, "\tcase asked.Underway || asked.Failed != \"\":\n\t\treturn nil\n", ""}},
		Test:  scenarios + "who-does-not-answer-that-he-stays-is-named-and-told-again", Rule: "end zone-b",
	},

	// scaling
	{
		Name:  "own downscale carried out although another zone is not whole",
		Edits: []Edit{{follow, "\treturn leaves, firstOf(barred(z), b.stillSafe(leaves))\n", "\treturn leaves, Refusal{}\n"}, blind},
		Test:  explore + "a downscale of our own and a crash", Rule: "RestIsWhole",
	},
	{
		Name:  "own downscale begun beside a takedown",
		Edits: []Edit{{guards, "\tdownscaleFirst,    // a downscale of lockstep's own comes before a zone begins\n", ""}},
		Test:  explore + "a downscale of our own beside a rollout", Rule: "OneZoneAtATime",
	},
	{
		Name:  "own downscale begun while the rollout of another zone goes on",
		Edits: []Edit{{follow, "\t\t\tif c.Up() && b.mayReplace(", "\t\t\tif false && b.mayReplace("}},
		Test:  scenarios + "a-rollout-that-has-the-hold-goes-on-before-a-follower-shrinks", Rule: "a-rollout-that-has-the-hold",
	},
	{
		Name:  "own downscale noted while the hold is given back",
		Edits: []Edit{{group, "if (!b.Hold.Decrease.None() && !b.ended) || begins(deeds) {", "if !b.Hold.Decrease.None() && !b.ended {"}},
		Test:  scenarios + "a-follower-shrinks-between-two-zones-of-a-rollout", Rule: "DecreaseAlone",
	},
	{
		Name:  "downscale that somebody else asked for carried out",
		Edits: []Edit{{shrink, "\tcase d.Stage == Admitted && d.Ours && b.Course(d) == Awaited:\n", "\tcase d.Stage == Admitted && b.Course(d) == Awaited:\n"}},
		Test:  scenarios + "a-downscale-that-somebody-asked-for-is-not-ours-to-make", Rule: "DecreaseNoted",
	},
	{
		Name:  "own downscale of another process carried out without a look",
		Edits: []Edit{{cover, "return !h.Own && plan.Lowers(steps)", "return false && plan.Lowers(steps)"}},
		Test:  "internal/hold TestCover", Rule: `want "look live"`,
	},
	{
		Name:  "own downscale carried out long after it was judged",
		Edits: []Edit{{follow, "\tcase late || !because.None():\n", "\tcase !because.None():\n"}},
		Test:  scenarios + "a-downscale-of-our-own-that-does-not-get-through-is-voided", Rule: "could not be made in time",
	},
	{
		Name:  "own downscale carried out although nobody wants it any more",
		Edits: []Edit{{follow, "\tcase !z.wishesFor(d):\n", "\tcase false:\n"}},
		Test:  scenarios + "a-downscale-of-our-own-that-is-not-wanted-any-more-is-voided", Rule: "void zone-b",
	},
	{
		Name:  "own downscale carried out under whatever hold there is",
		Edits: []Edit{{follow, "if b.Hold.Holder != Downscale.For(d.Zone) {", "if false {"}},
		Test:  scenarios + "a-downscale-of-our-own-under-another-hold-is-voided", Rule: "DecreaseNoted",
	},
	{
		Name:  "own downscale takes along who was not asked",
		Edits: []Edit{{follow, "if d.Stage == Admitted && d.Asked != AskedOf(leaves.ask) {", "if false {"}},
		Test:  scenarios + "who-came-up-after-the-note-is-asked-too", Rule: "PreparedFirst",
	},
	{
		Name:  "own downscale tried again at once after it failed",
		Edits: []Edit{{follow, "if StillGivenUp(at, b.Now) {", "if false {"}},
		Test:  scenarios + "a-downscale-that-failed-gives-others-a-turn", Rule: "note zone-b",
	},
	{
		Name:  "own downscale of a zone that must not shrink",
		Edits: []Edit{{follow, "if z.Barred {", "if false {"}},
		Test:  scenarios + "a-zone-that-must-not-shrink-says-so", Rule: "no-downscale binds our own",
	},
	{
		Name:  "own downscale not known to the webhook",
		Edits: []Edit{{admit, "\tif b.inOurName(d) {\n\t\treturn Verdict{}\n\t}\n", ""}},
		Test:  "internal/plan TestAdmit", Rule: "what_lockstep_has_noted_as_its_own_needs_no_second_note",
	},
	{
		Name:  "Lease that lost its label stays hidden from whoever leads",
		Edits: []Edit{{downscale, "\t\t\t\tshow(ctx, p.Holds, p.Log, key, live.Hold)\n", ""}},
		Test:  "internal/admission TestWhoeverRefusesShowsALeaseThatLostItsLabel", Rule: "written 0 times",
	},
	{
		Name:  "downscale that was only seen counts as judged",
		Edits: []Edit{{shrink, "Generation: Seen,", "Generation: max(1, z.Generation-1),"}},
		Test:  "internal/hold TestTheTimeOfADownscaleThatWasOnlySeenIsKeptThoughItIsTakenBack", Rule: "at generation 1",
	},
	{
		Name:  "own downscale known to the webhook however long ago",
		Edits: []Edit{{admit, " || !b.Now.Before(noted.Since.Add(CarryLimit)) {", " {"}},
		Test:  "internal/plan TestAdmit", Rule: "what_lockstep_has_noted_as_its_own_long_ago_is_refused",
	},
	{
		Name:  "own downscale that counts from the yes to it",
		Edits: []Edit{{decrease, "\tif d.Ours {\n\t\tby = by.Add(CarryLimit)\n\t}\n", ""}},
		Test:  "internal/hold TestADownscaleOfLockstepsOwnIsDatedFromWhenItsUpdateIsSentAtTheLatest", Rule: "dated",
	},
	{
		Name:  "own downscale known to the webhook whatever is asked for",
		Edits: []Edit{{decrease, "d.From == other.From && d.To == other.To", "d.From == other.From"}},
		Test:  "internal/plan TestAdmit", Rule: "another_decrease_than_lockstep's_own_is_refused",
	},
	{
		Name:  "careful follower grows before its leader",
		Edits: []Edit{{follow, "if because.None() && leader.Replicas == replicas {", "if leader.Replicas == replicas {"}},
		Test:  scenarios + "a-careful-follower-waits-for-its-leader", Rule: "LeaderNotReady",
	},
	{
		Name:  "follower waits a plan for its leader's raise",
		Edits: []Edit{{follow, "\treturn wish{replicas: b.height(leader), because: reason.LeaderFollowed}\n", "\treturn wish{replicas: leader.Replicas, because: reason.LeaderFollowed}\n"}},
		Test:  scenarios + "several-followers-grow-in-one-plan", Rule: "set zone-c",
	},
	{
		Name:  "forced replicas count less than the leader's",
		Edits: []Edit{{follow, "\tcase z.Forced.Given:\n\t\treturn plausible(", "\tcase z.Forced.Given && z.Leader == \"\":\n\t\treturn plausible("}},
		Test:  scenarios + "what-is-forced-comes-first", Rule: "ReplicasForced",
	},
	{
		Name:  "replicas not added when the hold cannot be written",
		Edits: []Edit{{executor, "if reports || (sizes && size.To > size.From) {", "if reports || (sizes && size.To < 0) {"}},
		Test:  "internal/act TestReplicasAreAddedThoughTheHoldCannotBeWritten", Rule: "PATCH statefulsets/zone-b",
	},
	{
		Name:  "downscale admitted although somebody declined",
		Edits: []Edit{{asked, "\tcase asked.Failed != \"\" && asked.Heard:\n", "\tcase asked.Failed != \"\" && asked.Heard && false:\n"}, {asked, "\tcase asked.Failed != \"\":\n", "\tcase false:\n"}},
		Test:  scenarios + "a-pod-that-declines-ends-the-downscale", Rule: "admitted because LeaderFollow",
	},
	{
		Name:  "who came up after the others agreed leaves unasked",
		Edits: []Edit{{follow, "if d.Stage == Admitted && d.Asked != AskedOf(leaves.ask) {", "if d.Stage == Admitted && d.Asked == \"\" && len(leaves.ask) > 0 {"}},
		Test:  scenarios + "who-came-up-after-the-others-agreed-is-asked-too", Rule: "void zone-b",
	},
	{
		Name:  "who was asked under a note that is gone stays prepared",
		Edits: []Edit{{shrink, "[]func() []Action{b.inVain, b.adoptDecrease}", "[]func() []Action{b.adoptDecrease}"}},
		Test:  "internal/plan TestWhoWasAskedInVainIsToldToStay", Rule: "under a note that is gone",
	},
	{
		Name:  "who was prepared under a note that is replaced stays prepared",
		Edits: []Edit{{downscale, "\t\treturn v.Former\n", "\t\treturn plan.Decrease{}\n"}},
		Test:  "internal/admission TestWhoWasPreparedForADownscaleThatIsReplacedIsToldToStay", Rule: "nobody_hears_of_the_next_one",
	},
	{
		Name:  "who was prepared under the note of another leader that is replaced stays prepared",
		Edits: []Edit{{"internal/hook/preparations.go", "former.Stage == plan.Undoing && !g.noted.Same(former)", "false"}},
		Test:  "internal/hook TestOnlyWhoNotedADecreaseKnowsThatNobodyHeard", Rule: "in_the_place_of_what_somebody_else_has_noted",
	},
	{
		Name:  "a withdrawn wish counts as a failure",
		Edits: []Edit{{shrink, "\td.Ours = d.Ours && z.wishesFor(d)\n", ""}, {shrink, "\tz, _ := b.standing(d.Zone)\n\treturn []Action{NoteDecrease", "\treturn []Action{NoteDecrease"}},
		Test:  "internal/plan TestWhatNobodyWishesForAnyMoreIsUndoneAndHasNotFailed", Rule: "want that the downscale is undone",
	},
	{
		Name:  "leader counts before what is mirrored",
		Edits: []Edit{{follow, "\tcase z.Mirror.Asked():", "\tcase z.Mirror.Asked() && z.Leader == \"\":"}},
		Test:  scenarios + "what-is-mirrored-comes-before-the-leader", Rule: "note zone-b",
	},
	{
		Name:  "any number of replicas is taken over",
		Edits: []Edit{{follow, "\tif w.replicas <= MaxReplicas {", "\tif w.replicas >= 0 {"}},
		Test:  scenarios + "a-number-that-cannot-be-meant-changes-nothing", Rule: "set zone-a from 1 to 2000000000",
	},
	{
		Name:  "resource told of its first zone alone",
		Edits: []Edit{{mirror, "(least < 0 || z.Replicas < least)", "least < 0"}},
		Test:  scenarios + "the-resource-is-told-the-smallest-number", Rule: "report ",
	},
	{
		Name:  "two writers of a report answer each other",
		Edits: []Edit{{mirror, "m.Scale.Reported && b.contested(m).None() {", "m.Scale.Reported {"}},
		Test:  scenarios + "two-writers-of-a-report-do-not-answer-each-other", Rule: "report 1 to",
	},
	// delayed downscales
	{
		Name:  "delayed downscale without a look at what the hold notes",
		Edits: []Edit{{delay, "\tsince, noted := b.AgreedSince(z, pod)\n", "\tsince, noted := told.Since, true\n"}, blind},
		Test:  "internal/plan TestNobodyLeavesBeforeTheDelayIsOver", Rule: "leaves after",
	},
	{
		Name:  "delayed downscale without a look at what the hold notes, seen by the check",
		Edits: []Edit{{delay, "\tsince, noted := b.AgreedSince(z, pod)\n", "\tsince, noted := told.Since, true\n"}},
		Test:  "internal/plan TestNobodyLeavesBeforeTheDelayIsOver", Rule: "DelayKept",
	},
	{
		Name:  "delayed downscale without a look at what the pod says",
		Edits: []Edit{{delay, "if told.Since.After(since) {", "if false {"}, blind},
		Test:  "internal/plan TestNobodyLeavesBeforeTheDelayIsOver", Rule: "leaves after",
	},
	{
		Name:  "delayed downscale of who was restarted since he agreed",
		Edits: []Edit{{delay, "t.Message == Leave && !t.Ready.Equal(pod.ReadySince)", "false"}, blind},
		Test:  "internal/plan TestNobodyLeavesBeforeTheDelayIsOver", Rule: "restarted",
	},
	{
		Name:  "delayed downscale of who was restarted since he agreed, seen by the check",
		Edits: []Edit{{delay, "t.Message == Leave && !t.Ready.Equal(pod.ReadySince)", "false"}},
		Test:  "internal/plan TestNobodyLeavesBeforeTheDelayIsOver", Rule: "DelayKept",
	},
	{
		Name:  "delayed downscale that is taken away, and who was prepared is forgotten",
		Edits: []Edit{{delay, "if owed := b.owed(z.Zone); !owed.None() {", "if owed := b.owed(z.Zone); false {"}},
		Test:  "internal/plan TestNobodyStaysPreparedWhenTheDelayChanges", Rule: "neither told to stay nor noted",
	},
	{
		Name:  "delayed downscale that is taken away, and nobody is told who does not answer",
		Edits: []Edit{{group, "because = firstOf(because, b.unreleased(z.Zone))", "_ = b.unreleased"}},
		Test:  "internal/plan TestScenariosGolden/who-has-not-answered-that-he-stays-is-waited-for", Rule: "that it stays",
	},
	{
		Name:  "delayed downscale that is taken away, and who was prepared hears it by another call",
		Edits: []Edit{{delay, "b.message(z, Stay, noted.Call, parts)", "b.message(z, Stay, z.Delay.Call, parts)"}},
		Test:  "internal/plan TestNobodyStaysPreparedWhenTheDelayChanges", Rule: "at last",
	},
	{
		Name:  "delayed downscale by what was agreed to by another call",
		Edits: []Edit{{stretch, "z.delays() && a.Call == z.Delay.Call", "z.delays()"}},
		Test:  scenarios + "another-call-tells-those-who-are-noted-to-stay-by-the-former-one", Rule: "who are to stay",
	},
	{
		Name:  "delayed downscale that is over and comes back",
		Edits: []Edit{{stretch, "return !a.Over && z.delays()", "return z.delays()"}},
		Test:  scenarios + "what-is-over-does-not-come-back", Rule: "that it stays",
	},
	{
		Name:  "delayed downscale that waits for a clock that was ahead by years",
		Edits: []Edit{{stretch, "known && !since.After(s.Now.Add(FarAhead))", "known"}},
		Test:  "internal/plan TestATimeThatIsFarAheadIsNotWaitedFor", Rule: "there are 2 replicas",
	},
	{
		Name:  "delayed downscale whose tail jumps over a silent pod",
		Edits: []Edit{{delay, "\t\t\tw.replicas = place + 1\n\t\t\treturn w\n", "\t\t\tw.objection = Refusal{}\n"}},
		Test:  scenarios + "the-tail-ends-at-a-pod-that-has-not-answered", Rule: "those after it leave",
	},
	{
		Name:  "delayed downscale that is withdrawn and nobody is told to stay",
		Edits: []Edit{{delay, "[]Message{Stay, Leave}", "[]Message{Leave}"}},
		Test:  scenarios + "a-wish-that-is-withdrawn-tells-all-to-stay", Rule: "tell stay",
	},
	{
		Name:  "delayed downscale that is withdrawn and remembered",
		Edits: []Edit{{delay, "z.wish.asked, z.Replicas, func", "0, z.Replicas, func"}, blind},
		Test:  "internal/plan TestNobodyLeavesBeforeTheDelayIsOver", Rule: "leaves after",
	},
	{
		Name:  "delayed downscale remembered for whoever comes next",
		Edits: []Edit{{stretch, "s.between(place, place+1).Pods == MarkOf(pod.UID)", "true"}, blind},
		Test:  "internal/plan TestNobodyLeavesBeforeTheDelayIsOver", Rule: "leaves after",
	},
	{
		Name:  "delayed downscale remembered for whoever comes next, seen by the check",
		Edits: []Edit{{stretch, "s.between(place, place+1).Pods == MarkOf(pod.UID)", "true"}},
		Test:  "internal/plan TestNobodyLeavesBeforeTheDelayIsOver", Rule: "DelayKept",
	},
	{
		Name:  "delayed downscale not known to the webhook of another replica",
		Edits: []Edit{{admit, "newBoard(s.AsNoted())\n\tz, exists := b.standing(r.Zone)", "newBoard(s)\n\tz, exists := b.standing(r.Zone)"}},
		Test:  "internal/plan TestAWebhookOfAnotherReplicaKnowsOurOwnDelayedDownscale", Rule: "answers",
	},
	{
		Name:  "pods told to stay before the hold forgets that they agreed",
		Edits: []Edit{{executor, "\tif err := e.cover(ctx, s, d); err != nil {\n", "\te.tell(ctx, s, steps)\n\tif err := e.cover(ctx, s, d); err != nil {\n"}},
		Test:  "internal/act TestPodsAreToldAfterTheHoldWasWritten", Rule: "tell stay",
	},
	{
		Name:  "who agreed noted over what nobody has read",
		Edits: []Edit{{agreed, "if !s.Hold.Exists && !s.Live {", "if false {"}},
		Test:  scenarios + "a-first-note-of-who-agreed-looks-for-what-the-predecessor-kept", Rule: "look live",
	},
	{
		Name:  "who agreed noted, and a hold from outside prolonged",
		Edits: []Edit{{agreed, "if !record.Holder.Foreign() { // others' time", "if true { // others' time"}},
		Test:  "internal/hold TestANoteOfWhoAgreedLeavesTheHoldAsItIs", Rule: "prolonged true",
	},
	{
		Name:  "who is to leave after all told to stay where a void failed",
		Edits: []Edit{{executor, "unmoved(steps, receipts)", "steps"}},
		Test:  "internal/act TestNobodyIsToldToStayWhereAVoidFailed", Rule: "tell stay",
	},
	{
		Name:  "stamp beside the next note",
		Edits: []Edit{{"internal/plan/group.go", "b.unnoted(append(after, b.stamp()...), deeds)", "append(after, b.stamp()...)"}},
		Test:  scenarios + "a-downscale-is-not-stamped-while-the-next-one-is-noted", Rule: "stamp zone-b",
	},
	{
		Name:  "time of a downscale that is over stamped no more",
		Edits: []Edit{{"internal/plan/shrink.go", "at := b.Hold.Downscaled[z.Name]\n\tif at.After(b.Now)", "at := b.Hold.Downscaled[z.Name]\n\tif true || at.After(b.Now)"}},
		Test:  scenarios + "a-time-that-could-not-be-stamped-is-stamped-afterwards", Rule: "stamp zone-b",
	},
	{
		Name:  "stamp that voids the next note",
		Edits: []Edit{{"internal/plan/shrink.go", "return time.Time{} // a write would void the note", "_ = d"}},
		Test:  scenarios + "an-earlier-downscale-is-not-stamped-while-the-next-one-is-awaited", Rule: "stamp zone-b",
	},
	{
		Name:  "raise that fails keeps an overdue downscale",
		Edits: []Edit{{follow, "&& z.Name != overdue {", "&& (z.Name != overdue || true) {"}},
		Test:  scenarios + "a-raise-that-fails-does-not-keep-an-overdue-downscale", Rule: "set zone-b from 2 to 9",
	},
	{
		Name:  "pods asked on what the caches say of the hold",
		Edits: []Edit{{cover, "(inheritsDecrease(s.Hold, steps) || asksPods(steps)) && !s.Live", "inheritsDecrease(s.Hold, steps) && !s.Live"}},
		Test:  scenarios + "who-leaves-by-our-own-downscale-is-asked", Rule: "look live",
	},
	{
		Name: "downscale and rollout of another zone at once",
		Edits: []Edit{
			{guards, "if stands := b.decreaseElsewhere(zone); !stands.None() && !b.ended {", "if stands := b.decreaseElsewhere(zone); false {"},
			{shrink, "\tif d.Zone != zone.Name || b.ended {\n", "\tif true || d.Zone != zone.Name || b.ended {\n"}, blind,
		},
		Test: explore + "a downscale beside a rollout", Rule: "NoLostIntent",
		Remark: "the hold has room for the one or the other",
	},
	{
		Name:  "preparation undone under the deadline that is over",
		Edits: []Edit{{downscale, "ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), detached)\n\tdefer stop()\n\terr := p.stage", "ctx, stop := context.WithTimeout(ctx, detached)\n\tdefer stop()\n\terr := p.stage"}},
		Test:  "internal/admission TestWhoWasAskedForTooLongIsToldToStay", Rule: "the hold notes",
	},
	{
		Name:  "webhook that writes to a namespace which opted out while it judged",
		Edits: []Edit{{"internal/admission/holds.go", "if !h.Managed(key.Namespace) {", "if false {"}},
		Test:  "internal/admission TestADownscaleWritesNothingMoreOnceItsNamespaceHasOptedOut", Rule: "written after the namespace opted out",
	},
	{
		Name:  "turn of a group that every request makes anew",
		Edits: []Edit{{"internal/admission/turns.go", "\tmine, known := t.groups[key]\n", "\tmine, known := (map[plan.Key]*turn{})[key]\n"}},
		Test:  "internal/admission TestWhoseTurnDoesNotComeInTimeIsRefusedForNow", Rule: "GroupHeld",
		Remark: "across replicas the Lease decides: see the mutants that write it",
	},

	// evictions
	{
		Name:  "eviction while somebody has the hold by hand",
		Edits: []Edit{{evict, "\tzoneHeldElsewhere, // guarantee 1: one operation in one zone at a time\n", ""}, blindToEvictions},
		Test:  explore + "an eviction beside a rollout while somebody takes the hold by hand", Rule: "HandsOff",
	},
	{
		Name:  "eviction while another zone has the hold, seen by the check",
		Edits: []Edit{{evict, "\tzoneHeldElsewhere, // guarantee 1: one operation in one zone at a time\n", ""}},
		Test:  explore + "an eviction beside a rollout while somebody takes the hold by hand", Rule: "GrantAlone",
	},
	{
		Name:  "eviction while a pod of another zone is down",
		Edits: []Edit{{evict, "\trestNotWhole,      // guarantee 2: the rest of the group serves\n", ""}, blindToEvictions},
		Test:  explore + "an eviction and a crash", Rule: "RestIsWhole",
	},
	{
		Name:  "evictions beyond the budget",
		Edits: []Edit{{evict, "\tlimitReached,      // guarantee 4: at most so many pods of a zone\n", ""}, blindToEvictions},
		Test:  explore + "an eviction beside a rollout of its zone", Rule: "WithinBudget",
	},
	{
		Name:  "eviction of whoever lockstep itself takes down",
		Edits: []Edit{{evict, "\talreadyNoted,    // it is about to leave already\n", ""}},
		Test:  explore + "an eviction beside a rollout of its zone", Rule: "NoLostIntent",
	},
	{
		Name:  "eviction of a partition that is down in another zone",
		Edits: []Edit{{evict, "\tpartitionsHeld, // rollouts and downscales exclude evictions by partitions\n\tevictionsTurn,\n\tpartitionNotWhole,\n", "\tpartitionsHeld,\n\tevictionsTurn,\n"}, blindToEvictions},
		Test:  explore + "evictions of one partition", Rule: "WithinBudget",
	},
	{
		Name:  "eviction by partitions beside a rollout",
		Edits: []Edit{{evict, "\tpartitionsHeld, // rollouts and downscales exclude evictions by partitions\n", ""}, blindToEvictions},
		Test:  explore + "an eviction by partitions beside a rollout", Rule: "NoLostIntent",
	},
	{
		Name:  "eviction of a pod that took the place of the one that was asked about",
		Edits: []Edit{{evict, "if !exists || pod.UID != r.UID {", "if !exists {"}},
		Test:  explore + "an eviction beside a rollout of its zone", Rule: "ExactGrant",
	},
	{
		Name:  "eviction of a pod that is down at whatever version",
		Edits: []Edit{{evict, "\tif e.down() {\n\t\tp.Version = pod.mayServe()\n", "\tif e.down() {\n"}},
		Test:  explore + "an eviction and a crash", Rule: "ExactGrant",
	},
	{
		Name:  "granted eviction void once its pod has another version",
		Edits: []Edit{{fate, "case pod.UID == i.UID && i.Granted():", "case false && i.Granted():"}, blind},
		Test:  explore + "an eviction beside a rollout, and a crash", Rule: "NoLostIntent",
	},
	{
		Name:  "granted eviction that ends while it can happen",
		Edits: []Edit{{fate, "i.Granted() && i.Known >= GrantLimit", "i.Granted()"}, blind, blindToEvictions},
		Test:  explore + "an eviction beside a rollout of another zone", Rule: "NoLostIntent",
	},
	{
		Name:  "granted eviction that ends while it can happen, seen by the check",
		Edits: []Edit{{fate, "i.Granted() && i.Known >= GrantLimit", "i.Granted()"}},
		Test:  explore + "an eviction beside a rollout of another zone", Rule: "GrantKept",
	},
	{
		Name: "granted eviction that ends while the API server works on it",
		Edits: []Edit{
			{fate, "const GrantLimit = 70 * time.Second", "const GrantLimit = 10 * time.Second"},
			{granted, "const longestEviction = 70 * time.Second", "const longestEviction = 10 * time.Second"},
		},
		Test: walk, Rule: "NotedFirst",
		Remark: "the explorer has no lengths of time",
	},
	{
		Name: "granted eviction that ends on caches",
		Edits: []Edit{
			{fate, "if s.Live && i.Lapsed() &&", "if i.Lapsed() &&"},
			{cover, "case (changes || endsGrants(steps)) && !s.Live:", "case changes && !s.Live:"},
		},
		Test: explore + "an eviction beside a rollout of another zone", Rule: "GrantKept",
	},
	{
		Name:  "granted eviction that never ends",
		Edits: []Edit{{group, "append(after, b.endGrants()...)", "append(after, b.endGrants()[:0]...)"}},
		Test:  explore + "an eviction beside a rollout of another zone", Rule: "Progress",
	},
	{
		Name:  "granted eviction that has lapsed keeps every takedown from its look",
		Edits: []Edit{{confirm, "return ends && a.Intent.UID == i.UID", "return false && ends && a.Intent.UID == i.UID"}},
		Test:  "internal/controller/group TestReconcile/a grant that has lapsed keeps no takedown from its look", Rule: "want after 20s",
	},
	{
		Name:  "caches not asked again after a look",
		Edits: []Edit{{confirm, "!slices.Contains(proposed, uid)", "false && !slices.Contains(proposed, uid)"}},
		Test:  "internal/plan TestCachesConfirmWhatALookHasDecided/not what would break what broke meanwhile", Rule: "got true",
	},
	{
		Name:  "rollout that joins evictions by partitions of its zone",
		Edits: []Edit{{guards, "(intent.Zone != zone || intent.Partition != \"\")", "intent.Zone != zone"}},
		Test:  scenarios + "evictions-by-partitions-keep-rollouts-of-their-own-zone-waiting", Rule: "delete zone-a-0",
	},
	{
		Name:  "granted eviction that ends beside a repair and is not taken off the hold",
		Edits: []Edit{{cover, "covered.Verdict == Carry && endsGrants(steps)", "false && endsGrants(steps)"}},
		Test:  "internal/plan TestNoStutter", Rule: "is planned again",
	},
	{
		Name:  "pod rolled whose eviction is granted",
		Edits: []Edit{{board, "|| granted && pod.Up() {", "|| false && granted {"}, blind},
		Test:  explore + "an eviction beside a rollout of its zone", Rule: "NoLostIntent",
	},
	{
		Name:  "granted eviction forgotten for the repair of its pod",
		Edits: []Edit{{cover, "stays := i.Granted() && !i.Succeeded(d.UID, d.Version)", "stays := false"}, blind},
		Test:  explore + "an eviction beside a rollout, and a crash", Rule: "NoLostIntent",
	},
	{
		Name:  "eviction that takes the hold without a look",
		Edits: []Edit{{grants, "if !s.Live && (s.Hold.Holder != holder || !s.Hold.Own) {", "if false {"}, blindToEvictions},
		Test:  explore + "an eviction and a crash", Rule: "RestIsWhole",
	},
	{
		Name:  "eviction granted on caches that are older than the last look",
		Edits: []Edit{{"internal/admission/pod_eviction.go", "if decision.Verdict == hold.Look || p.behind(cached, decision) {", "if decision.Verdict == hold.Look {"}},
		Test:  "internal/admission TestCachesThatAreOlderThanTheLastLookGrantNothing", Rule: "a third pod may go",
		Remark: "what comes of it in histories is a bent rule of the explorer: webhooks that forget",
	},
	{
		Name:  "eviction that is noted in place of others",
		Edits: []Edit{{grants, "append(slices.DeleteFunc(record.Intents, func(i plan.Intent) bool { return i.Pod == note.Pod }), note)", "[]plan.Intent{note}"}, blindToEvictions},
		Test:  explore + "evictions of two pods of one zone", Rule: "NoLostIntent",
	},
	{
		Name:  "hold of an eviction that nobody gives back",
		Edits: []Edit{{group, "if holder.Free() || holder.Foreign() || b.Hold.Unreadable", "if !b.heldBy(holder.Zone()) || b.Hold.Unreadable"}},
		Test:  explore + "an eviction and a crash", Rule: "Progress",
	},
	{
		Name:  "rollout that goes before evictions that asked first",
		Edits: []Edit{{guards, "return b.waitingBefore(b.since(Rollout, d.zone.Name), d.zone.Name)\n", "return Refusal{}\n"}},
		Test:  scenarios + "an-eviction-that-asked-first-comes-before-the-rollout", Rule: "delete zone-a-0",
	},
	{
		Name:  "rollout kept for ever by a partition that a smaller zone does not have",
		Edits: []Edit{{partition, "if t.fresh >= max(1, budget.Limit) {", "if t.total() >= max(1, budget.Limit) {"}},
		Test:  "internal/plan TestProgress", Rule: "the goal is not reached",
	},

	// the CA in webhook configurations
	{
		Name: "CA taken for injected although its patch failed",
		Edits: []Edit{{
			"internal/controller/cabundle/controller.go", "\tif err := c.send(ctx, key, patch); err != nil {\n",
			"\tfor i := range found.hooks {\n\t\tfound.hooks[i].client.CABundle = bundle\n\t}\n\tif err := c.send(ctx, key, patch); err != nil {\n",
		}},
		Test: "internal/controller/cabundle TestAPatchThatFailsIsTriedAgain", Rule: "tries in ten minutes",
	},

	// what people ask for
	{
		Name:  "pause that does not end",
		Edits: []Edit{{snapshot, "return z.Paused && (z.PausedUntil.Time.IsZero() || now.Before(z.PausedUntil.Time))", "return z.Paused"}},
		Test:  scenarios + "a-pause-that-is-over-keeps-nobody", Rule: "wait zone-a because Paused",
	},
	{
		Name:  "pause that ends before its end can be read",
		Edits: []Edit{{snapshot, "z.PausedUntil.Time.IsZero() || now", "now"}},
		Test:  scenarios + "a-pause-whose-end-cannot-be-read-lasts", Rule: "delete zone-a-0",
	},
	{
		Name:  "pause after whose end nobody looks again",
		Edits: []Edit{{guards, "Refusal{Code: reason.Paused, Until: d.zone.PausedUntil.Time}", "Refusal{Code: reason.Paused}"}},
		Test:  "internal/plan TestAPausedZoneIsLookedAtAgainWhenItsPauseIsOver", Rule: "woken at",
	},
	{
		Name:  "person who drives out a rollout",
		Edits: []Edit{{manual, "case !h.Holder.Free() && !same && !over:", "case h.Holder.Foreign() && !same && !over:"}},
		Test:  "internal/hold TestAPersonTakesAHoldOnlyWhereNobodyHasIt", Rule: "want \"GroupHeld\"",
	},
	{
		Name:  "person who holds while a pod is on its way",
		Edits: []Edit{{manual, "case len(h.Intents) > 0:", "case false:"}},
		Test:  "internal/hold TestAPersonTakesAHoldOnlyWhereNobodyHasIt", Rule: "want \"PodAboutToLeave\"",
	},
	{
		Name:  "person who gives back what lockstep holds",
		Edits: []Edit{{manual, "!h.Holder.Foreign() || (h.Holder.Operation() != Manual && !force)", "h.Holder.Operation() != Manual && !force"}},
		Test:  "internal/hold TestAPersonGivesBackWhatPeopleHold", Rule: "rollout/zone-a",
	},
}
