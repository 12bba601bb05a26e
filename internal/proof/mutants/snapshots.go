package mutants

// seen is a test that compares every snapshot of some walks with the objects that the API
// server had stored.
const seen = "internal/proof/sim/walk TestSnapshotsMatchStoredObjects"

// snapshots are mutants of internal/cluster/observe, which derives snapshots from caches
// and live reads.
var snapshots = []Mutant{
	{
		Name:  "live read that shows no former zone",
		Edits: []Edit{{liveRead, "\tif err := o.liveLeft(ctx, &s); err != nil {\n\t\treturn group.Snapshot{}, err\n\t}\n", ""}},
		Test:  seen, Rule: "0 zones that left are shown, want",
	},
	{
		Name:  "live read that does not list orphans",
		Edits: []Edit{{observeLeft, "is && r.parent() == z.Name", "is && r.parent() == z.Name && z.Exists"}},
		Test:  seen, Rule: "zone that left (-stored +seen)",
	},
	{
		Name:  "caches that do not show orphans",
		Edits: []Edit{{observeLeft, "\t\ttake(&z, p.record)", "\t\tif !p.record.orphaned() {\n\t\t\ttake(&z, p.record)\n\t\t}"}},
		Test:  seen, Rule: "zones that left, from caches (-stored +seen)",
	},
	{
		Name:  "list of pods that counts as new as the one of StatefulSets",
		Edits: []Edit{{liveRead, "seen.of[z.UID]...), seen.at", "seen.of[z.UID]...), s.ZonesAt"}},
		Test:  seen, Rule: "version of the oldest list of pods (-stored +seen)",
	},
	{
		Name:  "pods from caches that count as new as StatefulSets",
		Edits: []Edit{{cachedView, "PodsAt:  seen(o.pods),", "PodsAt:  seen(o.zones),"}},
		Test:  seen, Rule: "zones from caches (-stored +seen)",
	},
	{
		Name:  "StatefulSets that are not listed again after a pod was found to be deleted",
		Edits: []Edit{{liveRead, "confirmed, err := o.stillUnwanted(ctx, &s)", "confirmed, err := true, error(nil)"}},
		Test:  "internal/cluster/observe TestALiveReadIsRepeatedIfAStatefulSetWantsADeletedPodAgain", Rule: "want 2 and open",
	},
	{
		Name:  "pods of a former zone without the version of their list",
		Edits: []Edit{{observeLeft, "at = versionOf(page)", "at = 0"}},
		Test:  "internal/cluster/observe TestALiveReadHasTheVersionOfThePodsOfAFormerZone", Rule: "want pods of version 100",
	},
	{
		Name: "pod of a group that counts as unguarded",
		Edits: []Edit{
			{"internal/cluster/observe/lookup.go", "true, set.key()\n\t\t\tcontinue\n", "false, set.key()\n\t\t\tcontinue\n"},
			{"internal/cluster/observe/lookup.go", "len(sets) > 0 && !pod.Held", "false"},
		},
		Test: walk, Rule: "Guarded",
	},
	{
		Name:  "orphan that waits for a StatefulSet outside of its group to adopt it",
		Edits: []Edit{{"internal/cluster/observe/lookup.go", "\tif exists && set.grouped {", "\tif exists {"}},
		Test:  "internal/cluster/observe TestPodsOfAFormerZoneAreEvictedUnderItsGroup/orphaned, and its StatefulSet is back outside of the group", Rule: "Unplaced:true",
	},
}
