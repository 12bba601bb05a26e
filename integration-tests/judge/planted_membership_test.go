package judge

import "time"

// podsOfFirstZone are the pods of zone-1, the zone that is removed from its group.
var podsOfFirstZone = []string{"zone-1-0", "zone-1-1"}

// orphan deletes the StatefulSet of zone-1 and keeps its pods.
func (h *history) orphan() *history {
	return h.setOwner("").zone("zone-1", func(z *Zone) { z.Deleted = true })
}

// recreate creates the StatefulSet of zone-1 again, which adopts the existing pods.
func (h *history) recreate() *history {
	const uid = "zone-1@anew"
	return h.zone("zone-1", func(z *Zone) { z.UID, z.Deleted = uid, false }).setOwner(uid)
}

// recreateSelecting creates the StatefulSet of zone-1 again, which has not adopted the existing pods yet. It selects
// the pods of an app; the existing pods belong to "store".
func (h *history) recreateSelecting(app string) *history {
	for _, pod := range podsOfFirstZone {
		h.pod(pod, func(p *Pod) { p.Labels = map[string]string{"app": "store"} })
	}
	return h.zone("zone-1", func(z *Zone) {
		z.UID, z.Deleted, z.Selector = "zone-1@anew", false, "app="+app
	})
}

// setOwner sets the owner of the existing pods of zone-1; empty: none.
func (h *history) setOwner(uid string) *history {
	for _, pod := range podsOfFirstZone {
		if !h.pods[pod].Deleted {
			h.pod(pod, func(p *Pod) { p.Owner = uid })
		}
	}
	return h
}

// stampDownscale writes the time of a downscale to the annotation of a StatefulSet.
func stampDownscale(z *Zone) { z.LastDownscale = historyStart.Truncate(time.Second) }

// setGroup moves zone-1 to another group; empty: removes the label.
func (h *history) setGroup(group string) *history {
	return h.zone("zone-1", func(z *Zone) { z.Group, z.Grouped = group, group != "" })
}

// newPartialRollout returns a history in which a rollout has deleted a pod of zone-1.
func newPartialRollout() *history {
	return newHistory().holdForRollout("zone-1", "zone-1-0").delete("zone-1-0").remove("zone-1-0")
}

// startSecondRollout starts the rollout of zone-2.
func (h *history) startSecondRollout() *history {
	return h.holdForRollout("zone-2", "zone-2-0").delete("zone-2-0")
}

// delayedFor delays the caches of one resource by ten seconds.
func delayedFor(resource string) Rules {
	w := delayedBy(10 * time.Second)
	w.Resource = resource
	return Rules{EvictionWebhook: true, StaleCaches: []Window{w}}
}

const (
	zoneDownViolation     = "1 zone-2-0 of zone zone-2 was deleted while zone-1-0 of zone zone-1 was down"
	orphanedZoneViolation = "2 zone-2-0 of zone zone-2 was deleted while zone zone-1 had no StatefulSet"
)

// plantedMembership are histories in which a zone is removed from its group or returns to
// it.
var plantedMembership = map[string]plantedCase{
	"1: a pod is deleted while an orphaned zone has a pod down": {
		history: newPartialRollout().orphan().startSecondRollout(),
		want:    []string{zoneDownViolation},
	},
	"1: a pod is deleted long after a zone was orphaned with a pod down": {
		history: newPartialRollout().orphan().after(3 * time.Second).startSecondRollout(),
		want:    []string{zoneDownViolation, orphanedZoneViolation},
	},
	"2: a pod is deleted while an orphaned zone is ready": {
		history: newHistory().orphan().after(3 * time.Second).startSecondRollout(),
		want:    []string{orphanedZoneViolation},
	},
	"a pod is deleted just as a zone is orphaned": {
		history: newHistory().orphan().startSecondRollout(),
	},
	"2: a pod is deleted while the last pod of a deleted StatefulSet exists": {
		history: newHistory().orphan().deleteByOther("zone-1-0").remove("zone-1-0").deleteByOther("zone-1-1").after(3 * time.Second).startSecondRollout(),
		want:    []string{"2 zone-2-0 of zone zone-2 was deleted while zone-1-0", "2 zone-2-0 of zone zone-2 was deleted while zone-1-1", orphanedZoneViolation},
	},
	"a pod is deleted when the last pod of a deleted StatefulSet is deleted": {
		history: newHistory().orphan().deleteByOther("zone-1-0").remove("zone-1-0").deleteByOther("zone-1-1").remove("zone-1-1").startSecondRollout(),
	},
	"a pod is deleted when the pods of a StatefulSet were deleted with it": {
		history: newHistory().zone("zone-1", func(z *Zone) { z.Deleted = true }).deleteByOther("zone-1-0").remove("zone-1-0").deleteByOther("zone-1-1").remove("zone-1-1").startSecondRollout(),
	},
	"1: a pod is deleted when a zone was created again, before its pod is replaced": {
		history: newPartialRollout().orphan().recreate().startSecondRollout(),
		want:    []string{zoneDownViolation},
	},
	"2: a pod is deleted when a zone was created again, whose pod broke long before": {
		history: newHistory().deleteByOther("zone-1-1").remove("zone-1-1").after(3 * time.Second).orphan().recreate().startSecondRollout(),
		want:    []string{"2 zone-2-0 of zone zone-2 was deleted while zone-1-1 of zone zone-1 was down"},
	},
	"a pod is deleted when a zone that was created again is available": {
		history: newHistory().orphan().after(3 * time.Second).recreate().startSecondRollout(),
	},
	"a pod is deleted before a zone that was created again adopts its pods": {
		history: newHistory().orphan().recreateSelecting("store").after(3 * time.Second).startSecondRollout(),
	},
	"2: a pod is deleted while a zone that was created again does not select its former pods": {
		history: newHistory().orphan().recreateSelecting("other").after(3 * time.Second).startSecondRollout(),
		want: []string{
			"2 zone-2-0 of zone zone-2 was deleted while zone-1-0 of zone zone-1 was down",
			"2 zone-2-0 of zone zone-2 was deleted while zone-1-1 of zone zone-1 was down",
		},
	},
	"2: a pod is deleted while a pod that a zone will adopt is down": {
		history: newHistory().orphan().recreateSelecting("store").pod("zone-1-1", func(p *Pod) { p.Ready = false }).
			after(3 * time.Second).startSecondRollout(),
		want: []string{"2 zone-2-0 of zone zone-2 was deleted while zone-1-1 of zone zone-1 was down"},
	},
	"4: a second pod is deleted when its zone was created again": {
		history: newPartialRollout().orphan().recreate().holdForRollout("zone-1", "zone-1-1").delete("zone-1-1"),
		want:    []string{"4 zone-1-1 was deleted, so 2 pods of its zone were down, 1 allowed"},
	},
	"6: a zone is scaled down too shortly after one that was created again since": {
		history: newHistory().zone("zone-1", setMinBetweenDownscales).intendDownscale("zone-1").scaleTo("zone-1", 1).deleteByOther("zone-1-1").remove("zone-1-1").
			orphan().recreate().after(30*time.Second).intendDownscale("zone-2").scaleTo("zone-2", 1),
		rules: downscaleWebhook,
		want:  []string{"6 zone-2 was scaled down"},
	},
	"a zone is scaled down shortly after one that was in no group then": {
		history: newHistory().zone("zone-1", setMinBetweenDownscales).setGroup("").after(3*time.Second).scaleTo("zone-1", 1).
			deleteByOther("zone-1-1").remove("zone-1-1").setGroup("g").after(3*time.Second).intendDownscale("zone-2").scaleTo("zone-2", 1),
		rules: downscaleWebhook,
	},
	"6: a zone is scaled down shortly after one for which the group still waited": {
		history: newHistory().zone("zone-1", setMinBetweenDownscales).deleteByOther("zone-1-0").remove("zone-1-0").setGroup("").scaleTo("zone-1", 1).
			deleteByOther("zone-1-1").remove("zone-1-1").setGroup("g").after(3*time.Second).replace("zone-1-0", true).
			intendDownscale("zone-2").scaleTo("zone-2", 1),
		rules: downscaleWebhook,
		want:  []string{"6 zone-2 was scaled down"},
	},
	"6: a zone is scaled down shortly after one in another group for which the group still waited": {
		history: newHistory().zone("zone-1", setMinBetweenDownscales).deleteByOther("zone-1-1").remove("zone-1-1").setGroup("other").scaleTo("zone-1", 1).
			zone("zone-1", stampDownscale).setGroup("g").after(3*time.Second).
			intendDownscale("zone-2").scaleTo("zone-2", 1),
		rules: downscaleWebhook,
		want:  []string{"6 zone-2 was scaled down"},
	},
	"a zone is scaled down shortly after one in another group, before the time is in its annotation": {
		history: newHistory().zone("zone-1", setMinBetweenDownscales).deleteByOther("zone-1-1").remove("zone-1-1").setGroup("other").scaleTo("zone-1", 1).
			setGroup("g").after(3*time.Second).
			intendDownscale("zone-2").scaleTo("zone-2", 1),
		rules: downscaleWebhook,
	},
	"1: a pod is deleted while an orphaned pod terminates by a downscale": {
		history: newHistory().intendDownscale("zone-1").scaleTo("zone-1", 1).orphan().startSecondRollout(),
		rules:   downscaleWebhook,
		want:    []string{"1 zone-2-0 of zone zone-2 was deleted while pods of zone zone-1 were terminating by a downscale"},
	},

	"1: a pod is deleted while a zone without its label has a pod down": {
		history: newPartialRollout().setGroup("").after(3 * time.Second).startSecondRollout(),
		want:    []string{zoneDownViolation},
	},
	"1: a pod is deleted while a zone in another group has a pod down": {
		history: newPartialRollout().setGroup("h").after(3 * time.Second).startSecondRollout(),
		want:    []string{zoneDownViolation},
	},
	"1: a pod is deleted when a zone got its label back, before its pod is replaced": {
		history: newPartialRollout().setGroup("").setGroup("g").startSecondRollout(),
		want:    []string{zoneDownViolation},
	},
	"1: a pod is deleted when a zone returned from other groups before its pod is replaced": {
		history: newPartialRollout().setGroup("h").setGroup("").setGroup("i").setGroup("g").startSecondRollout(),
		want:    []string{zoneDownViolation},
	},
	"1: a pod is deleted while one is down whose intent was recorded before its zone lost the label": {
		history: newHistory().holdForRollout("zone-1", "zone-1-0").setGroup("").delete("zone-1-0").remove("zone-1-0").startSecondRollout(),
		want:    []string{zoneDownViolation},
	},
	"a pod is deleted when a zone without its label is available again": {
		history: newPartialRollout().setGroup("").replace("zone-1-0", true).after(3 * time.Second).startSecondRollout(),
	},
	"a pod is deleted when a zone without its label was available for a moment": {
		history: newPartialRollout().setGroup("").replace("zone-1-0", true).hold("").deleteByOther("zone-1-0").after(3 * time.Second).startSecondRollout(),
	},
	"a zone that was removed from its group while available is not verified": {
		history: newHistory().setGroup("").deleteByOther("zone-1-0").after(3 * time.Second).startSecondRollout(),
	},
	"a zone that was available elsewhere and just returned need not be known": {
		history: newHistory().setGroup("").deleteByOther("zone-1-0").after(3 * time.Second).setGroup("g").startSecondRollout(),
	},
	"2: a zone that was available elsewhere and returned must be known": {
		history: newHistory().setGroup("").deleteByOther("zone-1-0").after(3 * time.Second).setGroup("g").after(2 * time.Second).startSecondRollout(),
		want:    []string{"2 zone-2-0 of zone zone-2 was deleted while zone-1-0 of zone zone-1 was down"},
	},
	"a zone that was removed from its group need not be OnDelete": {
		history: newHistory().zone("zone-1", func(z *Zone) { z.MinReady = time.Second }).deleteByOther("zone-1-0").setGroup("").zone("zone-1", useRollingUpdate).
			after(3*time.Second).pod("zone-2-0", setNotReady).after(3 * time.Second).delete("zone-2-0"),
	},
	"1: a pod of a zone that is in another group is deleted by the Lease of the first": {
		history: newHistory().holdForRollout("zone-1", "zone-1-0").holdForRollout("zone-2", "zone-2-0").delete("zone-2-0").remove("zone-2-0").
			holdForRollout("zone-1", "zone-1-0").setGroup("h").delete("zone-1-0"),
		want: []string{"1 zone-1-0 of zone zone-1 was deleted while zone-2-0 of zone zone-2 was down"},
	},

	"1: a pod of an orphaned zone is evicted while another zone has a pod down": {
		history: newHistory().startSecondRollout().orphan().evict("zone-1-0"),
		rules:   evictionWebhook,
		want: []string{
			"1 zone-1-0 of zone zone-1 was evicted while zone-2-0 of zone zone-2 was down",
			`1 zone-1-0 was evicted while "rollout/zone-2" had the Lease of its group`,
		},
	},
	"4: a second pod of an orphaned zone is evicted": {
		history: newHistory().deleteByOther("zone-1-1").remove("zone-1-1").orphan().after(3*time.Second).holdForEviction("zone-1", "zone-1-0").evict("zone-1-0"),
		rules:   evictionWebhook,
		want:    []string{"4 zone-1-0 was evicted, so 2 pods of its zone were down, 1 allowed"},
	},
	"4: a second pod of a zone without its label is evicted": {
		history: newHistory().deleteByOther("zone-1-1").remove("zone-1-1").setGroup("").after(3*time.Second).holdForEviction("zone-1", "zone-1-0").evict("zone-1-0"),
		rules:   evictionWebhook,
		want:    []string{"4 zone-1-0 was evicted, so 2 pods of its zone were down, 1 allowed"},
	},
	"an eviction that was granted before the StatefulSet was orphaned": {
		history: newHistory().holdForEviction("zone-1", "zone-1-0").requestEviction("zone-1-0", nil).orphan().terminate("zone-1-0"),
		rules:   evictionWebhook,
	},
	"a pod of a zone that was removed from its group while available may be evicted without an intent": {
		history: newHistory().startSecondRollout().setGroup("").after(3 * time.Second).evict("zone-1-0"),
		rules:   evictionWebhook,
	},
	"a pod of a zone that just returned to its group may be evicted without an intent": {
		history: newHistory().startSecondRollout().setGroup("").after(3 * time.Second).setGroup("g").evict("zone-1-0"),
		rules:   evictionWebhook,
	},

	"2: pods must be known, however delayed StatefulSets are": {
		history: newHistory().deleteByOther("zone-1-1").after(3 * time.Second).delete("zone-2-0").withEarlierIntents(),
		rules:   delayedFor("statefulsets"),
		want:    []string{"2 zone-2-0 of zone zone-2 was deleted while zone-1-1"},
	},
	"a pod is missing that delayed StatefulSets do not show": {
		history: newHistory().scaleTo("zone-1", 3).pod("zone-1-2", nil).deleteByOther("zone-1-2").remove("zone-1-2").after(3 * time.Second).delete("zone-2-0").withEarlierIntents(),
		rules:   delayedFor("statefulsets"),
	},
	"2: a scale-up must be known, however delayed pods are": {
		history: newHistory().scaleTo("zone-1", 3).after(3 * time.Second).delete("zone-2-0").withEarlierIntents(),
		rules:   delayedFor("pods"),
		want:    []string{"2 zone-2-0 of zone zone-2 was deleted while zone-1-2"},
	},
	"an outage that delayed pods do not show need not be known": {
		history: newHistory().deleteByOther("zone-1-1").after(3 * time.Second).delete("zone-2-0").withEarlierIntents(),
		rules:   delayedFor("pods"),
	},
	"4: a pod beyond the replicas of delayed StatefulSets is evicted next to another one": {
		history: newHistory().scaleTo("zone-1", 3).pod("zone-1-2", nil).holdForEviction("zone-1", "zone-1-0", "zone-1-2").evict("zone-1-0").evict("zone-1-2"),
		rules:   delayedFor("statefulsets"),
		want:    []string{"4 zone-1-2 was evicted, so 2 pods of its zone were down, 1 allowed"},
	},
}
