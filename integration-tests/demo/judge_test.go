package main

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestTheJudgeFindsWhatWasViolated(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		happens func(*story)
		want    []string // parts of the violations, in order
	}{
		"nothing, in a rollout as it should be": {
			happens: func(s *story) { s.rollsAll() },
		},
		"two pods of a zone leave": {
			happens: func(s *story) {
				s.leaves("north", zoneA, 0)
				s.leaves("north", zoneA, 1)
				s.leaves("north", zoneA, 2) // told once
			},
			want: []string{"north: 2 pods of ingester-zone-a were down at once at 15:04:06.100, the budget is 1: ingester-zone-a-0, ingester-zone-a-1"},
		},
		"the second pod leaves while the first one's replacement starts": {
			happens: func(s *story) {
				s.leaves("north", zoneA, 0)
				s.goes("north", zoneA, 0)
				s.starts("north", zoneA, 0)
				s.leaves("north", zoneA, 1)
			},
			want: []string{"north: 2 pods of ingester-zone-a were down at once"},
		},
		"the second pod leaves while the first is missing": {
			happens: func(s *story) {
				s.goes("north", zoneA, 0)
				s.goes("north", zoneA, 1)
			},
			want: []string{"north: 2 pods of ingester-zone-a were down at once"},
		},
		"again, after it was well": {
			happens: func(s *story) {
				for range 2 {
					s.breaks("north", zoneA, 0)
					s.breaks("north", zoneA, 1)
					s.becomesReady("north", zoneA, 0)
					s.becomesReady("north", zoneA, 1)
				}
			},
			want: []string{"north: 2 pods of ingester-zone-a", "north: 2 pods of ingester-zone-a"},
		},
		"pods of two zones are down": {
			happens: func(s *story) {
				s.leaves("south", zoneA, 3)
				s.goes("south", zoneA, 3)
				s.starts("south", zoneA, 3)
				s.leaves("south", zoneB, 0)
			},
			want: []string{"south: pods of 2 zones were down at once at 15:04:06.300: ingester-zone-a-3, ingester-zone-b-0"},
		},
		"nothing, when it is two namespaces": {
			happens: func(s *story) {
				s.leaves("north", zoneA, 0)
				s.leaves("south", zoneB, 0)
			},
		},
		"a pod of the new revision is deleted": {
			happens: func(s *story) {
				s.replaces("north", zoneA, 0)
				s.leaves("north", zoneA, 0)
			},
			want: []string{"north: ingester-zone-a-0 was deleted at 15:04:06.400 although it already ran the new revision"},
		},
		"a pod that did not opt in is deleted": {
			happens: func(s *story) { s.leaves("bystander", zoneC, 2) },
			want:    []string{"bystander: pod ingester-zone-c-2 was deleted at 15:04:06.000, although the namespace did not opt in"},
		},
		"a pod that did not opt in vanishes between two messages": {
			happens: func(s *story) { s.starts("bystander", zoneC, 2) },
			want:    []string{"bystander: pod ingester-zone-c-2 was deleted"},
		},
		"a pod that did not opt in breaks": {
			happens: func(s *story) { s.breaks("bystander", zoneC, 2) },
			want:    []string{"bystander: pod ingester-zone-c-2 stopped being Ready"},
		},
		"a Lease without a holder where nobody opted in": {
			happens: func(s *story) { s.holds("bystander", "", 0) },
			want:    []string{"bystander: Lease lockstep-group-ingester was written"},
		},
		"a revision is adopted where nobody opted in": {
			happens: func(s *story) { s.adopts("bystander", zoneB) },
			want:    []string{"bystander: status.currentRevision was changed"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := begunStory(t)
			tc.happens(s)
			wantViolations(t, s.judge, tc.want)
		})
	}
}

func TestTheJudgeFindsWhatIsUnfinishedAtTheEnd(t *testing.T) {
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
			s.judge.end(s.world, 3*time.Minute)
			wantViolations(t, s.judge, tc.want)
		})
	}
}

func TestWritesOfTheOperatorAreBlamedOnTheNamespace(t *testing.T) {
	t.Parallel()
	j := newJudge()
	j.seeWrites("bystander", nil)
	wantViolations(t, j, nil)
	writes, err := writesIn("testdata/audit.jsonl", "bystander")
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"create events", "patch statefulsets/status ingester-zone-a"}; !slices.Equal(writes, want) {
		t.Errorf("writes: got %q, want %q", writes, want)
	}
	j.seeWrites("bystander", writes)
	wantViolations(t, j, []string{"bystander: the operator wrote 2 times, although the namespace did not opt in; first: create events"})
}

func wantViolations(t *testing.T, j *judge, want []string) {
	t.Helper()
	var got []string
	for _, v := range j.violations {
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
