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
		Edits: []Edit{{executor, "\tif err := e.writeHold(ctx, w, d); err != nil {\n", "\tdeleted := e.disrupt(ctx, w, plan.In(plan.Disrupting, steps))\n\tif err := e.writeHold(ctx, w, d); err != nil {\n"}, {executor, "\treceipts := e.disrupt(ctx, w, whileConfirmed(d, plan.In(plan.Disrupting, steps)))\n", "\treceipts := deleted\n"}},
		Test:  "internal/act TestOrderOfRequests", Rule: "DELETE pods/zone-a-0",
		Remark: "its consequence in the explorer: TestEveryDeviationIsDetected",
	},
	{
		Name:  "replicas added before the delete",
		Edits: []Edit{{executor, "\tdone, err := e.underHold(held, w, steps, d)\n", "\treceipts = append(receipts, e.runSequentially(ctx, w, plan.In(plan.WithoutHold, steps))...)\n\tdone, err := e.underHold(held, w, steps, d)\n"}, {executor, "\treceipts = append(receipts, done...)\n\treceipts = append(receipts, e.runSequentially(ctx, w, plan.In(plan.WithoutHold, steps))...)\n", "\treceipts = append(receipts, done...)\n"}},
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
}
