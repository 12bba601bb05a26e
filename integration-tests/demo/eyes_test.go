package main

import "testing"

func TestEyesFindWhatWasTakenDownTooSoon(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		happens func(*story)
		want    []string
	}{
		"one pod after the other": {
			happens: func(s *story) { s.rollsAll() },
		},
		"two zones at once": {
			happens: func(s *story) {
				s.leaves("north", zoneA, 0)
				s.leaves("south", zoneB, 0)
				s.leaves("north", zoneB, 1)
			},
			want: []string{"north: ingester-zone-b-1 was taken down while ingester-zone-a-0 of another zone was down (guarantee 1)"},
		},
		"two pods of a zone at once": {
			happens: func(s *story) {
				s.leaves("north", zoneA, 0)
				s.goes("north", zoneA, 0)
				s.starts("north", zoneA, 0)
				s.leaves("north", zoneA, 1)
			},
			want: []string{"north: ingester-zone-a-1 was taken down, so 2 pods of its zone were down, 1 allowed (guarantee 4)"},
		},
		"a pod of a bystander": {
			happens: func(s *story) { s.leaves("bystander", zoneC, 3) },
			want:    []string{"bystander: ingester-zone-c-3 was taken down in a namespace that did not opt in (guarantee 8)"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := begunStory(t)
			s.eyes = true
			tc.happens(s)
			wantViolations(t, s.court, tc.want)
		})
	}
}
