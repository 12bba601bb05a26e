package judge

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// plantedCase is a history that breaks a rule, or nearly breaks it.

type plantedCase struct {
	history *history
	rules   Rules    // without operators: clusterWide
	want    []string // all violations, each as its guarantee and the beginning of its text
}

func pauseZone(z *Zone)               { z.Paused = true }
func useRollingUpdate(z *Zone)        { z.OnDelete = false }
func setMinBetweenDownscales(z *Zone) { z.MinBetweenDownscales = time.Minute }
func setMinReady(z *Zone)             { z.MinReady = 5 * time.Second }

// downscaleWebhook is a cluster with the downscale webhook.
var downscaleWebhook = Rules{DownscaleWebhook: true}

var plantedDisruptions = map[string]plantedCase{
	"a proper rollout is not reported": {
		history: newHistory().rollZone("zone-1").rollZone("zone-2"),
	},

	"1: a pod of another zone is deleted while the first is terminating": {
		history: newHistory().holdForRollout("zone-1", "zone-1-0").delete("zone-1-0").holdForRollout("zone-2", "zone-2-0").delete("zone-2-0"),
		want:    []string{"1 zone-2-0 of zone zone-2 was deleted while zone-1-0"},
	},
	"1: a pod of another zone is deleted while the replacement of the first is not Ready": {
		history: newHistory().holdForRollout("zone-1", "zone-1-0").delete("zone-1-0").replace("zone-1-0", false).after(time.Millisecond).
			holdForRollout("zone-2", "zone-2-0").delete("zone-2-0"),
		want: []string{"1 zone-2-0 of zone zone-2 was deleted while zone-1-0"},
	},
	"1: a pod that is deleted without a grace period is down": {
		history: newHistory().holdForRollout("zone-1", "zone-1-0").deleteAtOnce("zone-1-0").holdForRollout("zone-2", "zone-2-0").delete("zone-2-0"),
		want:    []string{"1 zone-2-0 of zone zone-2 was deleted while zone-1-0"},
	},
	"a pod of another zone is deleted just as the replacement of the first is Ready": {
		history: newHistory().rollZone("zone-1").holdForRollout("zone-2", "zone-2-0").delete("zone-2-0"),
	},
	"1: a pod is deleted without an intent": {
		history: newHistory().hold("rollout/zone-1").delete("zone-1-0"),
		want:    []string{"1 zone-1-0 was deleted without an intent"},
	},
	"1: a pod is deleted at another version than recorded": {
		history: func() *history {
			s := newHistory()
			noted := s.intentOf("zone-1-0")
			return s.pod("zone-1-0", nil).hold("rollout/zone-1", noted).delete("zone-1-0")
		}(),
		want: []string{"1 zone-1-0 was deleted at version"},
	},
	"1: a pod is deleted before its intent is recorded": {
		history: newHistory().hold("rollout/zone-1").delete("zone-1-0").holdForRollout("zone-1", "zone-1-0"),
		want:    []string{"1 zone-1-0 was deleted without an intent"},
	},
	"1: a pod is deleted under the Lease of another zone": {
		history: func() *history {
			s := newHistory()
			return s.hold("rollout/zone-2", s.intentOf("zone-1-0")).delete("zone-1-0")
		}(),
		want: []string{`1 zone-1-0 was deleted while "rollout/zone-2"`},
	},
	"1: a pod is deleted without any Lease": {
		history: newHistory().delete("zone-1-0"),
		want:    []string{"1 zone-1-0 was deleted without a Lease"},
	},

	"a downscale under its intent is not reported": {
		history: newHistory().intendDownscale("zone-1").scaleTo("zone-1", 1).remove("zone-1-1"),
		rules:   downscaleWebhook,
	},
	"a downscale without a webhook is not verified": {
		history: newHistory().scaleTo("zone-1", 1),
	},
	"1: a zone is scaled down without a Lease": {
		history: newHistory().scaleTo("zone-1", 1),
		rules:   downscaleWebhook,
		want:    []string{"1 zone-1 was scaled down to 1 without a Lease"},
	},
	"1: a zone is scaled down under the rollout of another zone": {
		history: newHistory().holdForRollout("zone-2").scaleTo("zone-1", 1),
		rules:   downscaleWebhook,
		want:    []string{`1 zone-1 was scaled down to 1 while "rollout/zone-2" had the Lease`},
	},
	"1: a zone is scaled down without an intent": {
		history: newHistory().hold("downscale/zone-1").scaleTo("zone-1", 1),
		rules:   downscaleWebhook,
		want:    []string{"1 zone-1 was scaled down to 1 without an intent"},
	},
	"1: a zone is scaled down further than is recorded": {
		history: newHistory().intendDownscale("zone-1").scaleTo("zone-1", 0),
		rules:   downscaleWebhook,
		want:    []string{"1 zone-1 was scaled down to 0 from version"},
	},
	"1: a zone is scaled down that changed since its intent": {
		history: newHistory().intendDownscale("zone-1").zone("zone-1", func(z *Zone) { z.MaxUnavailable = 2 }).scaleTo("zone-1", 1),
		rules:   downscaleWebhook,
		want:    []string{"1 zone-1 was scaled down to 1 from version"},
	},
	"1: a zone is scaled down that has another UID than its intent": {
		history: newHistory().add(Event{Hold: &Hold{Group: "g", Holder: "downscale/zone-1", Downscale: DownscaleIntent{Zone: "zone-1", UID: "another", To: 1, Version: 5}}}).
			scaleTo("zone-1", 1),
		rules: downscaleWebhook,
		want:  []string{"1 zone-1 was scaled down to 1 from version 5, the intent"},
	},
	"1: a zone is scaled down while another one is": {
		history: newHistory().intendDownscale("zone-1").scaleTo("zone-1", 1).intendDownscale("zone-2").scaleTo("zone-2", 1),
		rules:   downscaleWebhook,
		want:    []string{"1 zone-2 was scaled down to 1 while pods of zone zone-1 were terminating"},
	},
	"1: a pod is deleted while another zone is scaled down": {
		history: newHistory().intendDownscale("zone-1").scaleTo("zone-1", 1).holdForRollout("zone-2", "zone-2-0").delete("zone-2-0"),
		rules:   downscaleWebhook,
		want:    []string{"1 zone-2-0 of zone zone-2 was deleted while pods of zone zone-1 were terminating"},
	},
	"a pod is deleted after another zone cancelled its downscale": {
		history: newHistory().intendDownscale("zone-1").scaleTo("zone-1", 1).scaleTo("zone-1", 2).holdForRollout("zone-2", "zone-2-0").delete("zone-2-0"),
		rules:   downscaleWebhook,
	},
	"1: a zone is scaled down while a pod of another one is being replaced": {
		history: newHistory().holdForRollout("zone-2", "zone-2-0").delete("zone-2-0").intendDownscale("zone-1").scaleTo("zone-1", 1),
		rules:   downscaleWebhook,
		want:    []string{"1 zone-1 was scaled down to 1 while zone-2-0"},
	},
	"2: a zone is scaled down long after another one was broken": {
		history: newHistory().deleteByOther("zone-2-1").after(3*time.Second).intendDownscale("zone-1").scaleTo("zone-1", 1),
		rules:   downscaleWebhook,
		want:    []string{"2 zone-1 was scaled down to 1 while zone-2-1"},
	},
	"a zone is scaled down by a pod that was never ready, whatever the others do": {
		history: newHistory().deleteByOther("zone-1-1").deleteByOther("zone-2-1").after(3*time.Second).scaleTo("zone-1", 1),
		rules:   downscaleWebhook,
	},
	"6: a zone is scaled down too shortly after another one": {
		history: newHistory().zone("zone-1", setMinBetweenDownscales).intendDownscale("zone-1").scaleTo("zone-1", 1).remove("zone-1-1").
			after(30*time.Second).intendDownscale("zone-2").scaleTo("zone-2", 1),
		rules: downscaleWebhook,
		want:  []string{"6 zone-2 was scaled down 30.3s after zone-1, at least 1m0s wanted"},
	},
	"6: a zone is scaled down too shortly after another one, however stale caches are": {
		history: newHistory().zone("zone-1", setMinBetweenDownscales).intendDownscale("zone-1").scaleTo("zone-1", 1).remove("zone-1-1").
			after(30*time.Second).intendDownscale("zone-2").scaleTo("zone-2", 1),
		rules: Rules{DownscaleWebhook: true, Grace: time.Minute, StaleCaches: []Window{{From: time.Unix(0, 0), To: time.Unix(1000, 0)}}},
		want:  []string{"6 zone-2 was scaled down 30.3s after zone-1, at least 1m0s wanted"},
	},
	"6: a zone is scaled down a moment too early": {
		history: newHistory().zone("zone-1", setMinBetweenDownscales).intendDownscale("zone-1").scaleTo("zone-1", 1).remove("zone-1-1").
			after(58*time.Second+600*time.Millisecond).intendDownscale("zone-2").scaleTo("zone-2", 1),
		rules: downscaleWebhook,
		want:  []string{"6 zone-2 was scaled down 58.9s after zone-1, at least 1m0s wanted"},
	},
	"a zone is scaled down long enough after another one": {
		history: newHistory().zone("zone-1", setMinBetweenDownscales).intendDownscale("zone-1").scaleTo("zone-1", 1).remove("zone-1-1").
			after(time.Minute).intendDownscale("zone-2").scaleTo("zone-2", 1),
		rules: downscaleWebhook,
	},

	"2: a pod is deleted long after another zone was broken by another user": {
		history: newHistory().deleteByOther("zone-2-1").after(3*time.Second).holdForRollout("zone-1", "zone-1-0").delete("zone-1-0"),
		want:    []string{"2 zone-1-0 of zone zone-1 was deleted while zone-2-1"},
	},
	"a pod is deleted just as another zone is broken by another user": {
		history: newHistory().holdForRollout("zone-1", "zone-1-0").deleteByOther("zone-2-1").delete("zone-1-0"),
	},
	"a longer grace covers later knowledge": {
		history: newHistory().deleteByOther("zone-2-1").after(3*time.Second).holdForRollout("zone-1", "zone-1-0").delete("zone-1-0"),
		rules:   Rules{Grace: 5 * time.Second},
	},
	"2: a longer grace ends": {
		history: newHistory().deleteByOther("zone-2-1").after(7*time.Second).holdForRollout("zone-1", "zone-1-0").delete("zone-1-0"),
		rules:   Rules{Grace: 5 * time.Second},
		want:    []string{"2 zone-1-0 of zone zone-1 was deleted while zone-2-1"},
	},
	"a pod is deleted while caches could not show that another zone was broken": {
		history: newHistory().deleteByOther("zone-2-1").after(7 * time.Second).delete("zone-1-0").withEarlierIntents(),
		rules:   Rules{StaleCaches: []Window{staleFor(10 * time.Second)}},
	},
	"2: a pod is deleted after caches could show again that another zone was broken": {
		history: newHistory().deleteByOther("zone-2-1").after(7 * time.Second).delete("zone-1-0").withEarlierIntents(),
		rules:   Rules{StaleCaches: []Window{staleFor(5 * time.Second), {From: historyStart.Add(6 * time.Second), To: historyStart.Add(time.Hour)}}},
		want:    []string{"2 zone-1-0 of zone zone-1 was deleted while zone-2-1"},
	},
	"2: a stale cache that recovered before a zone was broken excuses nothing": {
		history: newHistory().after(20 * time.Second).deleteByOther("zone-2-1").after(3 * time.Second).delete("zone-1-0").withEarlierIntents(),
		rules:   Rules{StaleCaches: []Window{staleFor(10 * time.Second)}},
		want:    []string{"2 zone-1-0 of zone zone-1 was deleted while zone-2-1"},
	},
	"a pod is deleted before a delayed event was delivered": {
		history: newHistory().deleteByOther("zone-2-1").after(2 * time.Second).delete("zone-1-0").withEarlierIntents(),
		rules:   Rules{StaleCaches: []Window{delayedBy(2500 * time.Millisecond)}},
	},
	"2: a pod is deleted after a delayed event was delivered": {
		history: newHistory().deleteByOther("zone-2-1").after(4 * time.Second).delete("zone-1-0").withEarlierIntents(),
		rules:   Rules{StaleCaches: []Window{delayedBy(2500 * time.Millisecond)}},
		want:    []string{"2 zone-1-0 of zone zone-1 was deleted while zone-2-1"},
	},
	"2: a delay that has ended delays no later events": {
		history: newHistory().after(20 * time.Second).deleteByOther("zone-2-1").after(2 * time.Second).delete("zone-1-0").withEarlierIntents(),
		rules:   Rules{StaleCaches: []Window{{From: historyStart, To: historyStart.Add(10 * time.Second), Delay: 5 * time.Second}}},
		want:    []string{"2 zone-1-0 of zone zone-1 was deleted while zone-2-1"},
	},
	"2: two delays do not add up": {
		history: newHistory().deleteByOther("zone-2-1").after(4 * time.Second).delete("zone-1-0").withEarlierIntents(),
		rules:   Rules{StaleCaches: []Window{delayedBy(2500 * time.Millisecond), delayedBy(2 * time.Second)}},
		want:    []string{"2 zone-1-0 of zone zone-1 was deleted while zone-2-1"},
	},
	"2: a pod is deleted whose intent was recorded after a live read, whatever caches show": {
		history: newHistory().deleteByOther("zone-2-1").after(3*time.Second).holdForRollout("zone-1", "zone-1-0").delete("zone-1-0"),
		rules:   Rules{StaleCaches: []Window{staleFor(time.Hour)}},
		want:    []string{"2 zone-1-0 of zone zone-1 was deleted while zone-2-1"},
	},
	"2: stale caches of one operator excuse no other": {
		history: newHistory().deleteByOther("zone-2-1").after(3 * time.Second).delete("zone-1-0").withEarlierIntents(),
		rules:   Rules{StaleCaches: []Window{{From: historyStart, To: historyStart.Add(time.Hour), Agent: "another"}}},
		want:    []string{"2 zone-1-0 of zone zone-1 was deleted while zone-2-1"},
	},
	"a pod is deleted by an operator whose caches could not show that another zone was broken": {
		history: newHistory().deleteByOther("zone-2-1").after(3 * time.Second).delete("zone-1-0").withEarlierIntents(),
		rules:   Rules{StaleCaches: []Window{{From: historyStart, To: historyStart.Add(time.Hour), Agent: operatorAgent}}},
	},
	"2: a pod is deleted by a request whose API server was killed": {
		history: newHistory().deleteByOther("zone-2-1").after(3*time.Second).holdForRollout("zone-1", "zone-1-0").requestDelete("zone-1-0", unanswered).terminate("zone-1-0"),
		want:    []string{"2 zone-1-0 of zone zone-1 was deleted while zone-2-1"},
	},
	"2: a pod is deleted by a request that received an error as its answer": {
		history: newHistory().deleteByOther("zone-2-1").after(3*time.Second).holdForRollout("zone-1", "zone-1-0").
			requestDelete("zone-1-0", func(r *Request) { r.Code, r.UID = 500, "" }).terminate("zone-1-0"),
		want: []string{"2 zone-1-0 of zone zone-1 was deleted while zone-2-1"},
	},
	"2: a pod is deleted long before a scaled up zone has its pods": {
		history: newHistory().zone("zone-2", func(z *Zone) { z.Replicas = 3 }).after(3*time.Second).
			holdForRollout("zone-1", "zone-1-0").delete("zone-1-0"),
		want: []string{"2 zone-1-0 of zone zone-1 was deleted while zone-2-2 of zone zone-2 was down"},
	},
	"2: a pod is deleted while one of another zone is Ready for less than minReadySeconds": {
		history: newHistory().zone("zone-1", setMinReady).after(time.Minute).roll("zone-1", "zone-1-0").after(4*time.Second).
			holdForRollout("zone-2", "zone-2-0").delete("zone-2-0"),
		want: []string{"2 zone-2-0 of zone zone-2 was deleted while zone-1-0"},
	},
	"a pod is deleted when one of another zone has been Ready for minReadySeconds": {
		history: newHistory().zone("zone-1", setMinReady).after(time.Minute).roll("zone-1", "zone-1-0").after(5*time.Second).
			holdForRollout("zone-2", "zone-2-0").delete("zone-2-0"),
	},
	"a pod that is down may be deleted, whatever else is down": {
		history: newHistory().deleteByOther("zone-2-1").pod("zone-1-0", func(p *Pod) { p.Ready = false }).after(3 * time.Second).delete("zone-1-0"),
	},
	"a pod that another user deleted before is not disrupted": {
		history: newHistory().deleteByOther("zone-2-1").after(3 * time.Second).terminate("zone-1-0").delete("zone-1-0"),
	},

	"3: a pod is deleted while a zone is not OnDelete": {
		history: newHistory().zone("zone-2", useRollingUpdate).after(3*time.Second).roll("zone-1", "zone-1-0"),
		want:    []string{"3 zone-1-0 was deleted while zone zone-2 is not OnDelete"},
	},
	"3: a pod that is down is deleted while a zone is not OnDelete": {
		history: newHistory().zone("zone-2", useRollingUpdate).pod("zone-1-0", func(p *Pod) { p.Ready = false }).after(3 * time.Second).delete("zone-1-0"),
		want:    []string{"3 zone-1-0 was deleted while zone zone-2 is not OnDelete"},
	},
	"a pod is deleted just as a zone is no longer OnDelete": {
		history: newHistory().holdForRollout("zone-1", "zone-1-0").zone("zone-2", useRollingUpdate).delete("zone-1-0"),
	},
	"a zone of another group need not be OnDelete": {
		history: newHistory().addGroup("h", "other").zone("other", useRollingUpdate).after(3*time.Second).roll("zone-1", "zone-1-0"),
	},
	"3: a pod of a paused zone is deleted": {
		history: newHistory().zone("zone-1", pauseZone).after(3*time.Second).roll("zone-1", "zone-1-0"),
		want:    []string{"3 zone-1-0 was deleted, which belongs to a paused zone"},
	},
	"3: a pod of a zone with a pause until a later time is deleted": {
		history: newHistory().zone("zone-1", func(z *Zone) { z.Paused, z.PausedUntil = true, time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC) }).after(3*time.Second).roll("zone-1", "zone-1-0"),
		want:    []string{"3 zone-1-0 was deleted, which belongs to a paused zone"},
	},
	"a pod of a zone with an expired pause is deleted": {
		history: newHistory().zone("zone-1", func(z *Zone) { z.Paused, z.PausedUntil = true, time.Unix(1, 0) }).after(3*time.Second).roll("zone-1", "zone-1-0"),
	},
	"a pod of a zone that was just paused is deleted": {
		history: newHistory().holdForRollout("zone-1", "zone-1-0").zone("zone-1", pauseZone).delete("zone-1-0"),
	},

	"4: a second pod of the zone is deleted": {
		history: newHistory().holdForRollout("zone-1", "zone-1-0", "zone-1-1").delete("zone-1-0").delete("zone-1-1"),
		want:    []string{"4 zone-1-1 was deleted, so 2 pods of its zone were down, 1 allowed"},
	},
	"a second pod of the zone is deleted as the budget allows": {
		history: newHistory().zone("zone-1", func(z *Zone) { z.MaxUnavailable = 2 }).
			holdForRollout("zone-1", "zone-1-0", "zone-1-1").delete("zone-1-0").delete("zone-1-1"),
	},
	"4: a second pod is deleted while another user deleted the first": {
		history: newHistory().deleteByOther("zone-1-1").after(3*time.Second).holdForRollout("zone-1", "zone-1-0").delete("zone-1-0"),
		want:    []string{"4 zone-1-0 was deleted, so 2 pods of its zone were down"},
	},
	"4: a second pod is deleted while the first is Ready for less than minReadySeconds": {
		history: newHistory().zone("zone-1", setMinReady).after(time.Minute).roll("zone-1", "zone-1-0").after(4*time.Second).
			holdForRollout("zone-1", "zone-1-1").delete("zone-1-1"),
		want: []string{"4 zone-1-1 was deleted, so 2 pods of its zone were down"},
	},
	"a pod is deleted when the first seemed Ready for minReadySeconds, and became unready a moment before": {
		history: readyAgainAfter(5*time.Second).holdForRollout("zone-1", "zone-1-1").delete("zone-1-1"),
	},
	"4: a pod is deleted long after the first became unready again": {
		history: readyAgainAfter(5*time.Second).after(2*time.Second).holdForRollout("zone-1", "zone-1-1").delete("zone-1-1"),
		want:    []string{"4 zone-1-1 was deleted, so 2 pods of its zone were down"},
	},
	"4: a pod is deleted before the first was Ready for minReadySeconds, and became unready a moment before": {
		history: readyAgainAfter(4*time.Second).holdForRollout("zone-1", "zone-1-1").delete("zone-1-1"),
		want:    []string{"4 zone-1-1 was deleted, so 2 pods of its zone were down"},
	},
	"a pod that is Ready for less than minReadySeconds, is deleted alone": {
		history: newlyReady("zone-1-0").holdForRollout("zone-1", "zone-1-0").delete("zone-1-0"),
	},
	"4: a pod that is Ready for less than minReadySeconds, is deleted next to one that is down": {
		history: newlyReady("zone-1-0").deleteByOther("zone-1-1").after(3*time.Second).holdForRollout("zone-1", "zone-1-0").delete("zone-1-0"),
		want:    []string{"4 zone-1-0 was deleted, so 2 pods of its zone were down"},
	},
	"4: two pods are deleted that are Ready for less than minReadySeconds": {
		history: newlyReady("zone-1-0", "zone-1-1").holdForRollout("zone-1", "zone-1-0", "zone-1-1").delete("zone-1-0").delete("zone-1-1"),
		want:    []string{"4 zone-1-0 was deleted, so 2 pods of its zone were down", "4 zone-1-1 was deleted, so 2 pods of its zone were down"},
	},

	"5: an up to date pod is deleted": {
		history: newHistory().rollZone("zone-1").roll("zone-1", "zone-1-0"),
		want:    []string{"5 zone-1-0 was deleted, which was not outdated"},
	},
	"5: a pod without a StatefulSet is deleted": {
		history: newHistory().pod("other-0", nil).delete("other-0"),
		want:    []string{"5 other-0 was deleted, which belongs to no zone"},
	},
	"5: a pod is deleted with the name of a zone and another owner": {
		history: newHistory().pod("zone-1-0", func(p *Pod) { p.Owner = "another-client" }).after(3*time.Second).roll("zone-1", "zone-1-0"),
		want:    []string{"5 zone-1-0 was deleted, which belongs to no zone"},
	},
	"5: a pod of a StatefulSet outside groups is deleted": {
		history: newHistory().zone("zone-3", func(z *Zone) { z.Grouped, z.Group, z.Revision = false, "", "new" }).
			pod("zone-3-0", nil).pod("zone-3-1", nil).after(3 * time.Second).delete("zone-3-0"),
		want: []string{"5 zone-3-0 was deleted, which belongs to no group", "1 zone-3-0 was deleted without a Lease"},
	},
	"5: an orphaned pod of a deleted StatefulSet is deleted": {
		history: newHistory().zone("zone-1", func(z *Zone) { z.Deleted = true }).after(3*time.Second).roll("zone-1", "zone-1-0"),
		want:    []string{"5 zone-1-0 was deleted, which was left by a deleted StatefulSet"},
	},
	"5: a pod of the StatefulSet that had this name before is deleted": {
		history: newHistory().zone("zone-1", func(z *Zone) { z.Deleted = true }).
			zone("zone-1", func(z *Zone) { z.UID, z.Deleted, z.Replicas = "anew", false, 0 }).
			after(3*time.Second).roll("zone-1", "zone-1-0"),
		want: []string{"5 zone-1-0 was deleted, which was left by a deleted StatefulSet"},
	},
	"5: a surplus pod is deleted": {
		history: newHistory().zone("zone-1", func(z *Zone) { z.Replicas = 1 }).after(3*time.Second).roll("zone-1", "zone-1-1"),
		want:    []string{"5 zone-1-1 was deleted, which is beyond spec.replicas"},
	},
	"5: a pod is deleted without a resourceVersion": {
		history: newHistory().holdForRollout("zone-1", "zone-1-0").requestDelete("zone-1-0", func(r *Request) { r.RequiredVersion = 0 }).terminate("zone-1-0"),
		want:    []string{"1 zone-1-0 was deleted at version 0", "5 zone-1-0 was to be deleted without preconditions on UID and resourceVersion"},
	},
	"5: a deletion without a UID is refused": {
		history: newHistory().requestDelete("zone-1-0", func(r *Request) { r.RequiredUID, r.Code = "", 409 }),
		want:    []string{"5 zone-1-0 was to be deleted without preconditions on UID and resourceVersion"},
	},
	"5: a pod is deleted without any event": {
		history: newHistory().requestDelete("zone-1-0", func(r *Request) { r.UID, r.RequiredUID = "unknown", "unknown" }),
		want:    []string{"5 zone-1-0 was deleted, which no watch has reported"},
	},
	"5: pods are removed by other means": {
		history: newHistory().request(Request{Verb: "create", Resource: "pods/eviction", Name: "zone-1-0", Code: 201}).
			request(Request{Verb: "deletecollection", Resource: "pods", Code: 200}),
		want: []string{"5 pods were to be removed other than", "5 pods were to be removed other than"},
	},
	"a deletion that comes too late is refused and not reported": {
		history: newHistory().deleteByOther("zone-1-0").requestDelete("zone-1-0", func(r *Request) { r.Code = 409 }),
	},

	"two groups are independent": {
		history: func() *history {
			s := newHistory().addGroup("h", "other").holdForRollout("zone-1", "zone-1-0").delete("zone-1-0")
			return s.holdOf("h", "rollout/other", s.intentOf("other-0")).delete("other-0")
		}(),
	},
	"1: one group's Lease does not apply to another's": {
		history: newHistory().addGroup("h", "other").holdForRollout("other", "other-0").delete("other-0"),
		want:    []string{"1 other-0 was deleted without a Lease of its group"},
	},
	"two namespaces with the same names are independent": {
		history: newHistory().holdForRollout("zone-1", "zone-1-0").delete("zone-1-0").
			merge(newHistoryIn("m").holdForRollout("zone-2", "zone-2-0").delete("zone-2-0")),
	},
	"1: one namespace's Lease does not apply to another's": {
		history: newHistory().holdForRollout("zone-1", "zone-1-0").merge(newHistoryIn("m").delete("zone-1-0")),
		want:    []string{"1 zone-1-0 was deleted without a Lease of its group"},
	},
	"1: one of two namespaces is reported": {
		history: newHistory().rollZone("zone-1").
			merge(newHistoryIn("m").holdForRollout("zone-1", "zone-1-0").delete("zone-1-0").holdForRollout("zone-2", "zone-2-0").delete("zone-2-0")),
		want: []string{"1 zone-2-0 of zone zone-2 was deleted while zone-1-0"},
	},
}

// singleNamespace is an operator with a list of namespaces.
func singleNamespace(namespace string) Rules {
	return Rules{Operators: []Operator{{User: operatorUser, Namespaces: []string{namespace}}}}
}

func (h *history) write() *history {
	return h.request(Request{Verb: "patch", Resource: "statefulsets/status", Name: "zone-1", Code: 200})
}

var plantedWrites = map[string]plantedCase{
	"8: a namespace without the label is written to": {
		history: newHistory().label("").after(3 * time.Second).write(),
		want:    []string{"8 written to a namespace that did not opt in: patch statefulsets/status n/zone-1"},
	},
	"8: a namespace with another value is written to": {
		history: newHistory().label("false").after(3 * time.Second).request(Request{Verb: "create", Resource: "events", Code: 201}),
		want:    []string{"8 written to a namespace that did not opt in: create events"},
	},
	"8: a pod is deleted in a namespace that did not opt in": {
		history: newHistory().label("").after(3*time.Second).roll("zone-1", "zone-1-0"),
		want:    []string{"8 written to a namespace that did not opt in: delete pods n/zone-1-0"},
	},
	"8: a refused write is reported": {
		history: newHistory().label("").after(3 * time.Second).request(Request{Verb: "update", Resource: "leases", Code: 403}),
		want:    []string{"8 written to a namespace that did not opt in: update leases"},
	},
	"8: a write long before the label": {
		history: newHistory().label("").after(3 * time.Second).write().after(3 * time.Second).label("true"),
		want:    []string{"8 written to a namespace that did not opt in"},
	},
	"8: another change of the namespace does not extend the grace": {
		history: newHistory().label("").after(900 * time.Millisecond).label("").after(900 * time.Millisecond).write(),
		want:    []string{"8 written to a namespace that did not opt in"},
	},
	"a write just as the label is removed": {
		history: newHistory().label("").after(900 * time.Millisecond).write(),
	},
	"a write just as the label is set": {
		history: newHistory().label("").after(3 * time.Second).write().label("true"),
	},
	"a write long after the label was removed with delayed watches": {
		history: newHistory().label("").after(3 * time.Second).write(),
		rules:   Rules{Grace: 5 * time.Second},
	},
	"a namespace without the label is read": {
		history: newHistory().label("").after(3 * time.Second).request(Request{Verb: "list", Resource: "pods", Code: 200}),
	},
	"a namespace without the label is written to by another user": {
		history: newHistory().label("").after(3 * time.Second).request(Request{User: "another-client", Verb: "patch", Resource: "pods", Code: 200}),
	},
	"a write to a deleted namespace is refused": {
		history: newHistory().add(Event{NamespaceState: &NamespaceState{Deleted: true}}).after(3 * time.Second).
			request(Request{Verb: "create", Resource: "events", Code: 404}),
	},
	"8: a namespace that is deleted and created again without the label is written to": {
		history: newHistory().add(Event{NamespaceState: &NamespaceState{Deleted: true}}).label("").after(3 * time.Second).write(),
		want:    []string{"8 written to a namespace that did not opt in"},
	},
	"8: a namespace that is not on the list is written to, whatever its label is": {
		history: newHistory().write(),
		rules:   singleNamespace("m"),
		want:    []string{"8 written to a namespace that did not opt in"},
	},
	"a namespace of the list is written to, whatever its label is": {
		history: newHistory().label("").after(3 * time.Second).write(),
		rules:   singleNamespace("n"),
	},
	"8: an unwatched namespace is written to by an operator with a list": {
		history: newHistory().write().merge(newUnwatchedHistory("m").write()),
		rules:   singleNamespace("n"),
		want:    []string{"8 written to a namespace that did not opt in: patch statefulsets/status m/zone-1"},
	},
	"8: a cluster-scoped object is written by an operator with a list": {
		history: newHistory().merge(newUnwatchedHistory("").request(Request{Verb: "patch", Resource: "nodes", Name: "node-1", Code: 200})),
		rules:   singleNamespace("n"),
		want:    []string{"8 written to a namespace that did not opt in: patch nodes /node-1"},
	},
	"an access review is not a write": {
		history: newHistory().merge(newUnwatchedHistory("").request(Request{Verb: "create", Resource: "selfsubjectaccessreviews", Code: 201})),
		rules:   singleNamespace("n"),
	},
	"8: one of two namespaces did not opt in": {
		history: newHistory().write().merge(newHistoryIn("m").label("").after(3 * time.Second).write()),
		want:    []string{"8 written to a namespace that did not opt in: patch statefulsets/status m/zone-1"},
	},
	"the leader's Lease in the namespace of leader election": {
		history: newHistoryIn("lockstep-system").label("").after(3 * time.Second).
			request(Request{Verb: "update", Resource: "leases", Name: LeaderLease, Code: 200}),
	},
	"8: another write in the namespace of leader election": {
		history: newHistoryIn("lockstep-system").label("").after(3 * time.Second).
			request(Request{Verb: "update", Resource: "leases", Name: "lockstep-group-g", Code: 200}),
		want: []string{"8 written to a namespace that did not opt in"},
	},
}

func TestVerifierReportsPlantedViolations(t *testing.T) {
	t.Parallel()
	for _, table := range []map[string]plantedCase{plantedDisruptions, plantedEvictions, plantedWrites, plantedDelays, plantedMembership, plantedPools, plantedPoolIdentities, plantedPoolBudgets, plantedPoolPlaces, plantedPoolClaims} {
		for name, p := range table {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				p.verify(t)
			})
		}
	}
}

func (p plantedCase) verify(t *testing.T) {
	t.Helper()
	if p.rules.Operators == nil {
		p.rules.Operators = []Operator{clusterWide}
	}
	var got []string
	for _, v := range Verify(p.history.events, p.history.requests, p.rules).Violations {
		got = append(got, fmt.Sprintf("%d %s", v.Guarantee, v.Text))
	}
	if len(got) != len(p.want) {
		t.Fatalf("%d violations, want %d: %q", len(got), len(p.want), got)
	}
	for i, beginning := range p.want {
		if !strings.HasPrefix(got[i], beginning) {
			t.Errorf("violation %d: got %q, want prefix %q", i, got[i], beginning)
		}
	}
}

func TestEveryGuaranteeHasPlantedViolation(t *testing.T) {
	t.Parallel()
	for _, guarantee := range []string{"0", "1", "2", "3", "4", "5", "6", "8"} {
		found := false
		for _, table := range []map[string]plantedCase{plantedDisruptions, plantedEvictions, plantedWrites, plantedDelays, plantedMembership, plantedPools, plantedPoolIdentities, plantedPoolBudgets, plantedPoolPlaces, plantedPoolClaims} {
			for name, p := range table {
				if (len(p.want) > 0) != (name[1] == ':') {
					t.Errorf("%q must begin with the number of the guarantee that it breaks, or with none if it breaks none", name)
				}
				found = found || slices.ContainsFunc(p.want, func(w string) bool { return strings.HasPrefix(w, guarantee+" ") })
			}
		}
		if !found {
			t.Errorf("no history breaks guarantee %s", guarantee)
		}
	}
}

func TestVerdictListsUnexplainedTerminations(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		story *history
		want  int
	}{
		"no request":                         {newHistory().terminate("zone-1-0"), 1},
		"no request, and the pod is deleted": {newHistory().remove("zone-1-0"), 1},
		"a request for its predecessor":      {newHistory().deleteByOther("zone-1-0").replace("zone-1-0", true).terminate("zone-1-0"), 1},
		"a refused request":                  {newHistory().requestEviction("zone-1-0", func(r *Request) { r.Code = 429 }).terminate("zone-1-0"), 1},
		"a request of an operator":           {newHistory().holdForRollout("zone-1", "zone-1-0").delete("zone-1-0"), 0},
		"a request of another user":          {newHistory().deleteByOther("zone-1-0").remove("zone-1-0"), 0},
		"a request before a kill, seen late": {evictedAfterKill(time.Second), 0},
		"a request of a kubelet":             {newHistory().requestDelete("zone-1-0", func(r *Request) { r.ZeroGrace = true }).remove("zone-1-0"), 0},

		"a request of a kubelet by name, in progress":    {newHistory().requestDelete("zone-1-0", kubeletDeletionUntil(time.Minute)).replace("zone-1-0", true).remove("zone-1-0"), 0},
		"a request of a kubelet by name, long ago":       {newHistory().requestDelete("zone-1-0", kubeletDeletionUntil(0)).replace("zone-1-0", true).after(time.Minute).remove("zone-1-0"), 1},
		"a request of a kubelet by UID, for another pod": {newHistory().requestDelete("zone-1-0", kubeletDeletionByUID).replace("zone-1-0", true).remove("zone-1-0"), 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := Verify(test.story.events, test.story.requests, Rules{Operators: []Operator{clusterWide}, EvictionWebhook: true})
			if len(v.Unexplained) != test.want {
				t.Errorf("%d unexplained terminations, want %d: %q", len(v.Unexplained), test.want, v.Unexplained)
			}
		})
	}
}

// kubeletDeletionUntil makes a deletion that of a kubelet: by name only, with a grace period of zero,
// and in progress for so long.
func kubeletDeletionUntil(end time.Duration) func(*Request) {
	return func(r *Request) {
		r.User, r.ZeroGrace, r.RequiredUID, r.RequiredVersion, r.Ended = "kubelet", true, "", 0, r.Ended.Add(end)
	}
}

// kubeletDeletionByUID makes a deletion that of a kubelet which requires the UID.
func kubeletDeletionByUID(r *Request) { r.User, r.ZeroGrace, r.RequiredVersion = "kubelet", true, 0 }

func TestVerifyOrdersEventsByVersion(t *testing.T) {
	t.Parallel()
	s := newHistory().rollZone("zone-1")
	shuffled := slices.Clone(s.events)
	slices.Reverse(shuffled)
	v := Verify(shuffled, s.requests, Rules{Operators: []Operator{clusterWide}})
	if d := v.Disruptions; len(v.Violations) > 0 || len(d) != 2 || d[0].Pod != "zone-1-0" || !d[0].WasServing {
		t.Errorf("got %+v", v)
	}
}

func TestViolationNamesGroupAndZone(t *testing.T) {
	t.Parallel()
	s := newHistory().delete("zone-1-0")
	got := Verify(s.events, s.requests, Rules{Operators: []Operator{clusterWide}}).Violations
	if len(got) != 1 || got[0].Namespace != "n" || got[0].Group != "g" || got[0].Zone != "zone-1" {
		t.Errorf("got %+v", got)
	}
	if text := got[0].String(); !strings.HasPrefix(text, "guarantee 1: n: zone-1-0") {
		t.Errorf("got text %q", text)
	}
}

func TestOrderViolations(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		story *history
		want  []string
	}{
		"a proper rollout":  {newHistory().rollZone("zone-1").rollZone("zone-2"), nil},
		"zones":             {newHistory().rollZone("zone-2").rollZone("zone-1"), []string{"zone zone-1 began after zone zone-2"}},
		"ordinals":          {newHistory().roll("zone-1", "zone-1-1").roll("zone-1", "zone-1-0"), []string{"zone-1-0 was deleted after zone-1-1"}},
		"in two namespaces": {newHistory().rollZone("zone-2").merge(newHistoryIn("o").rollZone("zone-1")), nil},
		"concurrent deletions": {
			newHistory().zone("zone-1", func(z *Zone) { z.MaxUnavailable = 2 }).holdForRollout("zone-1", "zone-1-0", "zone-1-1").delete("zone-1-1").delete("zone-1-0"), nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := Verify(test.story.events, test.story.requests, Rules{Operators: []Operator{clusterWide}})
			if got := OrderViolations(v.Disruptions); !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
