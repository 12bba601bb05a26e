package judge

import "time"

// podsOfFirst are the pods of zone-1, which is the zone that leaves.
var podsOfFirst = []string{"zone-1-0", "zone-1-1"}

// orphans deletes the StatefulSet of zone-1 without its pods.
func (s *story) orphans() *story {
	return s.owned("").zone("zone-1", func(z *Zone) { z.Gone = true })
}

// applies makes the StatefulSet of zone-1 anew, which adopts the pods that exist.
func (s *story) applies() *story {
	const uid = "zone-1@anew"
	return s.zone("zone-1", func(z *Zone) { z.UID, z.Gone = uid, false }).owned(uid)
}

// owned gives the pods of zone-1 that exist another owner; empty: none.
func (s *story) owned(uid string) *story {
	for _, pod := range podsOfFirst {
		if !s.pods[pod].Gone {
			s.pod(pod, func(p *Pod) { p.Owner = uid })
		}
	}
	return s
}

// regroups moves zone-1 to another group; "" takes the label off.
func (s *story) regroups(group string) *story {
	return s.zone("zone-1", func(z *Zone) { z.Group, z.Grouped = group, group != "" })
}

// rollsHalf is a story in which a rollout has a pod of zone-1 down.
func rollsHalf() *story {
	return newStory().note("zone-1", "zone-1-0").delete("zone-1-0").left("zone-1-0")
}

// rollsNext lets the rollout of zone-2 begin.
func (s *story) rollsNext() *story { return s.note("zone-2", "zone-2-0").delete("zone-2-0") }

// lateIn lets caches hear of one kind ten seconds late.
func lateIn(resource string) Rules {
	w := lateBy(10 * time.Second)
	w.Resource = resource
	return Rules{Evicting: true, Deaf: []Window{w}}
}

const (
	besideTheFirst = "1 zone-2-0 of zone zone-2 was deleted while zone-1-0 of zone zone-1 was down"
	besideAnOrphan = "2 zone-2-0 of zone zone-2 was deleted while zone zone-1 had no StatefulSet"
)

// plantedLeft are histories in which a zone leaves its group, or comes back.
var plantedLeft = map[string]planted{
	"1: a pod goes while an orphaned zone has a pod down": {
		story: rollsHalf().orphans().rollsNext(),
		want:  []string{besideTheFirst},
	},
	"1: a pod goes long after a zone was orphaned with a pod down": {
		story: rollsHalf().orphans().later(3 * time.Second).rollsNext(),
		want:  []string{besideTheFirst, besideAnOrphan},
	},
	"2: a pod goes while an orphaned zone serves": {
		story: newStory().orphans().later(3 * time.Second).rollsNext(),
		want:  []string{besideAnOrphan},
	},
	"a pod goes in the moment in which a zone is orphaned": {
		story: newStory().orphans().rollsNext(),
	},
	"2: a pod goes while the last pod of a deleted StatefulSet exists": {
		story: newStory().orphans().breaks("zone-1-0").left("zone-1-0").breaks("zone-1-1").later(3 * time.Second).rollsNext(),
		want:  []string{"2 zone-2-0 of zone zone-2 was deleted while zone-1-0", "2 zone-2-0 of zone zone-2 was deleted while zone-1-1", besideAnOrphan},
	},
	"a pod goes when the last pod of a deleted StatefulSet is gone": {
		story: newStory().orphans().breaks("zone-1-0").left("zone-1-0").breaks("zone-1-1").left("zone-1-1").rollsNext(),
	},
	"a pod goes when the pods of a StatefulSet went with it": {
		story: newStory().zone("zone-1", func(z *Zone) { z.Gone = true }).breaks("zone-1-0").left("zone-1-0").breaks("zone-1-1").left("zone-1-1").rollsNext(),
	},
	"1: a pod goes when a zone was applied anew, before its pod is back": {
		story: rollsHalf().orphans().applies().rollsNext(),
		want:  []string{besideTheFirst},
	},
	"2: a pod goes when a zone was applied anew, whose pod broke long before": {
		story: newStory().breaks("zone-1-1").left("zone-1-1").later(3 * time.Second).orphans().applies().rollsNext(),
		want:  []string{"2 zone-2-0 of zone zone-2 was deleted while zone-1-1 of zone zone-1 was down"},
	},
	"a pod goes when a zone that was applied anew is whole": {
		story: newStory().orphans().later(3 * time.Second).applies().rollsNext(),
	},
	"4: a second pod goes when its zone was applied anew": {
		story: rollsHalf().orphans().applies().note("zone-1", "zone-1-1").delete("zone-1-1"),
		want:  []string{"4 zone-1-1 was deleted, so 2 pods of its zone were down, 1 allowed"},
	},
	"6: a zone shrinks too shortly after one that was applied anew since": {
		story: newStory().zone("zone-1", apart).shrinks("zone-1").decrease("zone-1", 1).breaks("zone-1-1").left("zone-1-1").
			orphans().applies().later(30*time.Second).shrinks("zone-2").decrease("zone-2", 1),
		rules: guarded,
		want:  []string{"6 zone-2 shrank"},
	},
	"1: a pod goes while one that leaves by a decrease is an orphan": {
		story: newStory().shrinks("zone-1").decrease("zone-1", 1).orphans().rollsNext(),
		rules: guarded,
		want:  []string{"1 zone-2-0 of zone zone-2 was deleted while pods of zone zone-1 were leaving by a decrease"},
	},

	"1: a pod goes while a zone without its label has a pod down": {
		story: rollsHalf().regroups("").later(3 * time.Second).rollsNext(),
		want:  []string{besideTheFirst},
	},
	"1: a pod goes while a zone in another group has a pod down": {
		story: rollsHalf().regroups("h").later(3 * time.Second).rollsNext(),
		want:  []string{besideTheFirst},
	},
	"1: a pod goes when a zone got its label back, and its pod is not back": {
		story: rollsHalf().regroups("").regroups("g").rollsNext(),
		want:  []string{besideTheFirst},
	},
	"1: a pod goes when a zone is back from other groups, and its pod is not": {
		story: rollsHalf().regroups("h").regroups("").regroups("i").regroups("g").rollsNext(),
		want:  []string{besideTheFirst},
	},
	"1: a pod goes while one is down that was noted before its zone lost the label": {
		story: newStory().note("zone-1", "zone-1-0").regroups("").delete("zone-1-0").left("zone-1-0").rollsNext(),
		want:  []string{besideTheFirst},
	},
	"a pod goes when a zone without its label is whole again": {
		story: rollsHalf().regroups("").replace("zone-1-0", true).later(3 * time.Second).rollsNext(),
	},
	"a pod goes when a zone without its label was whole for a moment": {
		story: rollsHalf().regroups("").replace("zone-1-0", true).hold("").breaks("zone-1-0").later(3 * time.Second).rollsNext(),
	},
	"a zone that left whole is nobody's": {
		story: newStory().regroups("").breaks("zone-1-0").later(3 * time.Second).rollsNext(),
	},
	"a zone that was whole elsewhere and is back for a moment need not be known": {
		story: newStory().regroups("").breaks("zone-1-0").later(3 * time.Second).regroups("g").rollsNext(),
	},
	"2: a zone that was whole elsewhere and is back must be known": {
		story: newStory().regroups("").breaks("zone-1-0").later(3 * time.Second).regroups("g").later(2 * time.Second).rollsNext(),
		want:  []string{"2 zone-2-0 of zone zone-2 was deleted while zone-1-0 of zone zone-1 was down"},
	},
	"a zone that left need not be OnDelete": {
		story: newStory().zone("zone-1", func(z *Zone) { z.MinReady = time.Second }).breaks("zone-1-0").regroups("").zone("zone-1", rolls).
			later(3*time.Second).pod("zone-2-0", unready).later(3 * time.Second).delete("zone-2-0"),
	},
	"1: a pod of a zone that is in another group goes by the Lease of the first": {
		story: newStory().note("zone-1", "zone-1-0").note("zone-2", "zone-2-0").delete("zone-2-0").left("zone-2-0").
			note("zone-1", "zone-1-0").regroups("h").delete("zone-1-0"),
		want: []string{"1 zone-1-0 of zone zone-1 was deleted while zone-2-0 of zone zone-2 was down"},
	},

	"1: a pod of an orphaned zone is evicted while another zone has a pod down": {
		story: newStory().rollsNext().orphans().evict("zone-1-0"),
		rules: evicting,
		want: []string{
			"1 zone-1-0 of zone zone-1 was evicted while zone-2-0 of zone zone-2 was down",
			`1 zone-1-0 was evicted while "rollout/zone-2" had the Lease of its group`,
		},
	},
	"4: a second pod of an orphaned zone is evicted": {
		story: newStory().breaks("zone-1-1").left("zone-1-1").orphans().later(3*time.Second).grants("zone-1", "zone-1-0").evict("zone-1-0"),
		rules: evicting,
		want:  []string{"4 zone-1-0 was evicted, so 2 pods of its zone were down, 1 allowed"},
	},
	"4: a second pod of a zone without its label is evicted": {
		story: newStory().breaks("zone-1-1").left("zone-1-1").regroups("").later(3*time.Second).grants("zone-1", "zone-1-0").evict("zone-1-0"),
		rules: evicting,
		want:  []string{"4 zone-1-0 was evicted, so 2 pods of its zone were down, 1 allowed"},
	},
	"an eviction that was granted before the StatefulSet was orphaned": {
		story: newStory().grants("zone-1", "zone-1-0").asksToEvict("zone-1-0", nil).orphans().leaves("zone-1-0"),
		rules: evicting,
	},
	"a pod of a zone that left whole is evicted by nobody's leave": {
		story: newStory().rollsNext().regroups("").later(3 * time.Second).evict("zone-1-0"),
		rules: evicting,
	},
	"a pod of a zone that is back this moment is evicted by nobody's leave": {
		story: newStory().rollsNext().regroups("").later(3 * time.Second).regroups("g").evict("zone-1-0"),
		rules: evicting,
	},

	"2: what pods show must be known, however late StatefulSets are": {
		story: newStory().breaks("zone-1-1").later(3 * time.Second).delete("zone-2-0").notedBefore(),
		rules: lateIn("statefulsets"),
		want:  []string{"2 zone-2-0 of zone zone-2 was deleted while zone-1-1"},
	},
	"a pod of a raise that late StatefulSets do not show is gone": {
		story: newStory().decrease("zone-1", 3).pod("zone-1-2", nil).breaks("zone-1-2").left("zone-1-2").later(3 * time.Second).delete("zone-2-0").notedBefore(),
		rules: lateIn("statefulsets"),
	},
	"2: a raise must be known, however late pods are": {
		story: newStory().decrease("zone-1", 3).later(3 * time.Second).delete("zone-2-0").notedBefore(),
		rules: lateIn("pods"),
		want:  []string{"2 zone-2-0 of zone zone-2 was deleted while zone-1-2"},
	},
	"what late pods do not show need not be known": {
		story: newStory().breaks("zone-1-1").later(3 * time.Second).delete("zone-2-0").notedBefore(),
		rules: lateIn("pods"),
	},
	"4: a pod beyond what late StatefulSets ask for is evicted beside another one": {
		story: newStory().decrease("zone-1", 3).pod("zone-1-2", nil).grants("zone-1", "zone-1-0", "zone-1-2").evict("zone-1-0").evict("zone-1-2"),
		rules: lateIn("statefulsets"),
		want:  []string{"4 zone-1-2 was evicted, so 2 pods of its zone were down, 1 allowed"},
	},
}
