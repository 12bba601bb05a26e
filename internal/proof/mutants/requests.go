package mutants

// requests are mutants about writes and their preconditions. The explorer uses its own
// writes instead of these; the tests of the packages that send them detect the mistakes.
var requests = []Mutant{
	{
		Name:  "UID dropped from the preconditions of a delete",
		Edits: []Edit{{writes, "Preconditions: &metav1.Preconditions{UID: &uid, ResourceVersion: &version},", "Preconditions: &metav1.Preconditions{ResourceVersion: &version},"}, {writes, "uid, version := types.UID(d.UID), d.Version.String()", "version := d.Version.String()"}},
		Test:  "internal/act TestEveryWriteHasThePreconditionsOfItsObject", Rule: "uid-of-zone-a-0",
	},
	{
		Name:  "resourceVersion dropped from the preconditions of a delete",
		Edits: []Edit{{writes, "Preconditions: &metav1.Preconditions{UID: &uid, ResourceVersion: &version},", "Preconditions: &metav1.Preconditions{UID: &uid},"}, {writes, "uid, version := types.UID(d.UID), d.Version.String()", "uid := types.UID(d.UID)"}},
		Test:  "internal/act TestEveryWriteHasThePreconditionsOfItsObject", Rule: "resourceVersion",
		Remark: "its consequence in the explorer: TestEveryDeviationIsDetected",
	},
	{
		Name:  "resourceVersion dropped from pod updates and adoptions",
		Edits: []Edit{{"internal/act/patch.go", "Metadata: metadata{UID: uid, ResourceVersion: version.String()}", "Metadata: metadata{UID: uid, ResourceVersion: version.String()[:0]}"}},
		Test:  "internal/act TestEveryWriteHasThePreconditionsOfItsObject", Rule: "resourceVersion",
	},
	{
		Name:  "intent written after the delete",
		Edits: []Edit{{executor, "\tif err := e.writeHold(ctx, w, d); err != nil {\n", "\tdeleted := e.disrupt(ctx, w, plan.In(plan.Disrupting, steps), d)\n\tif err := e.writeHold(ctx, w, d); err != nil {\n"}, {executor, "\treceipts := e.disrupt(ctx, w, plan.In(plan.Disrupting, steps), d)\n", "\treceipts := deleted\n"}},
		Test:  "internal/act TestOrderOfRequests", Rule: "DELETE pods/zone-a-0",
		Remark: "its consequence in the explorer: TestEveryDeviationIsDetected",
	},
	{
		Name:  "replicas added before the delete",
		Edits: []Edit{{executor, "\tdone, err := e.underHold(held, w, steps, d)\n", "\treceipts = append(receipts, e.runByZone(ctx, w, plan.In(plan.WithoutHold, steps), hold.Decision{})...)\n\tdone, err := e.underHold(held, w, steps, d)\n"}, {executor, "\treceipts = append(receipts, done...)\n\treceipts = append(receipts, e.runByZone(ctx, w, plan.In(plan.WithoutHold, steps), hold.Decision{})...)\n", "\treceipts = append(receipts, done...)\n"}},
		Test:  "internal/act TestNoPodIsDeletedAfterReplicasWereAdded", Rule: "PATCH statefulsets/zone-b",
		Remark: "its consequence in the walk: TestEveryDeviationIsDetected",
	},
	{
		Name:  "writes sent until the hold expires",
		Edits: []Edit{{holdTerm, "record.Renewed.Add(record.Duration - Margin)", "record.Renewed.Add(record.Duration)"}},
		Test:  "internal/act TestNothingIsSentUnderAHoldThatCouldExpire", Rule: "want 0 in at most",
	},
	{
		Name:  "Lease written without its version",
		Edits: []Edit{{store, "\treturn leases.Update(ctx, become(current), metav1.UpdateOptions{})", "\tnext := become(current)\n\tnext.ResourceVersion = \"\"\n\treturn leases.Update(ctx, next, metav1.UpdateOptions{})"}},
		Test:  "internal/lock/lease TestEveryWriteNamesTheLeaseThatItReplaces", Rule: "Conflict",
		Remark: "its consequence in the explorer: TestEveryDeviationIsDetected",
	},
	{
		Name:  "Lease written without its intents",
		Edits: []Edit{{"internal/lock/record/record.go", "FormatIntents(r.Intents, inIntents)", "FormatIntents(nil, inIntents)"}},
		Test:  walk, Rule: "RecordedFirst",
	},
	{
		Name:  "Lease overwritten although it changed after the decision",
		Edits: []Edit{{store, "if current == nil || string(current.UID) != record.UID || versionOf(current) != record.Version {", "if current == nil {"}},
		Test:  "internal/lock/lease TestAWriteDoesNotOverwriteALeaseThatChangedAfterTheDecision", Rule: "the other process's hold and intent were overwritten",
	},
	{
		Name:  "write that client-go sends again",
		Edits: []Edit{{"internal/operator/clients.go", "\tbase.Wrap(sendWritesOnce)\n", ""}},
		Test:  "internal/operator TestWritesAreSentOnceAndReadsAgain/work", Rule: "was sent 2 times",
	},
	{
		Name:  "read that is not sent again",
		Edits: []Edit{{"internal/operator/sent_once.go", "\tif q.Method == http.MethodGet {\n", "\tif false {\n"}},
		Test:  "internal/operator TestWritesAreSentOnceAndReadsAgain/work", Rule: "GET was sent 1 times",
	},
	{
		Name:  "requests that fail slowly, first in every plan",
		Edits: []Edit{{groupsController, "c.attempts.sort(t.seen.Key, t.steps), t.decision", "t.steps, t.decision"}},
		Test:  "internal/control/groups TestRequestsThatWereSentComeAfterAllOthers", Rule: "round 2: deletes 0 1 2, want 2 0 1",
	},
	{
		Name:  "request that was not sent, taken for one that was",
		Edits: []Edit{{attempts, "isRequest(receipt.Step) && !errors.Is(receipt.Err, plan.ErrNotSent)", "isRequest(receipt.Step)"}},
		Test:  "internal/control/groups TestRequestsThatWereSentComeAfterAllOthers", Rule: "want 1 2 0",
	},
	{
		Name:  "requests forgotten by the next plan",
		Edits: []Edit{{attempts, "return now.Sub(t.at) >= attemptsKept", "return t.at.Before(now)"}},
		Test:  "internal/control/groups TestPodsThatAreInEverySecondPlanStarveNoOther", Rule: "sent",
	},
	{
		Name:  "plan whose own order is changed",
		Edits: []Edit{{attempts, "sorted := slices.Clone(steps)", "sorted := steps"}},
		Test:  "internal/control/groups TestRequestsThatWereSentComeAfterAllOthers", Rule: "the report",
	},
	{
		Name:  "zone whose deletions were left out, without the reason of the last failure",
		Edits: []Edit{{"internal/control/groups/failures.go", "\t\t\t\t\tfailed[zone] = failing.RefusalOf(err)\n", "\t\t\t\t\t_ = failing.RefusalOf\n"}},
		Test:  "internal/control/groups TestAZoneThatWasLeftOutKeepsTheReasonOfItsLastFailure", Rule: "round 1",
	},
	{
		Name:  "cancellations that take the time of deletes",
		Edits: []Edit{{executor, "context.WithTimeout(held, longestBeforeLease)", "context.WithTimeout(held, longestUnderHold)"}},
		Test:  "internal/act TestManyWithdrawalsAreSentAFewAtATime", Rule: "not sent",
	},
	{
		Name:  "write that net/http sends again and again",
		Edits: []Edit{{"internal/operator/sent_once.go", "\t\tif repeated {\n", "\t\tif false && repeated {\n"}},
		Test:  "internal/operator TestNetHTTPCanRepeatAWriteAtOnceOnly", Rule: "can be repeated 3 times, want 1",
	},
	{
		Name:  "zone whose deletions were left out, without a reason",
		Edits: []Edit{{"internal/control/groups/failures.go", "\t\t\t\tfailed[zone] = notSent\n", ""}},
		Test:  "internal/control/groups TestOnlyZonesWithFailedStepsAreStalled", Rule: "not sent yet",
	},
	{
		Name:  "zones written one after the other",
		Edits: []Edit{{executor, "parallel.Each(len(zones), atATime, func", "parallel.Each(len(zones), 1, func"}},
		Test:  "internal/act TestZonesAreWrittenConcurrently", Rule: "want all after 6 s",
	},
	{
		Name:  "delete that begins after its plan was confirmed too long ago",
		Edits: []Edit{{executor, "time.Since(began) < beginWithin && mayBegin(steps[i], d)", "time.Since(began) < beginWithin"}},
		Test:  "internal/act TestNoDeleteBeginsOnceItsPlanWasConfirmedTooLongAgo", Rule: "want those of the 20 deletes",
	},
	{
		Name:  "plan that counts as confirmed from the end of the read",
		Edits: []Edit{{groupsController, "\tcase !same:\n\t\treturn before, errUnconfirmed\n\t}\n\treturn before, nil", "\tcase !same:\n\t\treturn before, errUnconfirmed\n\t}\n\treturn time.Now().Add(hold.ConfirmedFor), nil"}},
		Test:  "internal/control/groups TestAPlanIsConfirmedByItsAssumptions", Rule: "confirmed until",
	},
	{
		Name:  "plan that is made again on caches and needs a live read",
		Edits: []Edit{{groupsController, "\tif again.decision.Need == hold.ReadLive {\n\t\treturn t, errUnconfirmed\n\t}\n", ""}},
		Test:  "internal/control/groups TestReconcile/another process took the hold during the read of the StatefulSets", Rule: "release rollout/zone-a",
	},
	{
		Name:  "deletion recorded after a grant of the same pod that takes precedence",
		Edits: []Edit{{"internal/plan/group/group_state.go", "\treturn other.Granted()\n", "\treturn false\n"}},
		Test:  scenarios + "eviction-grant-takes-precedence-over-later-deletion-of-same-pod", Rule: "recorded after it",
	},
	{
		Name:  "turn of a zone after whose name a person held the group",
		Edits: []Edit{{"internal/plan/group/queue.go", "holder.down > recorded && !b.Hold.Holder.Foreign()", "holder.down > recorded"}},
		Test:  "internal/plan/group TestAPodThatIsRolledBeforeOthersIsRecordedAsSuch/a person held the group by that name", Rule: "zone-a-1:true",
	},
	{
		Name:  "only deletes sent once",
		Edits: []Edit{{"internal/operator/sent_once.go", "if q.Method == http.MethodGet {", "if q.Method != http.MethodDelete {"}},
		Test:  "internal/operator TestWritesAreSentOnceAndReadsAgain/work", Rule: "was sent 2 times",
	},
	{
		Name:  "Event dropped because the API server could not keep up",
		Edits: []Edit{{"internal/operator/events.go", "fmt.Errorf(\"write Event: %w\", err) // client-go", "errors.Join(nil, err).(interface{ Unwrap() []error }).Unwrap()[0] // client-go"}, {"internal/operator/events.go", "\t\"fmt\"\n", ""}},
		Test:  "internal/operator TestOutcomesOfEventsAreCounted/one is tried again if the API server cannot keep up", Rule: "does not try again",
	},
}
