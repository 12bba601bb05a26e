package main

import "testing"

func TestVerifyChangesReportsEarlyDeletions(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		happens func(*rolloutFixture)
		want    []string
	}{
		"one pod after the other": {
			happens: func(s *rolloutFixture) { s.rollAll() },
		},
		"two zones at once": {
			happens: func(s *rolloutFixture) {
				s.terminate("north", zoneA, 0)
				s.terminate("south", zoneB, 0)
				s.terminate("north", zoneB, 1)
			},
			want: []string{"north: ingester-zone-b-1 was deleted while ingester-zone-a-0 of another zone was down (guarantee 1)"},
		},
		"two pods of a zone at once": {
			happens: func(s *rolloutFixture) {
				s.terminate("north", zoneA, 0)
				s.remove("north", zoneA, 0)
				s.create("north", zoneA, 0)
				s.terminate("north", zoneA, 1)
			},
			want: []string{"north: ingester-zone-a-1 was deleted, so 2 pods of its zone were down, 1 allowed (guarantee 4)"},
		},
		"a pod of a bystander": {
			happens: func(s *rolloutFixture) { s.terminate("bystander", zoneC, 3) },
			want:    []string{"bystander: ingester-zone-c-3 was deleted in a namespace that did not opt in (guarantee 8)"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newRolloutFixture(t)
			s.withoutAuditLog = true
			tc.happens(s)
			wantViolations(t, s.verifier, tc.want)
		})
	}
}
