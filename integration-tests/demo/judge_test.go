package main

import (
	"strings"
	"testing"
	"time"

	"github.com/lockstep-dev/lockstep/integration-tests/judge"
)

func TestWhatTheJudgeFindsIsToldOnce(t *testing.T) {
	t.Parallel()
	ofZone := judge.Violation{Guarantee: 4, Namespace: "north", Zone: zoneA, Text: "ingester-zone-a-1 was deleted"}
	ofNamespace := judge.Violation{Guarantee: 8, Namespace: "bystander", Text: "written to"}
	c := newCourt()
	c.hear([]judge.Violation{ofZone})
	c.hear([]judge.Violation{ofNamespace, ofZone})
	wantViolations(t, c, []string{
		"north: ingester-zone-a-1 was deleted (guarantee 4)", "bystander: written to (guarantee 8)",
	})
	for zone, want := range map[[2]string]bool{
		{"north", zoneA}: true, {"north", zoneB}: false, {"south", zoneA}: false, {"bystander", zoneC}: true,
	} {
		if got := blames(c.violations, zone[0], zone[1]); got != want {
			t.Errorf("%s is blamed: %t, want %t", zone, got, want)
		}
	}
}

func TestWhatIsUnfinishedAtTheEndIsViolated(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		happens func(*story)
		want    []string
	}{
		"nothing": {
			happens: func(s *story) { s.rollsAll() },
		},
		"pods of two zones are old": {
			happens: func(s *story) {
				s.rollsAll()
				world := s.world.zone("south", zoneC)
				for _, ordinal := range []int{1, 2} {
					name := world.podName(ordinal)
					p := world.pods[name]
					p.revision = oldRevision
					world.pods[name] = p
				}
			},
			want: []string{"south: ingester-zone-c was not finished after 3m0s: 2 of 4 pods run the new revision and are Ready"},
		},
		"a revision that was not adopted": {
			happens: func(s *story) {
				s.rollsAll()
				s.see(sighting{set: &set{"north", zoneB, newRevision, oldRevision}})
			},
			want: []string{"north: ingester-zone-b was not finished after 3m0s: all pods are new, but status.currentRevision is still ingester-1, not ingester-2"},
		},
		"a hold that was not given back": {
			happens: func(s *story) {
				s.rollsAll()
				s.holds("north", "rollout/ingester-zone-c", 0)
			},
			want: []string{"north: the group's hold was not given back after 3m0s: rollout/ingester-zone-c has it"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := begunStory(t)
			tc.happens(s)
			s.court.end(s.world, 3*time.Minute)
			wantViolations(t, s.court, tc.want)
		})
	}
}

func wantViolations(t *testing.T, c *court, want []string) {
	t.Helper()
	var got []string
	for _, v := range c.violations {
		got = append(got, v.String())
	}
	if len(got) != len(want) {
		t.Fatalf("got %d violations, want %d:\n%s", len(got), len(want), strings.Join(got, "\n"))
	}
	for i := range want {
		if !strings.HasPrefix(got[i], want[i]) {
			t.Errorf("violation %d:\n got %s\nwant %s", i, got[i], want[i])
		}
	}
}
