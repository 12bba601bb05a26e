package apiserver_test

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// The judge itself is judged: every rule has a history that breaks it, beside
// one that does not.

// story builds a history fact by fact, a tenth of a second apart.
type story struct {
	facts   []fact
	now     time.Time
	by      map[string]bool // UIDs that an operator deleted
	current map[string]podState
	sets    map[string]zoneState
}

func newStory() *story {
	s := &story{now: time.Unix(0, 0), by: map[string]bool{}, current: map[string]podState{}, sets: map[string]zoneState{}}
	for _, zone := range []string{"zone-1", "zone-2"} {
		s.zone(zone, func(z *zoneState) { z.revision = "old" })
		s.pod(zone+"-0", nil)
		s.pod(zone+"-1", nil)
		s.zone(zone, func(z *zoneState) { z.revision = "new" })
	}
	return s.later(time.Minute)
}

func (s *story) later(d time.Duration) *story { s.now = s.now.Add(d); return s }

func (s *story) tell(f fact) *story {
	s.later(100 * time.Millisecond)
	f.version, f.at = uint64(len(s.facts)+1), s.now
	s.facts = append(s.facts, f)
	return s
}

func (s *story) zone(name string, change func(*zoneState)) *story {
	z, known := s.sets[name]
	if !known {
		z = zoneState{name: name, uid: name, group: "g", grouped: true, replicas: 2, budget: 1, onDelete: true}
	}
	change(&z)
	s.sets[name] = z
	return s.tell(fact{zone: &z})
}

func (s *story) pod(name string, change func(*podState)) *story {
	p, known := s.current[name]
	if !known {
		zone := name[:strings.LastIndex(name, "-")]
		p = podState{name: name, uid: name + "@old", owner: zone, revision: "old", ready: true}
	}
	if change != nil {
		change(&p)
	}
	s.current[name] = p
	return s.tell(fact{pod: &p})
}

func (s *story) hold(holder string, noted ...string) *story {
	return s.tell(fact{hold: &holdState{group: "g", holder: holder, noted: noted}})
}

// note notes what stands under these names in the Lease of the zone's rollout.
func (s *story) note(zone string, pods ...string) *story {
	var uids []string
	for _, pod := range pods {
		uids = append(uids, s.current[pod].uid)
	}
	return s.hold("rollout/"+zone, uids...)
}

// delete has the operator delete a pod.
func (s *story) delete(pod string) *story {
	s.by[s.current[pod].uid] = true
	return s.breaks(pod)
}

// vanish has the operator delete a pod that is gone at once.
func (s *story) vanish(pod string) *story {
	s.by[s.current[pod].uid] = true
	return s.pod(pod, func(p *podState) { p.gone = true })
}

// breaks has somebody else delete a pod.
func (s *story) breaks(pod string) *story {
	return s.pod(pod, func(p *podState) { p.leaving = true })
}

func (s *story) replace(pod string, ready bool) *story {
	s.pod(pod, func(p *podState) { p.gone = true })
	return s.pod(pod, func(p *podState) {
		p.uid, p.revision = pod+"@new", "new"
		p.ready, p.leaving, p.gone = ready, false, false
	})
}

// rolls is one proper step of a rollout.
func (s *story) rolls(zone, pod string) *story {
	return s.note(zone, pod).delete(pod).replace(pod, true)
}

func (s *story) finishes(zone string) *story {
	return s.rolls(zone, zone+"-0").rolls(zone, zone+"-1").hold("")
}

func TestTheJudgeFindsWhatWasPlanted(t *testing.T) {
	t.Parallel()
	stops := func(z *zoneState) { z.paused = true }
	tests := map[string]struct {
		story *story
		rules rules
		want  []string // all objections, each by a part of it
	}{
		"a proper rollout is not objected to": {
			story: newStory().finishes("zone-1").finishes("zone-2"),
		},
		"a pod of another zone goes while the first is leaving": {
			story: newStory().note("zone-1", "zone-1-0").delete("zone-1-0").note("zone-2", "zone-2-0").delete("zone-2-0"),
			want:  []string{"zone-2-0 of zone zone-2 was deleted while zone-1-0"},
		},
		"a pod of another zone goes while the replacement of the first is not Ready": {
			story: newStory().note("zone-1", "zone-1-0").delete("zone-1-0").replace("zone-1-0", false).later(time.Millisecond).
				note("zone-2", "zone-2-0").delete("zone-2-0"),
			want: []string{"zone-2-0 of zone zone-2 was deleted while zone-1-0"},
		},
		"a pod goes long after another zone was broken by somebody else": {
			story: newStory().breaks("zone-2-1").later(3*time.Second).note("zone-1", "zone-1-0").delete("zone-1-0"),
			want:  []string{"zone-1-0 of zone zone-1 was deleted while zone-2-1"},
		},
		"a pod goes in the moment in which another zone is broken by somebody else": {
			story: newStory().note("zone-1", "zone-1-0").breaks("zone-2-1").delete("zone-1-0"),
		},
		"a pod goes long before a scaled up zone has its pods": {
			story: newStory().zone("zone-2", func(z *zoneState) { z.replicas = 3 }).later(3*time.Second).
				note("zone-1", "zone-1-0").delete("zone-1-0"),
			want: []string{"while zone-2-2 of zone zone-2 was down"},
		},
		"a second pod of the zone goes": {
			story: newStory().note("zone-1", "zone-1-0", "zone-1-1").delete("zone-1-0").delete("zone-1-1"),
			want:  []string{"zone-1-1 was deleted, so 2 pods of its zone were down, 1 allowed"},
		},
		"a second pod of the zone goes and may": {
			story: newStory().zone("zone-1", func(z *zoneState) { z.budget = 2 }).
				note("zone-1", "zone-1-0", "zone-1-1").delete("zone-1-0").delete("zone-1-1"),
		},
		"a second pod goes while somebody else's is missing": {
			story: newStory().breaks("zone-1-1").later(3*time.Second).note("zone-1", "zone-1-0").delete("zone-1-0"),
			want:  []string{"2 pods of its zone were down"},
		},
		"a pod that is down already costs nothing, whatever else is down": {
			story: newStory().breaks("zone-2-1").pod("zone-1-0", func(p *podState) { p.ready = false }).later(3 * time.Second).delete("zone-1-0"),
		},
		"a pod goes without a note": {
			story: newStory().hold("rollout/zone-1").delete("zone-1-0"),
			want:  []string{"zone-1-0 was deleted without a note"},
		},
		"a pod goes under the Lease of another zone": {
			story: newStory().hold("rollout/zone-2", "zone-1-0@old").delete("zone-1-0"),
			want:  []string{`zone-1-0 was deleted while "rollout/zone-2"`},
		},
		"a pod goes without any Lease": {
			story: newStory().delete("zone-1-0"),
			want:  []string{"zone-1-0 was deleted without a Lease"},
		},
		"an up to date pod goes": {
			story: newStory().finishes("zone-1").rolls("zone-1", "zone-1-0"),
			want:  []string{"zone-1-0 was deleted, which was not outdated"},
		},
		"a pod of a paused zone goes": {
			story: newStory().zone("zone-1", stops).later(3*time.Second).rolls("zone-1", "zone-1-0"),
			want:  []string{"zone-1-0 was deleted, which belongs to a paused zone"},
		},
		"a pod of a zone that was paused this moment goes": {
			story: newStory().note("zone-1", "zone-1-0").zone("zone-1", stops).delete("zone-1-0"),
		},
		"a pod goes while a zone is not OnDelete": {
			story: newStory().zone("zone-2", func(z *zoneState) { z.onDelete = false }).later(3*time.Second).rolls("zone-1", "zone-1-0"),
			want:  []string{"zone-1-0 was deleted while zone zone-2 is not OnDelete"},
		},
		"a stranger's pod goes": {
			story: newStory().pod("other-0", nil).delete("other-0"),
			want:  []string{"other-0 was deleted, which belongs to no zone"},
		},
		"a pod of a StatefulSet outside groups goes": {
			story: newStory().zone("zone-3", func(z *zoneState) { z.grouped, z.group, z.revision = false, "", "new" }).
				pod("zone-3-0", nil).pod("zone-3-1", nil).later(3 * time.Second).delete("zone-3-0"),
			want: []string{"zone-3-0 was deleted, which belongs to no group", "zone-3-0 was deleted without a Lease"},
		},
		"a pod that goes at once is down all the same": {
			story: newStory().note("zone-1", "zone-1-0").vanish("zone-1-0").note("zone-2", "zone-2-0").delete("zone-2-0"),
			want:  []string{"zone-2-0 of zone zone-2 was deleted while zone-1-0"},
		},
		"a pod that a deleted StatefulSet left behind goes": {
			story: newStory().zone("zone-1", func(z *zoneState) { z.gone = true }).later(3*time.Second).rolls("zone-1", "zone-1-0"),
			want:  []string{"zone-1-0 was deleted, which was left by a deleted StatefulSet"},
		},
		"a surplus pod goes": {
			story: newStory().zone("zone-1", func(z *zoneState) { z.replicas = 1 }).later(3*time.Second).rolls("zone-1", "zone-1-1"),
			want:  []string{"zone-1-1 was deleted, which is beyond spec.replicas"},
		},
		"zones out of order": {
			story: newStory().finishes("zone-2").finishes("zone-1"),
			want:  []string{"zone zone-1 began after zone zone-2"},
		},
		"zones out of order because of the test": {
			story: newStory().finishes("zone-2").finishes("zone-1"),
			rules: rules{unordered: true},
		},
		"ordinals out of order": {
			story: newStory().rolls("zone-1", "zone-1-1").rolls("zone-1", "zone-1-0"),
			want:  []string{"zone-1-0 was deleted after zone-1-1"},
		},
		"a namespace that did not opt in": {
			story: newStory().rolls("zone-1", "zone-1-0"),
			rules: rules{untouched: true},
			want:  []string{"zone-1-0 was deleted in a namespace that did not opt in"},
		},
		"a longer grace covers what is known later": {
			story: newStory().breaks("zone-2-1").later(3*time.Second).note("zone-1", "zone-1-0").delete("zone-1-0"),
			rules: rules{grace: 5 * time.Second},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, got := judge(test.story.facts, func(uid string) bool { return test.story.by[uid] }, test.rules)
			if len(got) != len(test.want) {
				t.Fatalf("%d objections, %d wanted: %q", len(got), len(test.want), got)
			}
			for i, part := range test.want {
				if !strings.Contains(got[i], part) {
					t.Errorf("objection %d: got %q, want %q in it", i, got[i], part)
				}
			}
		})
	}
}

func TestTheJudgeReadsAHistoryByVersionNotByArrival(t *testing.T) {
	t.Parallel()
	s := newStory().finishes("zone-1")
	shuffled := slices.Clone(s.facts)
	slices.Reverse(shuffled)
	deleted, wrong := judge(shuffled, func(uid string) bool { return s.by[uid] }, rules{})
	if len(wrong) > 0 || len(deleted) != 2 || deleted[0].pod != "zone-1-0" || !deleted[0].wasUp {
		t.Errorf("got takedowns %+v and objections %q", deleted, wrong)
	}
}

func TestTheAuditLogIsJudged(t *testing.T) {
	t.Parallel()
	const user = "system:serviceaccount:lockstep-system:lockstep"
	got := overstepped([]request{
		{user: user, verb: "delete", resource: "pods", name: "fine", code: 200, conditional: true},
		{user: user, verb: "list", resource: "pods", code: 200},
		{user: "system:kube-controller-manager", verb: "delete", resource: "pods", code: 403},
		{user: user, verb: "update", resource: "leases", name: "refused", code: 403},
		{user: user, verb: "delete", resource: "pods", name: "blind", code: 200},
		{user: user, verb: "update", resource: "statefulsets", name: "spec", code: 200},
	})
	for i, part := range []string{"a deletion that does not require", "no operator ever does this", "refused for lack of permission"} {
		if i >= len(got) || !strings.HasPrefix(got[i], part) {
			t.Fatalf("objection %d of %q: want %q", i, got, part)
		}
	}
	if len(got) != 3 {
		t.Errorf("got %q, want 3 objections", got)
	}
}
