package judge

import (
	"regexp"
	"time"
)

// evicting: evictions go through admission, without a budget of their own.
var evicting = Rules{Evicting: true, Guarded: true}

// limited is a budget for evictions that counts by zones.
func limited(to int) Rules {
	return Rules{Evicting: true, Budgets: []Budget{{Group: "g", Limit: to}}}
}

// partitioned is a budget for evictions that counts by the number in a pod's name.
func partitioned(to int) Rules {
	return Rules{Evicting: true, Guarded: true, Budgets: []Budget{{Group: "g", Limit: to, Partition: regexp.MustCompile(`^zone-[0-9]+-([01])$`)}}}
}

func unready(p *Pod) { p.Ready = false }

// unanswered is what the audit log has of a request whose API server was killed.
func unanswered(r *Request) {
	r.Code, r.UID, r.RequiredUID, r.RequiredVersion, r.Ended = 0, "", "", 0, time.Time{}
}

// killedAfter is the same where it is known by when the API server had been killed.
func killedAfter(d time.Duration) func(*Request) {
	return func(r *Request) {
		end := r.Ended.Add(d)
		unanswered(r)
		r.Ended = end
	}
}

// joined is an eviction that joins a rollout which has noted a pod, and comes first.
func joined(rolled, evicted string) *story {
	s := newStory().note("zone-1", rolled)
	return s.hold("rollout/zone-1", s.noteOf(rolled), s.noteOf(evicted)).evict(evicted).delete(rolled)
}

// evictedAtOnce is an eviction that is noted 0.1 s after a pod of zone-2 broke, and then
// carried out in time.
func evictedAtOnce(takes time.Duration) *story {
	s := newStory().asksToEvict("zone-1-0", nil).breaks("zone-2-1").grants("zone-1", "zone-1-0").wrote(operatorAgent)
	s.requests[len(s.requests)-1].Ended = s.now
	return s.later(takes).leaves("zone-1-0")
}

var plantedEvictions = map[string]planted{
	"an eviction under its note is not objected to": {
		story: newStory().grants("zone-1", "zone-1-0").evict("zone-1-0").replace("zone-1-0", true).
			grants("zone-2", "zone-2-1").evict("zone-2-1"),
		rules: evicting,
	},
	"an eviction joins a rollout of its zone": {
		story: newStory().note("zone-1", "zone-1-0").evict("zone-1-0"),
		rules: evicting,
	},
	"a pod that a rollout noted is deleted after an eviction has joined": {
		story: joined("zone-1-0", "zone-1-1"),
		rules: limited(2),
	},
	"4: an eviction and the rollout that it joined are more than evictions may be": {
		story: joined("zone-1-0", "zone-1-1"),
		rules: limited(1),
		want:  []string{"4 zone-1-0 was deleted, so 2 pods of its zone were down, 1 allowed"},
	},
	"4: a rollout joins an eviction beyond its own budget": {
		story: func() *story {
			s := newStory().grants("zone-1", "zone-1-1").evict("zone-1-1").note("zone-1", "zone-1-0")
			return s.delete("zone-1-0")
		}(),
		rules: limited(2),
		want:  []string{"4 zone-1-0 was deleted, so 2 pods of its zone were down, 1 allowed"},
	},
	"an eviction joins a downscale of its zone": {
		story: func() *story {
			s := newStory()
			return s.hold("downscale/zone-1", s.noteOf("zone-1-0")).evict("zone-1-0")
		}(),
		rules: evicting,
	},
	"an eviction that finds a pod leaving by a decrease takes nobody down": {
		story: newStory().shrinks("zone-2").asksToEvict("zone-2-1", nil).decrease("zone-2", 1).leaves("zone-2-1").left("zone-2-1").
			hold("").grants("zone-1", "zone-1-1").evict("zone-1-1"),
		rules: evicting,
	},
	"1: a pod that stays is evicted without a note while its zone shrinks": {
		story: newStory().shrinks("zone-1").decrease("zone-1", 1).evict("zone-1-0"),
		rules: evicting,
		want:  []string{"1 zone-1-0 was evicted without a note"},
	},
	"1: a pod is evicted without a note before its zone shrinks": {
		story: newStory().shrinks("zone-1").evict("zone-1-1").decrease("zone-1", 1),
		rules: evicting,
		want:  []string{"1 zone-1-1 was evicted without a note"},
	},
	"evictions that nobody guards are nobody's": {
		story: newStory().evict("zone-1-0").evict("zone-2-0"),
	},
	"1: a pod is evicted without a Lease": {
		story: newStory().evict("zone-1-0"),
		rules: evicting,
		want:  []string{"1 zone-1-0 was evicted without a Lease of its group"},
	},
	"1: a pod is evicted without a note": {
		story: newStory().grants("zone-1", "zone-1-1").evict("zone-1-0"),
		rules: evicting,
		want:  []string{"1 zone-1-0 was evicted without a note"},
	},
	"1: a pod is evicted under the note of the one before it": {
		story: newStory().grants("zone-1", "zone-1-0").evict("zone-1-0").replace("zone-1-0", true).evict("zone-1-0"),
		rules: evicting,
		want:  []string{"1 zone-1-0 was evicted without a note"},
	},
	"1: a pod is evicted under the Lease of another zone": {
		story: newStory().grants("zone-2", "zone-1-0").evict("zone-1-0"),
		rules: evicting,
		want:  []string{`1 zone-1-0 was evicted while "eviction/zone-2" had the Lease`},
	},
	"1: a pod is evicted while an evicted one of another zone is on its way back": {
		story: newStory().grants("zone-1", "zone-1-0").evict("zone-1-0").replace("zone-1-0", false).
			grants("zone-2", "zone-2-0").evict("zone-2-0"),
		rules: evicting,
		want:  []string{"1 zone-2-0 of zone zone-2 was evicted while zone-1-0 of zone zone-1 was down"},
	},
	"1: a pod is evicted while a rolled one of another zone is on its way back": {
		story: newStory().note("zone-1", "zone-1-0").delete("zone-1-0").grants("zone-2", "zone-2-0").evict("zone-2-0"),
		rules: evicting,
		want:  []string{"1 zone-2-0 of zone zone-2 was evicted while zone-1-0"},
	},
	"1: a pod is rolled while an evicted one of another zone is on its way back": {
		story: newStory().grants("zone-1", "zone-1-0").evict("zone-1-0").note("zone-2", "zone-2-0").delete("zone-2-0"),
		rules: evicting,
		want:  []string{"1 zone-2-0 of zone zone-2 was deleted while zone-1-0"},
	},
	"1: a zone shrinks while an evicted pod of another one is on its way back": {
		story: newStory().grants("zone-2", "zone-2-0").evict("zone-2-0").shrinks("zone-1").decrease("zone-1", 1),
		rules: evicting,
		want:  []string{"1 zone-1 shrank to 1 while zone-2-0"},
	},
	"1: a pod is evicted while another zone shrinks": {
		story: newStory().shrinks("zone-1").decrease("zone-1", 1).grants("zone-2", "zone-2-0").evict("zone-2-0"),
		rules: evicting,
		want:  []string{"1 zone-2-0 of zone zone-2 was evicted while pods of zone zone-1 were leaving"},
	},
	"2: a pod is evicted long after another zone was broken": {
		story: newStory().breaks("zone-2-1").later(3*time.Second).grants("zone-1", "zone-1-0").evict("zone-1-0"),
		rules: evicting,
		want:  []string{"2 zone-1-0 of zone zone-1 was evicted while zone-2-1"},
	},
	"2: an eviction that waited long is judged when the pod leaves": {
		story: newStory().grants("zone-1", "zone-1-0").
			asksToEvict("zone-1-0", func(r *Request) { r.Ended = r.Ended.Add(time.Minute) }).
			breaks("zone-2-1").later(3 * time.Second).leaves("zone-1-0"),
		rules: evicting,
		want:  []string{"2 zone-1-0 of zone zone-1 was evicted while zone-2-1"},
	},
	"a pod is evicted in the moment in which another zone is broken": {
		story: newStory().grants("zone-1", "zone-1-0").breaks("zone-2-1").evict("zone-1-0"),
		rules: evicting,
	},
	"an eviction waits until a pod of another zone has been Ready for long enough": {
		story: newStory().zone("zone-1", slowly).later(time.Minute).grants("zone-1", "zone-1-0").evict("zone-1-0").replace("zone-1-0", true).
			asksToEvict("zone-2-0", nil).later(5*time.Second).grants("zone-2", "zone-2-0").leaves("zone-2-0"),
		rules: evicting,
	},
	"another zone breaks just before an eviction is noted, which the API server then carries out in less than a second": {
		story: evictedAtOnce(850 * time.Millisecond),
		rules: evicting,
	},
	"a pod that is down is evicted whatever else is down": {
		story: newStory().breaks("zone-2-1").pod("zone-1-0", unready).later(3 * time.Second).evict("zone-1-0"),
		rules: evicting,
	},
	"a pod that is leaving is evicted once more": {
		story: newStory().breaks("zone-2-1").later(3*time.Second).breaks("zone-1-0").asksToEvict("zone-1-0", nil),
		rules: evicting,
	},
	"a pod of no zone is evicted": {
		story: newStory().pod("other-0", nil).evict("other-0"),
		rules: evicting,
	},
	"a pod of a StatefulSet outside groups is evicted": {
		story: newStory().zone("zone-3", func(z *Zone) { z.Grouped, z.Group = false, "" }).pod("zone-3-0", nil).evict("zone-3-0"),
		rules: evicting,
	},
	"an eviction that was refused took nobody down": {
		story: newStory().asksToEvict("zone-1-0", func(r *Request) { r.Code = 429 }).
			asksToEvict("zone-1-0", func(r *Request) { r.Code = 500 }).later(3 * time.Second).leaves("zone-1-0"),
		rules: evicting,
	},
	"1: an eviction that failed as its pod left had its effect": {
		story: newStory().asksToEvict("zone-1-0", func(r *Request) { r.Code = 500 }).leaves("zone-1-0"),
		rules: evicting,
		want:  []string{"1 zone-1-0 was evicted without a Lease of its group"},
	},
	"1: an eviction whose API server was killed had its effect, not what the kubelet asked for at the end": {
		story: newStory().asksToEvict("zone-1-0", unanswered).
			asksToDelete("zone-1-0", func(r *Request) { r.User, r.AtOnce, r.RequiredUID, r.RequiredVersion = "kubelet", true, "", 0 }).
			leaves("zone-1-0"),
		rules: evicting,
		want:  []string{"1 zone-1-0 was evicted without a Lease of its group"},
	},
	"an eviction that failed did not do what somebody's deletion did": {
		story: newStory().asksToEvict("zone-1-0", func(r *Request) { r.Code = 500 }).breaks("zone-1-0"),
		rules: evicting,
	},
	"an eviction that was judged when somebody had deleted the pod took nobody down": {
		story: newStory().asksToEvict("zone-1-0", func(r *Request) { r.Ended = r.Ended.Add(time.Second) }).later(time.Second).breaks("zone-1-0"),
		rules: evicting,
	},
	"1: an eviction that ended before somebody's deletion took the pod down": {
		story: newStory().asksToEvict("zone-1-0", nil).asksToDelete("zone-1-0", func(r *Request) {
			r.User, r.RequiredUID, r.RequiredVersion, r.Ended = "somebody", "", 0, r.Ended.Add(3*time.Second)
		}).leaves("zone-1-0"),
		rules: evicting,
		want:  []string{"1 zone-1-0 was evicted without a Lease of its group"},
	},
	"an eviction on trial took nobody down": {
		story: newStory().asksToEvict("zone-1-0", func(r *Request) { r.DryRun = true }).leaves("zone-1-0"),
		rules: evicting,
	},
	"an eviction of the pod that had this name before took nobody down": {
		story: newStory().grants("zone-1", "zone-1-0").evict("zone-1-0").replace("zone-1-0", true).hold("").later(3 * time.Second).leaves("zone-1-0"),
		rules: evicting,
	},
	"an eviction that ended before there was this pod took nobody down": {
		story: newStory().grants("zone-1", "zone-1-0").asksToEvict("zone-1-0", func(r *Request) { r.RequiredUID = "" }).leaves("zone-1-0").
			later(3*time.Second).replace("zone-1-0", true).hold("").leaves("zone-1-0"),
		rules: evicting,
	},
	"an eviction that ended as this pod came took nobody down a minute later, when a kubelet deleted what has the name": {
		story: newStory().grants("zone-1", "zone-1-0").asksToEvict("zone-1-0", func(r *Request) { r.RequiredUID = "" }).leaves("zone-1-0").
			replace("zone-1-0", true).hold("").later(time.Minute).
			asksToDelete("zone-1-0", func(r *Request) { r.User, r.AtOnce, r.RequiredUID, r.RequiredVersion = "kubelet", true, "", 0 }).
			leaves("zone-1-0"),
		rules: evicting,
	},
	"an eviction whose API server was killed took nobody down who came later, when a kubelet deleted what has the name": {
		story: newStory().grants("zone-1", "zone-1-0").asksToEvict("zone-1-0", killedAfter(2*time.Second)).
			later(4*time.Second).breaks("zone-1-0").
			replace("zone-1-0", true).hold("").later(4*time.Second).
			asksToDelete("zone-1-0", func(r *Request) { r.User, r.AtOnce, r.RequiredUID, r.RequiredVersion = "kubelet", true, "", 0 }).
			leaves("zone-1-0"),
		rules: evicting,
	},
	"1: an eviction whose API server was killed at an unknown time took it down, as far as anybody knows": {
		story: newStory().grants("zone-1", "zone-1-0").asksToEvict("zone-1-0", unanswered).
			later(4*time.Second).breaks("zone-1-0").
			replace("zone-1-0", true).hold("").later(4*time.Second).
			asksToDelete("zone-1-0", func(r *Request) { r.User, r.AtOnce, r.RequiredUID, r.RequiredVersion = "kubelet", true, "", 0 }).
			leaves("zone-1-0"),
		rules: evicting,
		want:  []string{`1 zone-1-0 was evicted while "" had the Lease of its group`},
	},
	"1: an eviction that ended as this pod came took it down, as far as anybody knows": {
		story: newStory().grants("zone-1", "zone-1-0").asksToEvict("zone-1-0", func(r *Request) { r.RequiredUID = "" }).leaves("zone-1-0").
			replace("zone-1-0", true).hold("").later(time.Minute).leaves("zone-1-0"),
		rules: evicting,
		want:  []string{`1 zone-1-0 was evicted while "" had the Lease of its group`},
	},
	"1: a pod is deleted beside one of its zone that was evicted by its partition": {
		story: newStory().zone("zone-1", func(z *Zone) { z.Budget = 2 }).later(3*time.Second).
			grants("partitions", "zone-1-0").evict("zone-1-0").note("zone-1", "zone-1-1").delete("zone-1-1"),
		rules: partitioned(1),
		want:  []string{"1 zone-1-1 was deleted while zone-1-0 was down by an eviction that goes by partitions"},
	},
	"1: a zone shrinks beside a pod of it that was evicted by its partition": {
		story: newStory().grants("partitions", "zone-1-0").evict("zone-1-0").shrinks("zone-1").decrease("zone-1", 1),
		rules: partitioned(1),
		want:  []string{"1 zone-1 shrank to 1 while zone-1-0 was down by an eviction that goes by partitions"},
	},
	"1: a pod is evicted by its partition while its zone shrinks": {
		story: newStory().shrinks("zone-1").decrease("zone-1", 1).grants("partitions", "zone-1-0").evict("zone-1-0"),
		rules: partitioned(1),
		want:  []string{"1 zone-1-0 of zone zone-1 was evicted while pods of zone zone-1 were leaving by a decrease"},
	},
	"1: an eviction of whatever has the name is one too": {
		story: newStory().asksToEvict("zone-1-0", func(r *Request) { r.RequiredUID = "" }).leaves("zone-1-0"),
		rules: evicting,
		want:  []string{"1 zone-1-0 was evicted without a Lease of its group"},
	},
	"1: an eviction that nobody heard the answer of may have had its effect": {
		story: newStory().asksToEvict("zone-1-0", func(r *Request) { r.Code = 504 }).leaves("zone-1-0"),
		rules: evicting,
		want:  []string{"1 zone-1-0 was evicted without a Lease of its group"},
	},
	"a deletion that required the pod as it was took it down, not the eviction that was asked for before": {
		story: newStory().note("zone-1", "zone-1-0").asksToEvict("zone-1-0", nil).delete("zone-1-0"),
		rules: limited(0),
	},
	"an eviction binds no rollout's rules": {
		story: newStory().zone("zone-1", stops).zone("zone-2", rolls).later(3*time.Second).grants("zone-1", "zone-1-0").evict("zone-1-0"),
		rules: evicting,
	},

	"5: an eviction is bound to no pod": {
		story: newStory().grants("zone-1", "zone-1-0").asksToEvict("zone-1-0", func(r *Request) { r.RequiredUID = "" }).leaves("zone-1-0"),
		rules: Rules{Evicting: true, Pinned: true},
		want:  []string{"5 zone-1-0 was evicted by a request that is not bound to the very pod"},
	},
	"an eviction is bound to the very pod": {
		story: newStory().grants("zone-1", "zone-1-0").evict("zone-1-0"), rules: Rules{Evicting: true, Pinned: true},
	},
	"what an eviction was bound to is not known": {
		story: newStory().grants("zone-1", "zone-1-0").asksToEvict("zone-1-0", unanswered).leaves("zone-1-0"),
		rules: Rules{Evicting: true, Pinned: true},
	},

	"4: two pods of a zone are evicted": {
		story: newStory().grants("zone-1", "zone-1-0", "zone-1-1").evict("zone-1-0").evict("zone-1-1"),
		rules: evicting,
		want:  []string{"4 zone-1-1 was evicted, so 2 pods of its zone were down, 1 allowed"},
	},
	"two pods of a zone are evicted and may, as its annotation says": {
		story: newStory().zone("zone-1", func(z *Zone) { z.Budget = 2 }).
			grants("zone-1", "zone-1-0", "zone-1-1").evict("zone-1-0").evict("zone-1-1"),
		rules: evicting,
	},
	"two pods of a zone are evicted and may, as its budget says": {
		story: newStory().grants("zone-1", "zone-1-0", "zone-1-1").evict("zone-1-0").evict("zone-1-1"),
		rules: limited(2),
	},
	"4: two pods of a zone are evicted, and its budget allows less than its annotation": {
		story: newStory().zone("zone-1", func(z *Zone) { z.Budget = 2 }).
			grants("zone-1", "zone-1-0", "zone-1-1").evict("zone-1-0").evict("zone-1-1"),
		rules: limited(1),
		want:  []string{"4 zone-1-1 was evicted, so 2 pods of its zone were down, 1 allowed"},
	},
	"4: two pods of a zone are rolled, and its budget allows less than its annotation": {
		story: newStory().zone("zone-1", func(z *Zone) { z.Budget = 2 }).
			note("zone-1", "zone-1-0", "zone-1-1").delete("zone-1-0").delete("zone-1-1"),
		rules: limited(1),
		want:  []string{"4 zone-1-1 was deleted, so 2 pods of its zone were down, 1 allowed"},
	},
	"4: a pod is evicted where evictions are barred": {
		story: newStory().grants("zone-1", "zone-1-0").evict("zone-1-0"),
		rules: limited(0),
		want:  []string{"4 zone-1-0 was evicted, so 1 pods of its zone were down, 0 allowed"},
	},
	"a pod is rolled where evictions are barred": {
		story: newStory().note("zone-1", "zone-1-0").delete("zone-1-0"),
		rules: limited(0),
	},
	"4: an evicted pod and a rolled one are down together": {
		story: newStory().note("zone-1", "zone-1-0", "zone-1-1").evict("zone-1-0").delete("zone-1-1"),
		rules: evicting,
		want:  []string{"4 zone-1-1 was deleted, so 2 pods of its zone were down, 1 allowed"},
	},
	"a budget of another group allows nothing and forbids nothing": {
		story: func() *story {
			s := newStory().inGroup("another", "zone-3")
			return s.holdOf("another", "eviction/zone-3", s.noteOf("zone-3-0")).evict("zone-3-0")
		}(),
		rules: limited(0),
	},

	"pods of different partitions are evicted in two zones": {
		story: newStory().grants("partitions", "zone-1-0", "zone-2-1").evict("zone-1-0").evict("zone-2-1"),
		rules: partitioned(1),
	},
	"pods of different partitions are evicted in one zone": {
		story: newStory().grants("partitions", "zone-1-0", "zone-1-1").evict("zone-1-0").evict("zone-1-1"),
		rules: partitioned(1),
	},
	"4: pods of one partition are evicted in two zones": {
		story: newStory().grants("partitions", "zone-1-0", "zone-2-0").evict("zone-1-0").evict("zone-2-0"),
		rules: partitioned(1),
		want:  []string{"4 zone-2-0 was evicted while 1 pods of partition 0 were down in other zones, fewer than 1 wanted"},
	},
	"pods of one partition are evicted in two zones, and may": {
		story: newStory().grants("partitions", "zone-1-0", "zone-2-0").evict("zone-1-0").evict("zone-2-0"),
		rules: partitioned(2),
	},
	"4: a pod is evicted long after the partition was broken elsewhere": {
		story: newStory().breaks("zone-1-0").later(3*time.Second).grants("partitions", "zone-2-0").evict("zone-2-0"),
		rules: partitioned(1),
		want:  []string{"4 zone-2-0 was evicted while 1 pods of partition 0"},
	},
	"a pod is evicted long after another partition was broken elsewhere": {
		story: newStory().breaks("zone-1-0").later(3*time.Second).grants("partitions", "zone-2-1").evict("zone-2-1"),
		rules: partitioned(1),
	},
	"4: a pod of no known partition is evicted": {
		story: newStory().zone("zone-1", func(z *Zone) { z.Replicas = 3 }).pod("zone-1-2", nil).later(3*time.Second).
			grants("partitions", "zone-1-2").evict("zone-1-2"),
		rules: partitioned(1),
		want:  []string{"4 zone-1-2 was evicted, which is in no partition"},
	},
	"4: a pod is evicted where no partition may lose one": {
		story: newStory().grants("partitions", "zone-1-0").evict("zone-1-0"),
		rules: partitioned(0),
		want:  []string{"4 zone-1-0 was evicted while 0 pods of partition 0"},
	},
	"1: a pod is evicted by partition under the hold of its zone": {
		story: newStory().grants("zone-1", "zone-1-0").evict("zone-1-0"),
		rules: partitioned(1),
		want:  []string{`1 zone-1-0 was evicted while "eviction/zone-1" had the Lease`},
	},
	"1: a pod is evicted by zone under the hold of partitions": {
		story: newStory().grants("partitions", "zone-1-0").evict("zone-1-0"),
		rules: evicting,
		want:  []string{`1 zone-1-0 was evicted while "eviction/partitions" had the Lease`},
	},
	"1: a pod of another partition is evicted while a rolled one is on its way back": {
		story: newStory().note("zone-1", "zone-1-0").delete("zone-1-0").replace("zone-1-0", false).
			grants("partitions", "zone-2-1").evict("zone-2-1"),
		rules: partitioned(1),
		want:  []string{"1 zone-2-1 was evicted while zone-1-0 was down by a rollout"},
	},
	"1: a pod is rolled while evicted ones are on their way back": {
		story: newStory().grants("partitions", "zone-1-0").evict("zone-1-0").note("zone-2", "zone-2-1").delete("zone-2-1"),
		rules: partitioned(1),
		want:  []string{"1 zone-2-1 of zone zone-2 was deleted while zone-1-0"},
	},
	"1: a pod is evicted by partition while a zone shrinks": {
		story: newStory().shrinks("zone-1").decrease("zone-1", 1).grants("partitions", "zone-2-0").evict("zone-2-0"),
		rules: partitioned(1),
		want:  []string{"1 zone-2-0 of zone zone-2 was evicted while pods of zone zone-1 were leaving"},
	},
}
