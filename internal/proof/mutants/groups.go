package mutants

// groups are mutants about the group that a StatefulSet belongs to.
var groups = []Mutant{
	{
		Name:  "group annotation without precedence over the label",
		Edits: []Edit{{groupRule, "groupName.MatchString(name) {\n\t\treturn name, true", "false && groupName.MatchString(name) {\n\t\treturn name, true"}},
		Test:  "internal/contract TestTheAnnotationCountsForTheGroupAndThenTheLabel/both", Rule: `want "loki", true`,
	},
	{
		Name:  "invalid group annotation that removes a zone from its group",
		Edits: []Edit{{groupRule, "if name := annotations[RolloutGroupAnnotation]; groupName.MatchString(name) {", "if name, present := annotations[RolloutGroupAnnotation]; present {"}},
		Test:  "internal/contract TestTheAnnotationCountsForTheGroupAndThenTheLabel/an annotation with a space", Rule: `want "ingester", true`,
	},
	{
		Name:  "ignored StatefulSet that keeps its group",
		Edits: []Edit{{groupRule, "\tif Ignored(annotations) {\n\t\treturn \"\", false\n\t}\n", ""}},
		Test:  "internal/cluster/observe TestAnAnnotationTakesAZoneOutOfItsGroup/it is ignored", Rule: "show former zones: []",
	},
	{
		Name:  "ignored StatefulSet whose pods are prepared",
		Edits: []Edit{{"internal/contract/call.go", `labels[PrepareDownscaleLabel] == "true" && !Ignored(annotations)`, `labels[PrepareDownscaleLabel] == "true"`}},
		Test:  "internal/cluster/observe TestPodsBelongToTheGroupOfTheirStatefulSet/it is ignored, although its pods are to be prepared", Rule: "the StatefulSet:",
	},
	{
		Name:  "ignored StatefulSet whose pods a budget covers",
		Edits: []Edit{{"internal/cluster/observe/lookup.go", "if set.zone.Ignored {", "if false {"}},
		Test:  "internal/cluster/observe TestPodsBelongToTheGroupOfTheirStatefulSet/it is ignored, although a budget selects its pods", Rule: "Held:true",
	},
	{
		Name:  "ignored StatefulSet that counts for a budget",
		Edits: []Edit{{"internal/cluster/observe/covered.go", "return r.zone.Ignored || !orphaned", "return !orphaned"}},
		Test:  "internal/cluster/observe TestABudgetDoesNotCountIgnoredStatefulSets", Rule: "the caches show",
	},
	{
		Name:  "budget not enqueued when a StatefulSet becomes ignored",
		Edits: []Edit{{"internal/cluster/observe/events.go", " || was.zone.Ignored != is.zone.Ignored", ""}},
		Test:  "internal/cluster/observe TestABudgetDoesNotCountIgnoredStatefulSets", Rule: "after one was ignored",
	},
	{
		Name:  "live read by labels alone",
		Edits: []Edit{{liveRead, "if r.annotated() {", "if false {"}},
		Test:  "internal/cluster/observe TestAGroupHasTheStatefulSetsThatItsAnnotationPutsThere", Rule: "the API server show",
	},
	{
		Name:  "live read without annotated zones that only the hold remembers",
		Edits: []Edit{{liveRead, "\tfor _, m := range members {\n\t\tnames[m.Zone] = true\n\t}\n", ""}},
		Test:  "internal/cluster/observe TestALiveReadFindsAnAnnotatedZoneThatTheHoldRemembers", Rule: "a StatefulSet joined it",
	},
	{
		Name:  "live read in which a StatefulSet that was created again has no pods",
		Edits: []Edit{{liveRead, "if seen.showsLater(&z, s.ZonesAt) {", "if false {"}},
		Test:  "internal/cluster/observe TestALiveReadIsRepeatedIfAStatefulSetIsCreatedAgain", Rule: "want the new StatefulSet with its pod",
	},
	{
		Name:  "live read repeated for a pod of another zone that has changed",
		Edits: []Edit{{liveRead, "return parent == z.Name && p.Version > listed", "return parent != \"\" && p.Version > listed"}},
		Test:  "internal/cluster/observe TestALiveReadIsNotRepeatedForPodsOfAnotherZone", Rule: "was created again",
	},
	{
		Name:  "live read that counts an orphan for a zone of another name that selects it",
		Edits: []Edit{{observeOrphans, "parent == z.Name && adopts(z, p)", "parent != \"\" && adopts(z, p)"}},
		Test:  "internal/cluster/observe TestAnOrphanIsAPodOnlyOfTheZoneOfItsName", Rule: "zone-b has 1 pods",
	},
	{
		Name:  "deletion of a newer version of lockstep cancelled",
		Edits: []Edit{{group, "\tif b.Hold.HeldByNewerVersion(b.Now) {\n\t\treturn nil\n\t}\n\tvar cancelled", "\tvar cancelled"}},
		Test:  "internal/plan/group TestScenariosGolden/hold-of-newer-version-keeps-its-pending-intents", Rule: "cancel",
	},
	{
		Name:  "record that times out while the caches confirm its plan",
		Edits: []Edit{{confirm, "\tview.Now = live.Now\n", ""}},
		Test:  "internal/plan/group TestCachesConfirmAPlanByItsTime", Rule: "do not confirm",
	},
	{
		Name:  "pod that is up and counts as away for long",
		Edits: []Edit{{evict, "\t\tif pod, present := b.Pod(intent.Pod); present && pod.Up() {\n\t\t\tcontinue\n\t\t}\n\t\tif before", "\t\tif before"}},
		Test:  "internal/plan/group TestEvict/a pod that is up waits for nothing, however old its record is", Rule: "QueuedBehindOtherZone",
	},
	{
		Name:  "plan carried out on caches that are behind a live read made meanwhile",
		Edits: []Edit{{groupsController, "missing != \"\" || !seen.SameDesiredState(&t.seen)", "false && missing != \"\" || !seen.SameDesiredState(&t.seen)"}},
		Test:  "internal/control/groups TestAPlanIsNotCarriedOutOnCachesThatAreBehindALaterLiveRead", Rule: "want one live read",
	},
	{
		Name:  "live read that is repeated for pods of the former StatefulSet",
		Edits: []Edit{{liveRead, "return parent == z.Name && p.Version > listed", "_ = listed\n\t\t\treturn parent == z.Name"}},
		Test:  "internal/cluster/observe TestALiveReadIsNotRepeatedForPodsOfTheFormerStatefulSet", Rule: "was created again",
	},
	{
		Name:  "live read that keeps a labelled zone whose annotation names another group",
		Edits: []Edit{{"internal/cluster/observe/covered.go", "return grouped && group == key.Name", "return grouped || group == key.Name"}},
		Test:  "internal/cluster/observe TestAnAnnotationTakesAZoneOutOfItsGroup/it is in another group", Rule: "the API server show",
	},
	{
		Name: "downscale that changes the group by annotation as well",
		Edits: []Edit{
			{"internal/serve/admission/regroup.go", "contract.Group(c.New.Labels, c.New.Annotations)", "contract.Group(c.New.Labels, c.Old.Annotations)"},
		},
		Test: "internal/serve/admission TestDownscaleThatChangesTheGroupOfItsZoneIsRefused/it is ignored", Rule: "want 403 GroupChanged",
	},
}
