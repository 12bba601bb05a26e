package judge

import (
	"regexp"
	"time"
)

// evictionWebhook is a cluster with both webhooks and without budgets for evictions.
var evictionWebhook = Rules{EvictionWebhook: true, DownscaleWebhook: true}

// zoneBudget is a budget that counts evicted pods by zones.
func zoneBudget(to int) Rules {
	return Rules{EvictionWebhook: true, Budgets: []Budget{{Group: "g", Limit: to}}}
}

// partitionBudget is a budget that counts by the ordinal in a pod's name.
func partitionBudget(to int) Rules {
	return Rules{EvictionWebhook: true, DownscaleWebhook: true, Budgets: []Budget{{Group: "g", Limit: to, Partition: regexp.MustCompile(`^zone-[0-9]+-([01])$`)}}}
}

// partitionBudgets returns rules with such a budget of one pod for each group.
func partitionBudgets(groups ...string) Rules {
	rules := partitionBudget(1)
	for _, group := range groups[1:] {
		b := rules.Budgets[0]
		b.Group = group
		rules.Budgets = append(rules.Budgets, b)
	}
	return rules
}

func setNotReady(p *Pod) { p.Ready = false }

// unanswered removes the answer from a request, as if its API server was killed.
func unanswered(r *Request) {
	r.Code, r.UID, r.RequiredUID, r.RequiredVersion, r.Ended = 0, "", "", 0, time.Time{}
}

// serverKilledAfter is unanswered with a known time at which the API server was killed.
func serverKilledAfter(d time.Duration) func(*Request) {
	return func(r *Request) {
		end := r.Ended.Add(d)
		unanswered(r)
		r.Ended = end
	}
}

// joinedEviction is an eviction that joins a rollout with an intent for another pod and is executed
// first.
func joinedEviction(rolled, evicted string) *history {
	s := newHistory().holdForRollout("zone-1", rolled)
	return s.hold("rollout/zone-1", s.intentOf(rolled), s.intentOf(evicted)).evict(evicted).delete(rolled)
}

// promptEviction records the intent of an eviction 0.1 s after a pod of zone-2 broke, and evicts the
// pod after takes.
func promptEviction(takes time.Duration) *history {
	s := newHistory().requestEviction("zone-1-0", nil).deleteByOther("zone-2-1").holdForEviction("zone-1", "zone-1-0").writtenBy(operatorAgent)
	s.requests[len(s.requests)-1].Ended = s.now
	return s.after(takes).terminate("zone-1-0")
}

var plantedEvictions = map[string]plantedCase{
	"an eviction under its intent is not reported": {
		history: newHistory().holdForEviction("zone-1", "zone-1-0").evict("zone-1-0").replace("zone-1-0", true).
			holdForEviction("zone-2", "zone-2-1").evict("zone-2-1"),
		rules: evictionWebhook,
	},
	"an eviction joins a rollout of its zone": {
		history: newHistory().holdForRollout("zone-1", "zone-1-0").evict("zone-1-0"),
		rules:   evictionWebhook,
	},
	"a pod that a rollout recorded is deleted after an eviction has joined": {
		history: joinedEviction("zone-1-0", "zone-1-1"),
		rules:   zoneBudget(2),
	},
	"4: an eviction and the rollout that it joined are more than the budget for evictions allows": {
		history: joinedEviction("zone-1-0", "zone-1-1"),
		rules:   zoneBudget(1),
		want:    []string{"4 zone-1-0 was deleted, so 2 pods of its zone were down, 1 allowed"},
	},
	"4: a rollout joins an eviction beyond its own budget": {
		history: func() *history {
			s := newHistory().holdForEviction("zone-1", "zone-1-1").evict("zone-1-1").holdForRollout("zone-1", "zone-1-0")
			return s.delete("zone-1-0")
		}(),
		rules: zoneBudget(2),
		want:  []string{"4 zone-1-0 was deleted, so 2 pods of its zone were down, 1 allowed"},
	},
	"an eviction joins a downscale of its zone": {
		history: func() *history {
			s := newHistory()
			return s.hold("downscale/zone-1", s.intentOf("zone-1-0")).evict("zone-1-0")
		}(),
		rules: evictionWebhook,
	},
	"an eviction that concerns a pod that a downscale terminates does not disrupt the pod": {
		history: newHistory().intendDownscale("zone-2").requestEviction("zone-2-1", nil).scaleTo("zone-2", 1).terminate("zone-2-1").remove("zone-2-1").
			hold("").holdForEviction("zone-1", "zone-1-1").evict("zone-1-1"),
		rules: evictionWebhook,
	},
	"1: a pod within spec.replicas is evicted without an intent while its zone is scaled down": {
		history: newHistory().intendDownscale("zone-1").scaleTo("zone-1", 1).evict("zone-1-0"),
		rules:   evictionWebhook,
		want:    []string{"1 zone-1-0 was evicted without an intent"},
	},
	"1: a pod is evicted without an intent before its zone is scaled down": {
		history: newHistory().intendDownscale("zone-1").evict("zone-1-1").scaleTo("zone-1", 1),
		rules:   evictionWebhook,
		want:    []string{"1 zone-1-1 was evicted without an intent"},
	},
	"evictions without a webhook are not verified": {
		history: newHistory().evict("zone-1-0").evict("zone-2-0"),
	},
	"1: a pod is evicted without a Lease": {
		history: newHistory().evict("zone-1-0"),
		rules:   evictionWebhook,
		want:    []string{"1 zone-1-0 was evicted without a Lease of its group"},
	},
	"1: a pod is evicted without an intent": {
		history: newHistory().holdForEviction("zone-1", "zone-1-1").evict("zone-1-0"),
		rules:   evictionWebhook,
		want:    []string{"1 zone-1-0 was evicted without an intent"},
	},
	"1: a pod is evicted under the intent of its predecessor": {
		history: newHistory().holdForEviction("zone-1", "zone-1-0").evict("zone-1-0").replace("zone-1-0", true).evict("zone-1-0"),
		rules:   evictionWebhook,
		want:    []string{"1 zone-1-0 was evicted without an intent"},
	},
	"1: a pod is evicted under the Lease of another zone": {
		history: newHistory().holdForEviction("zone-2", "zone-1-0").evict("zone-1-0"),
		rules:   evictionWebhook,
		want:    []string{`1 zone-1-0 was evicted while "eviction/zone-2" had the Lease`},
	},
	"1: a pod is evicted while an evicted one of another zone is being replaced": {
		history: newHistory().holdForEviction("zone-1", "zone-1-0").evict("zone-1-0").replace("zone-1-0", false).
			holdForEviction("zone-2", "zone-2-0").evict("zone-2-0"),
		rules: evictionWebhook,
		want:  []string{"1 zone-2-0 of zone zone-2 was evicted while zone-1-0 of zone zone-1 was down"},
	},
	"1: a pod is evicted while a rolled one of another zone is being replaced": {
		history: newHistory().holdForRollout("zone-1", "zone-1-0").delete("zone-1-0").holdForEviction("zone-2", "zone-2-0").evict("zone-2-0"),
		rules:   evictionWebhook,
		want:    []string{"1 zone-2-0 of zone zone-2 was evicted while zone-1-0"},
	},
	"1: a pod is rolled while an evicted one of another zone is being replaced": {
		history: newHistory().holdForEviction("zone-1", "zone-1-0").evict("zone-1-0").holdForRollout("zone-2", "zone-2-0").delete("zone-2-0"),
		rules:   evictionWebhook,
		want:    []string{"1 zone-2-0 of zone zone-2 was deleted while zone-1-0"},
	},
	"1: a zone is scaled down while an evicted pod of another one is being replaced": {
		history: newHistory().holdForEviction("zone-2", "zone-2-0").evict("zone-2-0").intendDownscale("zone-1").scaleTo("zone-1", 1),
		rules:   evictionWebhook,
		want:    []string{"1 zone-1 was scaled down to 1 while zone-2-0"},
	},
	"1: a pod is evicted while another zone is scaled down": {
		history: newHistory().intendDownscale("zone-1").scaleTo("zone-1", 1).holdForEviction("zone-2", "zone-2-0").evict("zone-2-0"),
		rules:   evictionWebhook,
		want:    []string{"1 zone-2-0 of zone zone-2 was evicted while pods of zone zone-1 were terminating"},
	},
	"2: a pod is evicted long after another zone was broken": {
		history: newHistory().deleteByOther("zone-2-1").after(3*time.Second).holdForEviction("zone-1", "zone-1-0").evict("zone-1-0"),
		rules:   evictionWebhook,
		want:    []string{"2 zone-1-0 of zone zone-1 was evicted while zone-2-1"},
	},
	"2: an eviction that waited long is verified when the pod terminates": {
		history: newHistory().holdForEviction("zone-1", "zone-1-0").
			requestEviction("zone-1-0", func(r *Request) { r.Ended = r.Ended.Add(time.Minute) }).
			deleteByOther("zone-2-1").after(3 * time.Second).terminate("zone-1-0"),
		rules: evictionWebhook,
		want:  []string{"2 zone-1-0 of zone zone-1 was evicted while zone-2-1"},
	},
	"a pod is evicted just as another zone is broken": {
		history: newHistory().holdForEviction("zone-1", "zone-1-0").deleteByOther("zone-2-1").evict("zone-1-0"),
		rules:   evictionWebhook,
	},
	"an eviction waits until a pod of another zone has been Ready for minReadySeconds": {
		history: newHistory().zone("zone-1", setMinReady).after(time.Minute).holdForEviction("zone-1", "zone-1-0").evict("zone-1-0").replace("zone-1-0", true).
			requestEviction("zone-2-0", nil).after(5*time.Second).holdForEviction("zone-2", "zone-2-0").terminate("zone-2-0"),
		rules: evictionWebhook,
	},
	"another zone breaks just before an eviction is recorded, which the API server then carries out in less than a second": {
		history: promptEviction(850 * time.Millisecond),
		rules:   evictionWebhook,
	},
	"a pod that is down is evicted whatever else is down": {
		history: newHistory().deleteByOther("zone-2-1").pod("zone-1-0", setNotReady).after(3 * time.Second).evict("zone-1-0"),
		rules:   evictionWebhook,
	},
	"a pod that is terminating is evicted once more": {
		history: newHistory().deleteByOther("zone-2-1").after(3*time.Second).deleteByOther("zone-1-0").requestEviction("zone-1-0", nil),
		rules:   evictionWebhook,
	},
	"a pod of no zone is evicted": {
		history: newHistory().pod("other-0", nil).evict("other-0"),
		rules:   evictionWebhook,
	},
	"a pod of a StatefulSet outside groups is evicted": {
		history: newHistory().zone("zone-3", func(z *Zone) { z.Grouped, z.Group = false, "" }).pod("zone-3-0", nil).evict("zone-3-0"),
		rules:   evictionWebhook,
	},
	"an eviction that was refused did not delete the pod": {
		history: newHistory().requestEviction("zone-1-0", func(r *Request) { r.Code = 429 }).
			requestEviction("zone-1-0", func(r *Request) { r.Code = 500 }).after(3 * time.Second).terminate("zone-1-0"),
		rules: evictionWebhook,
	},
	"1: an eviction that failed just as its pod terminated deleted the pod": {
		history: newHistory().requestEviction("zone-1-0", func(r *Request) { r.Code = 500 }).terminate("zone-1-0"),
		rules:   evictionWebhook,
		want:    []string{"1 zone-1-0 was evicted without a Lease of its group"},
	},
	"1: an eviction whose API server was killed deleted the pod, not the final request of the kubelet": {
		history: newHistory().requestEviction("zone-1-0", unanswered).
			requestDelete("zone-1-0", func(r *Request) { r.User, r.ZeroGrace, r.RequiredUID, r.RequiredVersion = "kubelet", true, "", 0 }).
			terminate("zone-1-0"),
		rules: evictionWebhook,
		want:  []string{"1 zone-1-0 was evicted without a Lease of its group"},
	},
	"an eviction that failed did not delete the pod that another user deleted": {
		history: newHistory().requestEviction("zone-1-0", func(r *Request) { r.Code = 500 }).deleteByOther("zone-1-0"),
		rules:   evictionWebhook,
	},
	"an eviction that ended after another user had deleted the pod did not delete the pod": {
		history: newHistory().requestEviction("zone-1-0", func(r *Request) { r.Ended = r.Ended.Add(time.Second) }).after(time.Second).deleteByOther("zone-1-0"),
		rules:   evictionWebhook,
	},
	"1: an eviction that ended before another user's deletion deleted the pod": {
		history: newHistory().requestEviction("zone-1-0", nil).requestDelete("zone-1-0", func(r *Request) {
			r.User, r.RequiredUID, r.RequiredVersion, r.Ended = "another-client", "", 0, r.Ended.Add(3*time.Second)
		}).terminate("zone-1-0"),
		rules: evictionWebhook,
		want:  []string{"1 zone-1-0 was evicted without a Lease of its group"},
	},
	"a dry-run eviction did not delete the pod": {
		history: newHistory().requestEviction("zone-1-0", func(r *Request) { r.DryRun = true }).terminate("zone-1-0"),
		rules:   evictionWebhook,
	},
	"an eviction of the pod that had this name before did not delete the pod": {
		history: newHistory().holdForEviction("zone-1", "zone-1-0").evict("zone-1-0").replace("zone-1-0", true).hold("").after(3 * time.Second).terminate("zone-1-0"),
		rules:   evictionWebhook,
	},
	"an eviction that ended before there was this pod did not delete the pod": {
		history: newHistory().holdForEviction("zone-1", "zone-1-0").requestEviction("zone-1-0", func(r *Request) { r.RequiredUID = "" }).terminate("zone-1-0").
			after(3*time.Second).replace("zone-1-0", true).hold("").terminate("zone-1-0"),
		rules: evictionWebhook,
	},
	"an eviction that ended as this pod came did not delete the pod that a kubelet deleted by name a minute later": {
		history: newHistory().holdForEviction("zone-1", "zone-1-0").requestEviction("zone-1-0", func(r *Request) { r.RequiredUID = "" }).terminate("zone-1-0").
			replace("zone-1-0", true).hold("").after(time.Minute).
			requestDelete("zone-1-0", func(r *Request) { r.User, r.ZeroGrace, r.RequiredUID, r.RequiredVersion = "kubelet", true, "", 0 }).
			terminate("zone-1-0"),
		rules: evictionWebhook,
	},
	"an eviction whose API server was killed did not delete a later pod of this name, which a kubelet deleted": {
		history: newHistory().holdForEviction("zone-1", "zone-1-0").requestEviction("zone-1-0", serverKilledAfter(2*time.Second)).
			after(4*time.Second).deleteByOther("zone-1-0").
			replace("zone-1-0", true).hold("").after(4*time.Second).
			requestDelete("zone-1-0", func(r *Request) { r.User, r.ZeroGrace, r.RequiredUID, r.RequiredVersion = "kubelet", true, "", 0 }).
			terminate("zone-1-0"),
		rules: evictionWebhook,
	},
	"an eviction of a pod that terminates already did not delete it, although no watch had shown that": {
		history: evictedAfterKill(time.Second),
		rules:   evictionWebhook,
	},
	"1: an eviction in the second in which the pod began to terminate deleted it if the other deletion has no answer": {
		history: evictedAfterKill(0),
		rules:   evictionWebhook,
		want:    []string{`1 zone-1-0 was evicted without a Lease of its group`},
	},
	"an eviction under a budget alone is decided before its intent is written, although the zone is in the group again": {
		history: evictedOutsideOfGroup(),
		rules:   staleRules(Window{From: historyStart.Add(12 * time.Second), To: historyStart.Add(40 * time.Second)}),
	},
	"1: an eviction under a budget alone, although the zone is in the group again and no cache is late": {
		history: evictedOutsideOfGroup(),
		rules:   staleRules(),
		want:    []string{"1 zone-1-0 of zone zone-1 was evicted while zone-2-0", `1 zone-1-0 was evicted while "rollout/zone-2" had the Lease`},
	},
	"1: an eviction whose API server was killed at an unknown time deleted the pod if its outcome is unknown": {
		history: newHistory().holdForEviction("zone-1", "zone-1-0").requestEviction("zone-1-0", unanswered).
			after(4*time.Second).deleteByOther("zone-1-0").
			replace("zone-1-0", true).hold("").after(4*time.Second).
			requestDelete("zone-1-0", func(r *Request) { r.User, r.ZeroGrace, r.RequiredUID, r.RequiredVersion = "kubelet", true, "", 0 }).
			terminate("zone-1-0"),
		rules: evictionWebhook,
		want:  []string{`1 zone-1-0 was evicted while "" had the Lease of its group`},
	},
	"an eviction with an unknown outcome did not delete a pod that was gone at once, as kubelets delete": {
		history: newHistory().holdForEviction("zone-1", "zone-1-0").requestEviction("zone-1-0", unanswered).
			after(4*time.Second).deleteByOther("zone-1-0").
			replace("zone-1-0", true).hold("").after(4*time.Second).
			requestDelete("zone-1-0", func(r *Request) { r.User, r.ZeroGrace, r.RequiredUID, r.RequiredVersion = "kubelet", true, "", 0 }).
			remove("zone-1-0"),
		rules: evictionWebhook,
	},
	"1: an eviction that ended as this pod came deleted the pod if its outcome is unknown": {
		history: newHistory().holdForEviction("zone-1", "zone-1-0").requestEviction("zone-1-0", func(r *Request) { r.RequiredUID = "" }).terminate("zone-1-0").
			replace("zone-1-0", true).hold("").after(time.Minute).terminate("zone-1-0"),
		rules: evictionWebhook,
		want:  []string{`1 zone-1-0 was evicted while "" had the Lease of its group`},
	},
	"1: a pod is deleted next to one of its zone that was evicted by its partition": {
		history: newHistory().zone("zone-1", func(z *Zone) { z.MaxUnavailable = 2 }).after(3*time.Second).
			holdForEviction("partitions", "zone-1-0").evict("zone-1-0").holdForRollout("zone-1", "zone-1-1").delete("zone-1-1"),
		rules: partitionBudget(1),
		want:  []string{"1 zone-1-1 was deleted while zone-1-0 was down by an eviction by partitions"},
	},
	"a pod is deleted in another group next to one of its zone that was evicted by its partition before the zone moved": {
		history: newHistory().zone("zone-1", func(z *Zone) { z.MaxUnavailable = 2 }).after(3*time.Second).
			holdForEviction("partitions", "zone-1-0").evict("zone-1-0").setGroup("elsewhere").after(3*time.Second).
			holdForRolloutIn("elsewhere", "zone-1", "zone-1-1").delete("zone-1-1"),
		rules: partitionBudgets("g", "elsewhere"),
	},
	"1: a zone is scaled down next to a pod of it that was evicted by its partition": {
		history: newHistory().holdForEviction("partitions", "zone-1-0").evict("zone-1-0").intendDownscale("zone-1").scaleTo("zone-1", 1),
		rules:   partitionBudget(1),
		want:    []string{"1 zone-1 was scaled down to 1 while zone-1-0 was down by an eviction by partitions"},
	},
	"1: a pod is evicted by its partition while its zone is scaled down": {
		history: newHistory().intendDownscale("zone-1").scaleTo("zone-1", 1).holdForEviction("partitions", "zone-1-0").evict("zone-1-0"),
		rules:   partitionBudget(1),
		want:    []string{"1 zone-1-0 of zone zone-1 was evicted while pods of zone zone-1 were terminating by a downscale"},
	},
	"1: an eviction by name alone is verified too": {
		history: newHistory().requestEviction("zone-1-0", func(r *Request) { r.RequiredUID = "" }).terminate("zone-1-0"),
		rules:   evictionWebhook,
		want:    []string{"1 zone-1-0 was evicted without a Lease of its group"},
	},
	"1: an eviction without an answer may have deleted the pod": {
		history: newHistory().requestEviction("zone-1-0", func(r *Request) { r.Code = 504 }).terminate("zone-1-0"),
		rules:   evictionWebhook,
		want:    []string{"1 zone-1-0 was evicted without a Lease of its group"},
	},
	"a deletion that required the pod as it was deleted it, not the eviction that was requested before": {
		history: newHistory().holdForRollout("zone-1", "zone-1-0").requestEviction("zone-1-0", nil).delete("zone-1-0"),
		rules:   zoneBudget(0),
	},
	"an eviction ignores pauses and update strategies": {
		history: newHistory().zone("zone-1", pauseZone).zone("zone-2", useRollingUpdate).after(3*time.Second).holdForEviction("zone-1", "zone-1-0").evict("zone-1-0"),
		rules:   evictionWebhook,
	},

	"5: an eviction does not require a UID": {
		history: newHistory().holdForEviction("zone-1", "zone-1-0").requestEviction("zone-1-0", func(r *Request) { r.RequiredUID = "" }).terminate("zone-1-0"),
		rules:   Rules{EvictionWebhook: true, PinnedEvictions: true},
		want:    []string{"5 zone-1-0 was evicted by a request that does not require its UID"},
	},
	"an eviction requires the UID of its pod": {
		history: newHistory().holdForEviction("zone-1", "zone-1-0").evict("zone-1-0"), rules: Rules{EvictionWebhook: true, PinnedEvictions: true},
	},
	"the preconditions of an eviction are unknown": {
		history: newHistory().holdForEviction("zone-1", "zone-1-0").requestEviction("zone-1-0", unanswered).terminate("zone-1-0"),
		rules:   Rules{EvictionWebhook: true, PinnedEvictions: true},
	},

	"4: two pods of a zone are evicted": {
		history: newHistory().holdForEviction("zone-1", "zone-1-0", "zone-1-1").evict("zone-1-0").evict("zone-1-1"),
		rules:   evictionWebhook,
		want:    []string{"4 zone-1-1 was evicted, so 2 pods of its zone were down, 1 allowed"},
	},
	"two pods of a zone are evicted as its annotation allows": {
		history: newHistory().zone("zone-1", func(z *Zone) { z.MaxUnavailable = 2 }).
			holdForEviction("zone-1", "zone-1-0", "zone-1-1").evict("zone-1-0").evict("zone-1-1"),
		rules: evictionWebhook,
	},
	"two pods of a zone are evicted as its budget allows": {
		history: newHistory().holdForEviction("zone-1", "zone-1-0", "zone-1-1").evict("zone-1-0").evict("zone-1-1"),
		rules:   zoneBudget(2),
	},
	"4: two pods of a zone are evicted, and its budget allows less than its annotation": {
		history: newHistory().zone("zone-1", func(z *Zone) { z.MaxUnavailable = 2 }).
			holdForEviction("zone-1", "zone-1-0", "zone-1-1").evict("zone-1-0").evict("zone-1-1"),
		rules: zoneBudget(1),
		want:  []string{"4 zone-1-1 was evicted, so 2 pods of its zone were down, 1 allowed"},
	},
	"4: two pods of a zone are rolled, and its budget allows less than its annotation": {
		history: newHistory().zone("zone-1", func(z *Zone) { z.MaxUnavailable = 2 }).
			holdForRollout("zone-1", "zone-1-0", "zone-1-1").delete("zone-1-0").delete("zone-1-1"),
		rules: zoneBudget(1),
		want:  []string{"4 zone-1-1 was deleted, so 2 pods of its zone were down, 1 allowed"},
	},
	"4: a pod is evicted where the budget allows no evictions": {
		history: newHistory().holdForEviction("zone-1", "zone-1-0").evict("zone-1-0"),
		rules:   zoneBudget(0),
		want:    []string{"4 zone-1-0 was evicted, so 1 pods of its zone were down, 0 allowed"},
	},
	"a pod is rolled where the budget allows no evictions": {
		history: newHistory().holdForRollout("zone-1", "zone-1-0").delete("zone-1-0"),
		rules:   zoneBudget(0),
	},
	"4: an evicted pod and a rolled one are down together": {
		history: newHistory().holdForRollout("zone-1", "zone-1-0", "zone-1-1").evict("zone-1-0").delete("zone-1-1"),
		rules:   evictionWebhook,
		want:    []string{"4 zone-1-1 was deleted, so 2 pods of its zone were down, 1 allowed"},
	},
	"a budget of another group allows nothing and forbids nothing": {
		history: func() *history {
			s := newHistory().addGroup("another", "zone-3")
			return s.holdOf("another", "eviction/zone-3", s.intentOf("zone-3-0")).evict("zone-3-0")
		}(),
		rules: zoneBudget(0),
	},

	"pods of different partitions are evicted in two zones": {
		history: newHistory().holdForEviction("partitions", "zone-1-0", "zone-2-1").evict("zone-1-0").evict("zone-2-1"),
		rules:   partitionBudget(1),
	},
	"pods of different partitions are evicted in one zone": {
		history: newHistory().holdForEviction("partitions", "zone-1-0", "zone-1-1").evict("zone-1-0").evict("zone-1-1"),
		rules:   partitionBudget(1),
	},
	"4: pods of one partition are evicted in two zones": {
		history: newHistory().holdForEviction("partitions", "zone-1-0", "zone-2-0").evict("zone-1-0").evict("zone-2-0"),
		rules:   partitionBudget(1),
		want:    []string{"4 zone-2-0 was evicted while 1 pods of partition 0 were down in other zones, fewer than 1 wanted"},
	},
	"pods of one partition are evicted in two zones as the budget allows": {
		history: newHistory().holdForEviction("partitions", "zone-1-0", "zone-2-0").evict("zone-1-0").evict("zone-2-0"),
		rules:   partitionBudget(2),
	},
	"4: a pod is evicted long after the partition was broken elsewhere": {
		history: newHistory().deleteByOther("zone-1-0").after(3*time.Second).holdForEviction("partitions", "zone-2-0").evict("zone-2-0"),
		rules:   partitionBudget(1),
		want:    []string{"4 zone-2-0 was evicted while 1 pods of partition 0"},
	},
	"a pod is evicted long after another partition was broken elsewhere": {
		history: newHistory().deleteByOther("zone-1-0").after(3*time.Second).holdForEviction("partitions", "zone-2-1").evict("zone-2-1"),
		rules:   partitionBudget(1),
	},
	"4: a pod of no known partition is evicted": {
		history: newHistory().zone("zone-1", func(z *Zone) { z.Replicas = 3 }).pod("zone-1-2", nil).after(3*time.Second).
			holdForEviction("partitions", "zone-1-2").evict("zone-1-2"),
		rules: partitionBudget(1),
		want:  []string{"4 zone-1-2 was evicted, which is in no partition"},
	},
	"4: a pod is evicted where the budget allows none of a partition": {
		history: newHistory().holdForEviction("partitions", "zone-1-0").evict("zone-1-0"),
		rules:   partitionBudget(0),
		want:    []string{"4 zone-1-0 was evicted while 0 pods of partition 0"},
	},
	"1: a pod is evicted by partition under the hold of its zone": {
		history: newHistory().holdForEviction("zone-1", "zone-1-0").evict("zone-1-0"),
		rules:   partitionBudget(1),
		want:    []string{`1 zone-1-0 was evicted while "eviction/zone-1" had the Lease`},
	},
	"1: a pod is evicted by zone under the hold of partitions": {
		history: newHistory().holdForEviction("partitions", "zone-1-0").evict("zone-1-0"),
		rules:   evictionWebhook,
		want:    []string{`1 zone-1-0 was evicted while "eviction/partitions" had the Lease`},
	},
	"1: a pod of another partition is evicted while a rolled one is being replaced": {
		history: newHistory().holdForRollout("zone-1", "zone-1-0").delete("zone-1-0").replace("zone-1-0", false).
			holdForEviction("partitions", "zone-2-1").evict("zone-2-1"),
		rules: partitionBudget(1),
		want:  []string{"1 zone-2-1 was evicted while zone-1-0 was down by a rollout"},
	},
	"a pod is evicted by its partition while a pod is down by a rollout of the group that its zone came from": {
		history: newHistory().setGroup("elsewhere").after(3*time.Second).holdForRolloutIn("elsewhere", "zone-1", "zone-1-0").delete("zone-1-0").
			setGroup("g").after(3*time.Second).holdForEviction("partitions", "zone-2-1").evict("zone-2-1"),
		rules: partitionBudgets("g", "elsewhere"),
	},
	"1: a pod is rolled while evicted ones are being replaced": {
		history: newHistory().holdForEviction("partitions", "zone-1-0").evict("zone-1-0").holdForRollout("zone-2", "zone-2-1").delete("zone-2-1"),
		rules:   partitionBudget(1),
		want:    []string{"1 zone-2-1 of zone zone-2 was deleted while zone-1-0"},
	},
	"1: a pod is evicted by partition while a zone is scaled down": {
		history: newHistory().intendDownscale("zone-1").scaleTo("zone-1", 1).holdForEviction("partitions", "zone-2-0").evict("zone-2-0"),
		rules:   partitionBudget(1),
		want:    []string{"1 zone-2-0 of zone zone-2 was evicted while pods of zone zone-1 were terminating"},
	},
}

// evictedAfterKill returns a history in which a client deletes a pod, and the API server is killed before it answers. That
// long after the deletion an eviction of the pod arrives, and a watch shows only later that the pod terminates.
func evictedAfterKill(later time.Duration) *history {
	h := newHistory()
	h.requestDelete("zone-1-0", func(r *Request) {
		r.User, r.RequiredUID, r.RequiredVersion = "another-client", "", 0
		serverKilledAfter(100 * time.Millisecond)(r)
	})
	began := last(h.requests).At
	h.after(later).requestEviction("zone-1-0", nil).after(4 * time.Second)
	return h.pod("zone-1-0", func(p *Pod) { p.Terminating, p.TerminatedAt = true, began })
}

// evictedOutsideOfGroup returns a history in which a zone is in no group for some seconds. A pod of it is evicted then, which only
// the Lease of a budget records. The zone comes back before that, and another zone is rolled.
func evictedOutsideOfGroup() *history {
	h := newHistory().after(10 * time.Second).setGroup("").after(4 * time.Second)
	h.requestEviction("zone-1-0", func(r *Request) { r.Ended = r.At.Add(5 * time.Second) })
	h.after(800 * time.Millisecond).setGroup("g").after(1200 * time.Millisecond)
	write := func(name string) *history {
		took := h.now.Add(300 * time.Millisecond)
		return h.request(Request{Verb: "update", Resource: "leases", Name: name, Code: 200, Version: uint64(len(h.events) + 1), Ended: took})
	}
	write("lockstep-budget-g").holdOf("", "eviction/zone-1", h.intentOf("zone-1-0"))
	return write("lockstep-group-g").holdForRollout("zone-2", "zone-2-0").delete("zone-2-0").terminate("zone-1-0")
}

// staleRules returns the rules of a cluster with the webhook of evictions, whose caches were late.
func staleRules(windows ...Window) Rules { return Rules{EvictionWebhook: true, StaleCaches: windows} }
