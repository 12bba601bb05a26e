package mutants

const (
	recordMembers  = "internal/lock/record/members.go"
	recordIntents  = "internal/lock/record/intents.go"
	observeLeft    = "internal/cluster/observe/former_zones.go"
	observeOrphans = "internal/cluster/observe/orphans.go"
	covered        = "internal/cluster/observe/covered.go"
	claims         = "internal/lock/lease/claims.go"
	lookup         = "internal/cluster/observe/lookup.go"
	podEviction    = "internal/serve/admission/pod_eviction.go"
	awaited        = "internal/serve/admission/former_group.go"

	remembersLive  = "internal/lock/lease TestWhichHoldsRememberAZone/"
	budgetAlone    = "internal/serve/admission TestPodWithOnlyACachedBudgetIsJudgedByTheAPIServer/"
	unclaimed      = "internal/serve/admission TestPodWithoutACachedHoldIsJudgedByTheAPIServer/"
	deletedPods    = "internal/plan/group TestRecordedPodsThatAreDeletedAndUnwanted/"
	coveredOrphans = "internal/cluster/observe TestOrphansWithoutAGroupAreEvictedUnderTheBudgetThatCoversThem/"
	livePods       = "internal/cluster/observe TestWhichPodsALiveReadCountsForAFormerZone/"
)

// away are mutants about zones that left their group, and about the members that the hold
// remembers.
var away = []Mutant{
	{
		Name:  "zone recorded although its StatefulSet is being deleted",
		Edits: []Edit{{formerZone, " && !z.Deleting", ""}},
		Test:  scenarios + "hold-does-not-record-zone-that-is-being-deleted", Rule: "remember zone-b",
	},
	{
		Name:  "zone recorded again and again although the hold has no room for it",
		Edits: []Edit{{formerZone, "len(step.Joined) < MostMembers", "len(step.Joined) < MostMembers || true"}},
		Test:  "internal/plan/group TestAZoneForWhichTheHoldHasNoRoomIsNotRecorded", Rule: `the plan is "remember zone-more"`,
	},
	{
		Name:  "zone recorded in a hold of a newer version",
		Edits: []Edit{{formerZone, `if b.Hold.Unreadable != "" || b.Hold.HeldByNewerVersion(b.Now) {`, `if b.Hold.Unreadable != "" {`}},
		Test:  scenarios + "hold-of-newer-version-records-no-joining-zone", Rule: "remember zone-b",
	},
	{
		Name:  "zone recorded although only a budget covers it",
		Edits: []Edit{{formerZone, "if b.Key.Rolled() && room", "if room"}},
		Test:  "internal/plan/group TestOnlyTheHoldOfARolloutGroupRecordsZonesThatJoin/the StatefulSets that a budget covers", Rule: `got "remember zone-b", want ""`,
	},
	{
		Name:  "zone that the holds of a group and of a budget remember",
		Edits: []Edit{{formerZone, "\t\tcase z.Elsewhere:\n", ""}},
		Test:  "internal/plan/group TestTheHoldOfABudgetDoesNotRememberZonesOfAGroup", Rule: `Zone: "zone-a"`,
	},
	{
		Name:  "StatefulSet that was created again and is not recorded",
		Edits: []Edit{{formerZone, "return m.Zone == z.Name && m.UID == z.UID })", "return m.Zone == z.Name })"}},
		Test:  "internal/plan/group TestAStatefulSetThatWasCreatedAgainIsRecorded", Rule: `got "", want "remember zone-a"`,
	},
	{
		Name:  "zone that joined and is forgotten during a repair in another zone",
		Edits: []Edit{{holdDecision, "decision.Need == Carry && records &&", "decision.Need == Carry && false &&"}},
		Test:  "internal/lock/hold TestCover/a zone that joined is remembered together with a repair that needs no cover", Rule: `got "as it is", want "write downscale/zone-b"`,
	},
	{
		Name:  "zones to record that cause no write",
		Edits: []Edit{{holdDecision, "\tcase records:", "\tcase false:"}},
		Test:  scenarios + "joining-zone-is-recorded-in-the-hold", Rule: "hold: as it is",
	},
	{
		Name:  "Lease that is removed although it remembers orphans",
		Edits: []Edit{{workload, "len(s.Zones) == 0 && len(s.FormerZones) == 0", "len(s.Zones) == 0"}},
		Test:  "internal/lock/hold TestCover/a Lease that remembers orphans is not removed", Rule: `got "remove"`,
	},
	{
		Name:  "more remembered zones accepted than are ever written",
		Edits: []Edit{{recordMembers, "if len(doc.Zones) > group.MostMembers {", "if false {"}},
		Test:  "internal/lock/record TestRememberedZonesThatAreNotUnderstoodAreRefused/more zones than are written", Rule: "at most 100 are remembered",
	},
	{
		Name:  "unknown fields of an annotation accepted",
		Edits: []Edit{{recordIntents, "\tdecoder.DisallowUnknownFields()\n", ""}},
		Test:  "internal/lock/record TestRememberedZonesThatAreNotUnderstoodAreRefused/an unknown field of a zone", Rule: `error <nil>, want an error that says "unknown field \"selector\""`,
	},
	{
		Name:  "text after the JSON value of an annotation ignored",
		Edits: []Edit{{recordIntents, "json.Unmarshal([]byte(text), &of)", "json.NewDecoder(strings.NewReader(text)).Decode(&of)"}},
		Test:  "internal/lock/record TestRememberedZonesThatAreNotUnderstoodAreRefused/two texts", Rule: "error <nil>",
	},
	{
		Name:  "pod that counts as deleted although it exists",
		Edits: []Edit{{"internal/plan/group/intent_status.go", "present || s.PodsAt < i.Version {", "false && present || s.PodsAt < i.Version {"}},
		Test:  deletedPods + "it exists", Rule: "deleted and unwanted: true",
	},
	{
		Name:  "pod that counts as deleted however old the view is",
		Edits: []Edit{{"internal/plan/group/intent_status.go", "present || s.PodsAt < i.Version {", "present {"}},
		Test:  deletedPods + "the view is older than the record", Rule: "deleted and unwanted: true",
	},
	{
		Name:  "pod that counts as unwanted although its zone wants it",
		Edits: []Edit{{"internal/plan/group/intent_status.go", "\t\treturn !zone.Wants(i.Pod)\n", "\t\treturn zone.Name == i.Zone\n"}},
		Test:  deletedPods + "its zone requests it", Rule: "deleted and unwanted: true",
	},
	{
		Name:  "pod of an unknown zone that counts as wanted",
		Edits: []Edit{{"internal/plan/group/intent_status.go", "return left == nil || !left.wants(i.Pod)", "return left != nil && !left.wants(i.Pod)"}},
		Test:  deletedPods + "its zone is unknown", Rule: "deleted and unwanted: false",
	},
	{
		Name:  "pod that counts as unwanted although a StatefulSet outside of the group wants it",
		Edits: []Edit{{formerZone, "\tif z.Exists {\n\t\treturn z.Wants(pod)\n\t}\n", ""}},
		Test:  deletedPods + "its StatefulSet outside of the group requests it", Rule: "deleted and unwanted: true",
	},
	{
		Name:  "pod that counts as wanted because its StatefulSet outside of the group has other pods",
		Edits: []Edit{{formerZone, "\tif z.Exists {\n\t\treturn z.Wants(pod)\n\t}\n", ""}},
		Test:  deletedPods + "its StatefulSet outside of the group has fewer", Rule: "deleted and unwanted: false",
	},
	{
		Name:  "pod that counts as unwanted although its deleted StatefulSet still has other pods",
		Edits: []Edit{{formerZone, "\treturn len(z.Pods) > 0\n", "\treturn false\n"}},
		Test:  deletedPods + "its StatefulSet was deleted without its other pods", Rule: "deleted and unwanted: true",
	},
	{
		Name:  "pod that counts as wanted although all pods of its deleted StatefulSet are gone",
		Edits: []Edit{{formerZone, "\treturn len(z.Pods) > 0\n", "\treturn true\n"}},
		Test:  scenarios + "intent-ends-when-zone-of-deleted-statefulset-has-no-pods", Rule: "GroupHeld",
	},
	{
		Name:  "orphan whose adoption is awaited although its StatefulSet is outside of the group",
		Edits: []Edit{{lookup, "exists && set.grouped {", "exists && set != nil {"}},
		Test:  "internal/cluster/observe TestAnOrphanOfAStatefulSetOutsideOfItsGroupIsEvictedUnderThatGroup", Rule: "Unplaced:true",
	},
	{
		Name:  "events of StatefulSets outside of the group that reach no group",
		Edits: []Edit{{"internal/cluster/observe/events.go", "range o.holds.Remembering(r.namespace, r.zone.Name) {", "range o.holds.Remembering(r.namespace, \"\") {"}},
		Test:  "internal/cluster/observe TestAGroupIsEnqueuedForAStatefulSetRemovedFromIt/it changes", Rule: "enqueued []",
	},
	{
		Name:  "StatefulSet that counts as a former zone because a budget covered it",
		Edits: []Edit{{lookup, "return slices.DeleteFunc(claims, func(c lease.Claim) bool { return !c.Key.Rolled() }), err", "return claims, err"}},
		Test:  "internal/cluster/observe TestAStatefulSetRemovedFromItsGroupIsRemembered", Rule: "zone-a: got",
	},
	{
		Name:  "pods of a StatefulSet outside of the group listed by a label that they may lack",
		Edits: []Edit{{observeLeft, "\tif z.Exists {\n\t\treturn z.Selector\n\t}\n", ""}},
		Test:  livePods + "the StatefulSet is outside: its pods", Rule: "pods []",
	},
	{
		Name:  "pods that count as orphans because their recreated StatefulSet was deleted",
		Edits: []Edit{{observeLeft, "z.Orphaned || r.orphaned()", "true"}},
		Test:  livePods + "the StatefulSet was deleted: pods of a second one", Rule: "orphaned true",
	},
	{
		Name:  "orphans hidden by a pod that has a StatefulSet",
		Edits: []Edit{{observeLeft, "z.Orphaned = z.Orphaned || r", "z.Orphaned = r"}},
		Test:  livePods + "the StatefulSet was deleted: some of its pods are orphans", Rule: "orphaned false",
	},
	{
		Name:  "pods of a second StatefulSet that count for the one outside of the group",
		Edits: []Edit{{observeOrphans, "return r.controller() == z.UID ||", "return !r.orphaned() ||"}},
		Test:  livePods + "the StatefulSet is outside: pods of another are not", Rule: `pods ["zone-a-0"]`,
	},
	{
		Name:  "orphans that do not count for the StatefulSet outside of the group that adopts them",
		Edits: []Edit{{observeOrphans, "|| r.orphaned() && adopts(z, r.pod)", ""}},
		Test:  livePods + "the StatefulSet is outside: orphans that it adopts", Rule: `pods []`,
	},
	{
		Name:  "orphans that do not count for their StatefulSet before it adopts them, in caches",
		Edits: []Edit{{"internal/cluster/observe/snapshot.go", "inPlace(own), inPlace(orphans)", "inPlace(slices.DeleteFunc(own, (*podRecord).orphaned)), inPlace(orphans)"}},
		Test:  "internal/cluster/observe TestPodsThatTheirStatefulSetHasNotAdoptedCountAsItsOwn", Rule: "caches show",
	},
	{
		Name:  "orphans that do not count for their StatefulSet before it adopts them, in live reads",
		Edits: []Edit{{liveRead, "append(ownOrphans(&z, seen.orphans), seen.of[z.UID]...)", "append(ownOrphans(&z, nil), seen.of[z.UID]...)"}},
		Test:  "internal/cluster/observe TestPodsThatTheirStatefulSetHasNotAdoptedCountAsItsOwn", Rule: "the API server show",
	},
	{
		Name:  "pod of another origin that has the name of a zone's pod",
		Edits: []Edit{{observeLeft, " || !z.Exists && !r.named()", ""}},
		Test:  livePods + "the StatefulSet was deleted: no pods without the label of their name", Rule: `pods ["zone-a-0"]`,
	},
	{
		Name:  "pods of any StatefulSet that count for a former zone",
		Edits: []Edit{{observeLeft, "is && r.parent() == z.Name", "is"}},
		Test:  livePods + "the StatefulSet was deleted: no pods of another one", Rule: `pods ["zone-b-0"]`,
	},
	{
		Name:  "pods of a former StatefulSet that do not count once the remembered StatefulSet is deleted",
		Edits: []Edit{{observeLeft, "!z.Exists && !r.named()", "!z.Exists && (!r.named() || !r.orphaned() && r.controller() != z.UID)"}},
		Test:  "internal/cluster/observe TestCachesAndLiveReadsCountTheSamePodsOfAFormerZone/deleted: pods of a former StatefulSet count", Rule: `want ["zone-a-0" "zone-a-1"]`,
	},
	{
		Name:  "group not enqueued when a controller of another kind adopts its orphan",
		Edits: []Edit{{"internal/cluster/observe/events.go", "return ours != stays || was", "return ours != stays && false || was"}},
		Test:  "internal/cluster/observe TestAGroupIsEnqueuedForAnOrphanThatAnotherControllerAdopts", Rule: "want the group",
	},
	{
		Name:  "orphan that a budget covers and that is evicted under no hold",
		Edits: []Edit{{lookup, "\t\tpod.Key, pod.Held = o.firstCovering(namespace, r.pod)\n", ""}},
		Test:  coveredOrphans + "the budget covers the new StatefulSet", Rule: "want it under team/budget/store: true",
	},
	{
		Name:  "orphan of a StatefulSet that lockstep ignores, evicted under a budget",
		Edits: []Edit{{lookup, "else if !exists || !set.zone.Ignored {", "else {"}},
		Test:  coveredOrphans + "lockstep ignores the new StatefulSet", Rule: "want it under team/budget/store: false",
	},
	{
		Name:  "zone of covered orphans missing from the cached snapshot of the budget",
		Edits: []Edit{{covered, "!orphaned[r.zone.Name] && ", "(orphaned == nil || true) && "}},
		Test:  coveredOrphans + "the budget covers neither the new StatefulSet nor its template", Rule: "caches: the zone of the orphan is missing",
	},
	{
		Name:  "zone of covered orphans missing from a live read of the budget",
		Edits: []Edit{{covered, " || o.orphanedZones(key)[set.Name]", ""}},
		Test:  coveredOrphans + "the budget covers neither the new StatefulSet nor its template", Rule: "the API server: the zone of the orphan is missing",
	},
	{
		Name:  "covered orphans without a StatefulSet missing from all snapshots",
		Edits: []Edit{{observeLeft, "return append(absent, o.unremembered(s)...)", "return absent"}},
		Test:  coveredOrphans + "there is no StatefulSet", Rule: "the zone of the orphan is missing",
	},
	{
		Name:  "orphan of an ignored StatefulSet that its budget no longer guards",
		Edits: []Edit{{observeLeft, "slices.Concat(z.Pods, z.Orphans)", "z.Pods"}},
		Test:  "internal/cluster/observe TestABudgetGuardsAZoneThatItsLeaseRemembersWhileItSelectsAPodOfIt/it selects an orphan next to an ignored StatefulSet", Rule: "want zone-a, uncovered: false",
	},
	{
		Name:  "zone of covered orphans that a live read shows although they are deleted",
		Edits: []Edit{{observeLeft, "if m.UID != \"\" || len(z.Pods) > 0 {", "if len(z.Pods) >= 0 {"}},
		Test:  "internal/cluster/observe TestALiveReadDoesNotShowAZoneOfDeletedOrphans", Rule: "it shows 1 former zones",
	},
	{
		Name:  "zone of uncovered orphans in the snapshot of a budget",
		Edits: []Edit{{covered, "if covers(budget, r.pod) {", "if covers(budget, r.pod) || true {"}},
		Test:  "internal/cluster/observe TestABudgetHasNoZoneOfOrphansThatItDoesNotCover", Rule: "show 1 zones",
	},
	{
		Name:  "pods of a former zone sorted by name instead of ordinal",
		Edits: []Edit{{observeLeft, "\tslices.SortFunc(z.Pods, func(a, b plan.Pod) int { return inOrder(a.Ordinal, b.Ordinal, a.Name, b.Name) })\n", ""}},
		Test:  livePods + "the StatefulSet was deleted: pods by their ordinals", Rule: `pods ["zone-a-10" "zone-a-2"]`,
	},
	{
		Name:  "unreadable hold that remembers nothing",
		Edits: []Edit{{claims, "remembers := err != nil || slices", "remembers := false && err != nil || slices"}},
		Test:  remembersLive + "the zones that a group remembers cannot be read", Rule: "got []",
	},
	{
		Name:  "Lease of another program that remembers a zone",
		Edits: []Edit{{claims, "remembers && (owned || hold.IsLeaseName(lease.Name))", "remembers"}},
		Test:  remembersLive + "a Lease that is no hold claims to remember it", Rule: `got ["kube-scheduler, which cannot be read"], <nil>, want []`,
	},
	{
		Name:  "hold without its label that remembers nothing",
		Edits: []Edit{{claims, "metav1.ListOptions{}", "metav1.ListOptions{LabelSelector: \"lockstep.dev/hold\"}"}},
		Test:  remembersLive + "its group remembers it", Rule: "got []",
	},
	{
		Name:  "holds that cannot be listed remember nothing",
		Edits: []Edit{{claims, "return nil, fmt.Errorf(\"list Leases of %s: %w\", namespace, err)", "_ = fmt.Errorf(\"list Leases of %s: %w\", namespace, err)\n\t\treturn nil, nil"}},
		Test:  "internal/lock/lease TestHoldsThatCannotBeListedAreAnError", Rule: "no error",
	},
	{
		Name:  "Lease that does not name its group and remembers nothing",
		Edits: []Edit{{claims, "(owned || hold.IsLeaseName(lease.Name))", "owned"}},
		Test:  remembersLive + "a hold does not name its group", Rule: "got []",
	},
	{
		Name:  "Lease that does not name its group and counts as the Lease of a budget",
		Edits: []Edit{{claims, "\tif !owned {\n", "\tif false {\n"}},
		Test:  "internal/cluster/observe TestALeaseWithoutItsGroupMayBelongToAnyGroup", Rule: "want the Lease lockstep-budget-store",
	},
	{
		Name:  "label of a Lease not restored when the eviction of an orphan is refused",
		Edits: []Edit{{podEviction, "\t\t\trelabel(ctx, p.Holds, p.Log, c.Key)\n", ""}},
		Test:  "internal/serve/admission TestRefusedOrphanRestoresTheLabelOfItsLease/it lost its label", Rule: "put back on the Leases of []",
	},
	{
		Name:  "label of a Lease restored in a dry run",
		Edits: []Edit{{podEviction, "c.Owned() && !e.DryRun {", "c.Owned() {"}},
		Test:  "internal/serve/admission TestRefusedOrphanRestoresTheLabelOfItsLease/the request is a dry run", Rule: "want []",
	},
	{
		Name:  "label of a Lease restored in a namespace that has opted out",
		Edits: []Edit{{"internal/serve/admission/holds.go", "case !h.Managed(key.Namespace):", "case false:"}},
		Test:  "internal/serve/admission TestRefusedOrphanRestoresTheLabelOfItsLease/its namespace has opted out", Rule: "want []",
	},
	{
		Name: "label of a Lease restored in a namespace that opts out while the Lease is read",
		Edits: []Edit{
			{"internal/serve/admission/holds.go", "\trecord, err := h.Store.Read(ctx, key)\n", "\tmanaged := h.Managed(key.Namespace)\n\trecord, err := h.Store.Read(ctx, key)\n"},
			{"internal/serve/admission/holds.go", "case !h.Managed(key.Namespace):", "case !managed:"},
		},
		Test: "internal/serve/admission TestLabelIsRestoredOnlyIfItIsMissingAndItsNamespaceIsStillManaged/the namespace opts out during the live read", Rule: "written 1 times, want 0",
	},
	{
		Name:  "refusal that blames the caches for an unreadable Lease",
		Edits: []Edit{{podEviction, "return !c.Unreadable })", "return true })"}},
		Test:  unclaimed + "the caches show the pod/no hold that remembers it can be read", Rule: "want 403 HoldUnreadable",
	},
	{
		Name:  "pod without a hold evicted on caches alone",
		Edits: []Edit{{podEviction, "\tcase pod.Unclaimed:\n\t\treturn p.judgeUnclaimed(ctx, e)\n\t}\n", "\tcase pod.Unclaimed:\n\t\treturn Allow(reason.NotManaged)\n\t}\n"}},
		Test:  unclaimed + "the caches show the pod/a hold remembers its StatefulSet", Rule: "want 429 CacheStale",
	},
	{
		Name:  "uncached pod evicted without reading the holds",
		Edits: []Edit{{podEviction, "\tcase pod.Unclaimed:\n\t\treturn p.judgeUnclaimed(ctx, e)\n\tcase pod.OutsideStatefulSets():\n", "\tcase pod.Unclaimed, pod.OutsideStatefulSets():\n"}},
		Test:  unclaimed + "only the API server shows it/a hold remembers its StatefulSet", Rule: "want 429 CacheStale",
	},
	{
		Name:  "pod that is evicted although a hold remembers its StatefulSet",
		Edits: []Edit{{podEviction, "\tcase len(claims) == 0:\n", "\tcase len(claims) >= 0:\n"}},
		Test:  unclaimed + "the caches show the pod/a hold remembers its StatefulSet", Rule: "want 429 CacheStale",
	},
	{
		Name:  "pod that is evicted although holds cannot be read",
		Edits: []Edit{{podEviction, "\tcase err != nil:\n\t\treturn new(p.unknown(e, \"the API server did not show the holds of groups\", err))\n", "\tcase false && err != nil:\n"}},
		Test:  unclaimed + "the caches show the pod/the API server does not show any hold", Rule: "want 429 ParentUnknown",
	},
	{
		Name:  "pod that only a budget covers evicted on caches alone",
		Edits: []Edit{{podEviction, "\tif key.Kind != plan.KindBudget {", "\tif key.Kind == plan.KindBudget {"}},
		Test:  budgetAlone + "zone-a-0/a group remembers its StatefulSet", Rule: "want 429 CacheStale",
	},
	{
		Name:  "pod that is down and that only a budget covers evicted on caches alone",
		Edits: []Edit{{podEviction, "p.refusalOfRememberingGroup(ctx, key, e); refusal != nil", "p.refusalOfRememberingGroup(ctx, key, e); refusal != nil && permit.NeedsRecord()"}},
		Test:  budgetAlone + "zone-a-1/a group remembers its StatefulSet", Rule: "want 429 CacheStale",
	},
	{
		Name:  "pod of a StatefulSet without a hold that requires no read of the holds",
		Edits: []Edit{{lookup, "pod.Unclaimed = len(sets) > 0 && !pod.Held", "pod.Unclaimed = false"}},
		Test:  "internal/cluster/observe TestAPodIsFoundByNameWithTheGroupOfItsStatefulSet", Rule: "alone-0: known true (-want +got)",
	},
	{
		Name:  "pod of an ignored StatefulSet without a hold that requires no read of the holds",
		Edits: []Edit{{lookup, "len(sets) > 0 && !pod.Held", "len(sets) > 0 && !pod.Held && !sets[0].zone.Ignored"}},
		Test:  "internal/cluster/observe TestPodsBelongToTheGroupOfTheirStatefulSet/it is ignored, although a budget selects its pods", Rule: "Unclaimed:false",
	},
	{
		Name:  "orphan without a hold that requires no read of the holds",
		Edits: []Edit{{lookup, "\tpod.Unclaimed = !pod.Held\n", ""}},
		Test:  "internal/cluster/observe TestAHoldThatCannotBeReadMayRememberAnyZone", Rule: "Unclaimed:false",
	},
	{
		Name:  "refusal that blames a former zone for an unreadable hold",
		Edits: []Edit{{evict, "case b.Hold.Unreadable != \"\":", "case false:"}},
		Test:  "internal/plan/group TestEvict/no eviction is allowed in a zone that left while the hold cannot be read", Rule: "got  ZoneLeftGroup",
	},
	{
		Name:  "eviction in a former zone although its budget forbids it",
		Edits: []Edit{{evict, "case !pod.Up() && (z.Ignored || e.down()):", "case !pod.Up():"}},
		Test:  "internal/plan/group TestEvict/an unready pod of a zone that left the group stays if its budget allows no eviction", Rule: "want EvictionsNotAllowed",
	},
	{
		Name:  "eviction in a former zone refused by a budget that does not apply",
		Edits: []Edit{{evict, "case !pod.Up() && (z.Ignored || e.down()):", "case !pod.Up() && e.down():"}},
		Test:  "internal/plan/group TestEvict/no budget applies to a pod of an ignored StatefulSet", Rule: "want yes, at version 10",
	},
	{
		Name:  "intent of a newer version that is ended",
		Edits: []Edit{{"internal/plan/group/grant.go", `b.Hold.Unreadable != "" || b.Hold.HeldByNewerVersion(b.Now) {`, `b.Hold.Unreadable != "" {`}},
		Test:  scenarios + "hold-of-newer-version-keeps-its-lapsed-intents", Rule: "end intent of zone-b-0",
	},
	{
		Name:  "unbound grant that does not apply to the pod that replaced the recorded pod",
		Edits: []Edit{{evict, "\tcase e.intent.Unbound:\n", ""}},
		Test:  "internal/plan/group TestEvict/an unbound grant also applies to the pod that replaced the recorded pod", Rule: "want EvictionInProgress",
	},
	{
		Name:  "joining zone remembered in place of a remembered zone",
		Edits: []Edit{{formerZone, "append(members, joined...)", "append(joined, members...)"}},
		Test:  "internal/plan/group TestARememberedZoneIsNotReplacedByAZoneThatJoins", Rule: "instead of a remembered zone",
	},
	{
		Name:  "former zone that may scale down at any time",
		Edits: []Edit{{prepareDownscale, "inGroup := set.Held && set.Key.Rolled(); !inGroup {", "inGroup := set.Held && set.Key.Rolled(); false && !inGroup {"}},
		Test:  "internal/serve/admission TestFormerZoneScalesDownOnlyWhileItIsAvailable/one of its pods is down", Rule: "want ZoneLeftGroup",
	},
	{
		Name:  "former zone that prepares its pods and may scale down at any time",
		Edits: []Edit{{prepareDownscale, "inGroup := set.Held && set.Key.Rolled();", "inGroup := set.Held;"}},
		Test:  "internal/serve/admission TestFormerPreparedZoneScalesDownOnlyWhileItIsAvailable", Rule: "want a refusal",
	},
	{
		Name:  "former zone that may scale down while one of its pods is down",
		Edits: []Edit{{awaited, "because := group.Away(live, c.Name); !because.None() {", "because := group.Away(live, c.Name); false {"}},
		Test:  "internal/serve/admission TestFormerZoneScalesDownOnlyWhileItIsAvailable/one of its pods is down", Rule: "want ZoneLeftGroup",
	},
	{
		Name:  "former zone that may never scale down",
		Edits: []Edit{{awaited, "live, err := p.Observer.Live(ctx, claim.Key)", "live, err := p.Observer.Cached(claim.Key), error(nil)"}},
		Test:  "internal/serve/admission TestFormerZoneScalesDownOnlyWhileItIsAvailable/all of its pods are available", Rule: "want NotManaged",
	},
	{
		Name:  "former zone that may scale down while its group cannot be read",
		Edits: []Edit{{awaited, "live, err := p.Observer.Live(ctx, claim.Key)\n\t\tif err != nil {", "live, err := p.Observer.Live(ctx, claim.Key)\n\t\tif false {"}},
		Test:  "internal/serve/admission TestFormerZoneKeepsItsReplicasWhileItsGroupCannotBeRead", Rule: "want 429 ParentUnknown",
	},
	{
		Name:  "zone that may scale down although the holds of groups cannot be read",
		Edits: []Edit{{awaited, "c.Namespace, c.Name)\n\tif err != nil {", "c.Namespace, c.Name)\n\tif false {"}},
		Test:  "internal/serve/admission TestStatefulSetKeepsItsReplicasWhileHoldsCannotBeRead", Rule: "want 429 ParentUnknown",
	},
	{
		Name:  "former zone that may scale down although a Lease does not name its group",
		Edits: []Edit{{awaited, "if !claim.Owned() {", "if false {"}},
		Test:  "internal/serve/admission TestStatefulSetKeepsItsReplicasWhileALeaseNamesNoGroup", Rule: "want a refusal that names the Lease",
	},
	{
		Name:  "former zone that may scale down although the zones in the Lease cannot be read",
		Edits: []Edit{{formerZone, "\tif s.Hold.Unreadable != \"\" {\n\t\treturn plan.Refusal{Code: reason.HoldUnreadable}\n\t}\n\tb := newGroupState(s)", "\tb := newGroupState(s)"}},
		Test:  "internal/serve/admission TestFormerZoneScalesDownOnlyWhileItIsAvailable/the zones that the Lease remembers cannot be read", Rule: "want HoldUnreadable",
	},
	{
		Name:  "former zone that scales down without preparing its pods",
		Edits: []Edit{{prepareDownscale, "\t\tif refusal := p.refusalOfFormerGroup(ctx, c); refusal != nil {\n\t\t\treturn *refusal\n\t\t}\n", "\t\tif refusal := p.refusalOfFormerGroup(ctx, c); refusal != nil {\n\t\t\treturn *refusal\n\t\t}\n\t\treturn Allow(reason.NotManaged)\n"}},
		Test:  "internal/serve/admission TestFormerZoneIsPreparedBeforeItScalesDown", Rule: "want a refusal",
	},
	{
		Name:  "former zone that counts as available although a pod beyond its replicas exists",
		Edits: []Edit{{formerZone, "return b.zoneStateOf(&z.Zone).available()", "return b.zoneStateOf(&z.Zone).down == 0"}},
		Test:  "internal/plan/group TestAZoneThatLeftBlocksOthersUntilItIsAvailable/it has a pod beyond its replicas", Rule: `got "no objection"`,
	},
	{
		Name:  "former zone that must keep its replicas because another zone left",
		Edits: []Edit{{formerZone, "\t\tif z.Name == zone {\n\t\t\treturn b.leftGroup(z)", "\t\tif zone != \"\" {\n\t\t\treturn b.leftGroup(z)"}},
		Test:  "internal/plan/group TestAZoneThatLeftBlocksOthersUntilItIsAvailable/all of its pods are available, although another zone left", Rule: `want "no objection"`,
	},
}
