package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-dev/lockstep/integration-tests/judge"
)

func TestViolationsOfJudgeAreAddedOnce(t *testing.T) {
	t.Parallel()
	ofZone := judge.Violation{Guarantee: 4, Namespace: "north", Zone: zoneA, Text: "ingester-zone-a-1 was deleted"}
	ofNamespace := judge.Violation{Guarantee: 8, Namespace: "bystander", Text: "written to"}
	c := newVerifier()
	c.add([]judge.Violation{ofZone})
	c.add([]judge.Violation{ofNamespace, ofZone})
	wantViolations(t, c, []string{
		"north: ingester-zone-a-1 was deleted (guarantee 4)", "bystander: written to (guarantee 8)",
	})
	for zone, want := range map[[2]string]bool{
		{"north", zoneA}: true, {"north", zoneB}: false, {"south", zoneA}: false, {"bystander", zoneC}: true,
	} {
		if got := concerns(c.violations, zone[0], zone[1]); got != want {
			t.Errorf("%s is blamed: %t, want %t", zone, got, want)
		}
	}
}

func TestViolationsAreConfirmedWhenTheJudgeKeepsFindingThem(t *testing.T) {
	t.Parallel()
	late := judge.Violation{Guarantee: 1, Namespace: "north", Text: "a pod was deleted without an intent"}
	lasting := judge.Violation{Guarantee: 8, Namespace: "bystander", Text: "written to"}
	began := time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC)
	c := newVerifier()
	for _, step := range []struct {
		after time.Duration
		found []judge.Violation
		want  []judge.Violation
	}{
		{0, []judge.Violation{late, lasting}, nil},
		{time.Second, []judge.Violation{lasting}, nil}, // the event of the Lease has arrived
		{confirmAfter - 1, []judge.Violation{lasting, late}, nil},
		{confirmAfter, []judge.Violation{lasting, late}, []judge.Violation{lasting}},
		{2 * confirmAfter, []judge.Violation{lasting, late}, []judge.Violation{lasting, late}},
	} {
		if got := c.confirm(step.found, began.Add(step.after)); !slices.Equal(got, step.want) {
			t.Errorf("after %s: got %v, want %v", step.after, got, step.want)
		}
	}
}

func TestUnfinishedRolloutIsViolation(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		happens func(*rolloutFixture)
		want    []string
	}{
		"nothing": {
			happens: func(s *rolloutFixture) { s.rollAll() },
		},
		"pods of two zones are old": {
			happens: func(s *rolloutFixture) {
				s.rollAll()
				world := s.state.zone("south", zoneC)
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
			happens: func(s *rolloutFixture) {
				s.rollAll()
				s.apply(stateChange{set: &set{"north", zoneB, newRevision, oldRevision}})
			},
			want: []string{"north: ingester-zone-b was not finished after 3m0s: all pods are new, but status.currentRevision is still ingester-1, not ingester-2"},
		},
		"a hold that was not given back": {
			happens: func(s *rolloutFixture) {
				s.rollAll()
				s.hold("north", "rollout/ingester-zone-c", 0)
			},
			want: []string{"north: the group's hold was not given back after 3m0s: rollout/ingester-zone-c has it"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newRolloutFixture(t)
			tc.happens(s)
			s.verifier.verifyGoal(s.state, 3*time.Minute)
			wantViolations(t, s.verifier, tc.want)
		})
	}
}

func wantViolations(t *testing.T, c *verifier, want []string) {
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
