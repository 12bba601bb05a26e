package mutants

// orphans are mutants about pods that no StatefulSet adopts, about Leases without their
// label, and about the records in the Lease of a budget.
var orphans = []Mutant{
	{
		Name:  "label of a Lease not restored while its group is idle",
		Edits: []Edit{{holdDecision, "if d.Need == Carry && s.Live && s.Hold.Unlabelled {", "if d.Need == Carry && s.Live && s.Hold.Unlabelled && false {"}},
		Test:  "internal/lock/hold TestCover/a Lease that lost its label gets it back at rest", Rule: `got "as it is", want "label"`,
	},
	{
		Name:  "label that is not written",
		Edits: []Edit{{actHold, "return e.Holds.Label(ctx, key, w.Record())", "return nil"}},
		Test:  "internal/act TestALabelIsAWriteOfTheLease", Rule: "PUT leases/lockstep-group-store",
	},
	{
		Name:  "Lease without its label that counts as labelled",
		Edits: []Edit{{store, "r.Unlabelled = lease.Labels[contract.HoldLabel] != contract.HoldLabelOf(key.Kind)", "r.Unlabelled = false"}},
		Test:  "internal/lock/lease TestALeaseGetsItsLabelBackAndStaysAsItIs", Rule: "want a record without its label that cannot be read",
	},
	{
		Name:  "Lease without its label that counts as deleted once the cache is past it",
		Edits: []Edit{{store, "case !exists && s.watched(known.lease) && followed", "case !exists && followed"}},
		Test:  "internal/lock/lease TestALeaseWithoutItsLabelIsNotDeletedOnceTheCacheIsPastIt", Rule: "the Lease does not get its label back",
	},
	{
		Name:  "deleted budget that still guards the zones in its Lease",
		Edits: []Edit{{observeLeft, "\tcase !exists:\n\t\treturn true\n", "\tcase !exists:\n\t\treturn false\n"}},
		Test:  "internal/cluster/observe TestABudgetGuardsAZoneThatItsLeaseRemembersWhileItSelectsAPodOfIt/the budget was deleted", Rule: "want zone-a, uncovered: true",
	},
	{
		Name:  "unreadable budgets that count as deleted",
		Edits: []Edit{{observeLeft, "if key.Kind != plan.KindBudget || !o.BudgetsKnown() {", "if key.Kind != plan.KindBudget {"}},
		Test:  "internal/cluster/observe TestABudgetGuardsAZoneThatItsLeaseRemembersWhileItSelectsAPodOfIt/budgets cannot be read", Rule: "want zone-a, uncovered: false",
	},
	{
		Name:  "zone of a former budget forgotten although its pod has an intent",
		Edits: []Edit{{formerZone, "return b.leftover(&z.Zone).None()", "return true"}},
		Test:  scenarios + "intent-of-uncovered-pod-stays-until-replacement-is-available", Rule: "forget zone-a",
	},
	{
		Name:  "orphan in the way counted twice against the budget",
		Edits: []Edit{{planOrphans, "z.down -= b.standIns(z.Zone, 0)", "z.down -= 0"}},
		Test:  "internal/plan/group TestEvict/an orphan with the name of a missing pod is evicted", Rule: "want yes, recorded zone-a-0",
	},
	{
		Name:  "orphans in the way that are all evicted at once",
		Edits: []Edit{{planOrphans, "z.Owns(pod.Ordinal) && !recorded\n", "z.Owns(pod.Ordinal) && (recorded || !recorded)\n"}},
		Test:  "internal/plan/group TestEvict/orphans are evicted one after the other", Rule: "got  yes, recorded zone-a-0",
	},
	{
		Name:  "orphan in the way that waits for the orphans of a former zone",
		Edits: []Edit{{planOrphans, "return z.Exists && b.servedByOrphans(b.zoneStateOf(&z.Zone))", "return false"}},
		Test:  "internal/plan/group TestEvict/an orphan in the way is evicted while orphans are ready in a zone that left the group", Rule: "want yes, recorded zone-a-0",
	},
	{
		Name:  "orphan in the way that waits for no former zone",
		Edits: []Edit{{planOrphans, "return z.Exists && b.servedByOrphans(b.zoneStateOf(&z.Zone))", "return z.Exists"}},
		Test:  "internal/plan/group TestEvict/an orphan in the way stays while an orphan of a zone that left the group is not ready", Rule: "got  yes, recorded zone-a-0",
	},
	{
		Name:  "pod evicted while orphans serve in a former zone",
		Edits: []Edit{{formerZone, "if !inTheWay || !b.leftToOrphans(z) {", "if !b.leftToOrphans(z) {"}},
		Test:  "internal/plan/group TestEvict/a pod stays while orphans are ready in a zone that left the group", Rule: "got  yes, recorded zone-a-0",
	},
	{
		Name:  "eviction granted on caches while a former zone is remembered",
		Edits: []Edit{{holdEvict, " || s.Shared) {", ") {"}},
		Test:  "internal/lock/hold TestAnEvictionIsGrantedByALiveReadWhileAZoneThatLeftIsRemembered", Rule: "got 2, want 1",
	},
	{
		Name:  "orphan in the way evicted before an orphan with a lower ordinal",
		Edits: []Edit{{evict, "\tlowerOrphanFirst, // another pod can come in its place\n", ""}},
		Test:  "internal/plan/group TestOrphansInTheWayAreEvictedInOrder/a higher orphan stays while a lower one exists", Rule: "got  yes, recorded zone-a-1",
	},
	{
		Name:  "orphan that waits for a lower orphan whose eviction is granted",
		Edits: []Edit{{planOrphans, "|| recorded || pod.Phase == plan.Terminating", "|| recorded && false || pod.Phase == plan.Terminating"}},
		Test:  "internal/plan/group TestOrphansInTheWayAreEvictedInOrder/a budget of two pods allows an orphan while a lower one is recorded", Rule: "want yes, recorded zone-a-1",
	},
	{
		Name:  "refusal of an orphan that names the orphan itself",
		Edits: []Edit{{planOrphans, "if z.culprit.Code == reason.PodMissing {", "if false {"}},
		Test:  "internal/plan/group TestOrphansInTheWayAreEvictedInOrder/the refusal of the lowest orphan names the other missing pod", Rule: "want PodMissing zone-a-1",
	},
	{
		Name:  "orphan in the way that is down counted twice against the budget",
		Edits: []Edit{{evict, "e.hasIntent || e.inTheWay() && !pod.Up()", "e.hasIntent"}},
		Test:  "internal/plan/group TestOrphansInTheWayAreEvictedInOrder/an orphan that is not ready is evicted if the budget has to be healthy, since the pod of its name is missing already", Rule: "want yes, at version 10",
	},
	{
		Name:  "orphan in the way of a former zone not named in the refusal",
		Edits: []Edit{{formerZone, "z.whereabouts()+z.cannotCreate(because.Pod)", "z.whereabouts()"}},
		Test:  "internal/plan/group TestAZoneThatLeftBlocksOthersUntilItIsAvailable/orphans have the names of its pods", Rule: "because an orphan has its name",
	},
	{
		Name:  "orphans of two zones that wait for each other",
		Edits: []Edit{{guards, "!z.available() && !(d.inTheWay && b.servedByOrphans(z))", "!z.available() && !(false && b.servedByOrphans(z))"}},
		Test:  "internal/plan/group TestEvict/an orphan in the way is evicted while orphans have the names of all missing pods of another zone", Rule: "want yes, recorded zone-a-0",
	},
	{
		Name:  "orphan evicted while an orphan of another zone is down",
		Edits: []Edit{{planOrphans, "return z.down == b.standIns(z.Zone, z.MinReady) &&", "return b.standIns(z.Zone, z.MinReady) <= z.down &&"}},
		Test:  "internal/plan/group TestEvict/an orphan in the way stays while an orphan of another zone is not ready", Rule: "got  yes, recorded zone-a-0",
	},
	{
		Name:  "orphans of one partition that wait for each other",
		Edits: []Edit{{"internal/plan/group/partition.go", "down -= b.standInsOfPartition(e)", "down -= 0"}},
		Test:  "internal/plan/group TestEvict/in a partition, an orphan in the way is evicted while an orphan has the name of the missing pod of another zone", Rule: "want yes, recorded zone-a-0",
	},
	{
		Name:  "pod evicted while orphans serve in another zone",
		Edits: []Edit{{guards, "!z.available() && !(d.inTheWay && b.servedByOrphans(z))", "!z.available() && !b.servedByOrphans(z)"}},
		Test:  "internal/plan/group TestEvict/a pod of another zone stays while orphans have the names of missing pods", Rule: "got  yes, recorded zone-a-0",
	},
	{
		Name:  "young orphan that counts as down before its eviction",
		Edits: []Edit{{evict, "e.alreadyDown = e.hasIntent || e.inTheWay() && !pod.Up()", "e.alreadyDown = b.isDown(z, pod)"}},
		Test:  "internal/plan/group TestEvict/no orphan is evicted while another pod is not ready, however young the orphan is", Rule: "got  yes, recorded zone-a-0",
	},
	{
		Name:  "orphan whose adoption is awaited although no StatefulSet adopts it",
		Edits: []Edit{{"internal/cluster/observe/lookup.go", "if pod.Unplaced = adopts(&set.zone, r.pod); !pod.Unplaced {", "if pod.Unplaced = true; !pod.Unplaced {"}},
		Test:  "internal/cluster/observe TestOrphansThatAStatefulSetDoesNotAdoptBelongToItsGroup/it selects other pods", Rule: "the orphan is",
	},
	{
		Name:  "orphan that is about to be adopted shown apart from the pods of its zone",
		Edits: []Edit{{"internal/cluster/observe/orphans.go", "case has(z, r):", "case r.controller() == z.UID:"}},
		Test:  "internal/cluster/observe TestOrphansThatAStatefulSetDoesNotAdoptBelongToItsGroup/it selects them and adopts them", Rule: "caches show as orphans",
	},
	{
		Name:  "hold of a deleted budget that a live read finds for its former pods",
		Edits: []Edit{{"internal/cluster/observe/lookup.go", "return o.noLongerGuards(c.Key, set) }), err", "return false }), err"}},
		Test:  "internal/cluster/observe TestABudgetGuardsAZoneThatItsLeaseRemembersWhileItSelectsAPodOfIt/the budget was deleted", Rule: "want any: false",
	},
	{
		Name:  "orphan counted twice because its StatefulSet now selects it",
		Edits: []Edit{{observeOrphans, "func(p plan.Pod) bool { return adopts(z, p) }", "func(p plan.Pod) bool { return adopts(z, p) && false }"}},
		Test:  "internal/cluster/observe TestOrphansThatOnlyTheCachesShowAreNotInALiveRead", Rule: "the read shows 1 orphans",
	},
	{
		Name:  "orphan in a live read that another zone selects",
		Edits: []Edit{{observeOrphans, "parent == z.Name && adopts(z, p) {", "parent == z.Name {"}},
		Test:  "internal/cluster/observe TestAnOrphanThatAnotherZoneSelectsIsNoPodOfTheZoneOfItsName", Rule: "zone-a has 1 pods",
	},
	{
		Name:  "budget that no longer guards an ignored StatefulSet of its own",
		Edits: []Edit{{observeLeft, "concernOf(set.labels, set.podLabels)", "concernOf(set.labels, set.labels)"}},
		Test:  "internal/cluster/observe TestABudgetGuardsAZoneThatItsLeaseRemembersWhileItSelectsAPodOfIt/it selects the template of an ignored StatefulSet", Rule: "want zone-a, uncovered: false",
	},
	{
		Name:  "zone that joined its group and is placed under its former budget",
		Edits: []Edit{{store, "cmp.Compare(rank(a), rank(b))", "cmp.Compare(rank(b), rank(a))"}},
		Test:  "internal/lock/lease TestTheGroupThatRemembersAZoneComesBeforeABudget", Rule: "want the group before the budget",
	},
	{
		Name:  "live read confirmed without annotated zones",
		Edits: []Edit{{liveRead, "o.liveSets(ctx, s.Key, s.Hold.Members)", "o.liveSets(ctx, s.Key, nil)"}},
		Test:  "internal/cluster/observe TestALiveReadConfirmsAnAnnotatedZoneThatTheHoldRemembers", Rule: "zone-a has 1 replicas",
	},
	{
		Name:  "zone recorded in an unreadable hold",
		Edits: []Edit{{holdDecision, "&& records && s.Hold.Unreadable == \"\" {", "&& records {"}},
		Test:  "internal/lock/hold TestAnUnreadableRecordIsNotOverwritten", Rule: "verdict 2 for \"delete zone-a-0",
	},
	{
		Name:  "zone forgotten without a live read",
		Edits: []Edit{{"internal/plan/group/record_members.go", "Read: plan.IfNew, Records: true}\n\tif len(a.Gone) > 0 {", "Read: plan.IfNew, Records: true}\n\tif len(a.Gone) > 100 {"}},
		Test:  scenarios + "hold-drops-deleted-zone-only-after-live-read", Rule: "hold: write free",
	},
}
