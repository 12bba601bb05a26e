package report_test

import (
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/lockstep-dev/lockstep/internal/fixture"
	"github.com/lockstep-dev/lockstep/internal/plan"
)

// Guarantee 9: every wait has a reason that a person can read, on the object
// and in metrics, also where it is the whole group's or of a zone that left it.
func TestAWaitOfTheWholeGroupIsVisible(t *testing.T) {
	for sentence, tc := range map[string]struct{ situation, want string }{
		"nobody can read the hold, and nobody holds": {
			"hold free unreadable=damaged\n" + settled,
			`lockstep_group_zone_waiting{group="store",namespace="team",reason="HoldUnreadable",zone="zone-a"} 1`,
		},
		"a noted pod's zone has left the group": {
			"hold rollout/zone-x\n noted zone-x-0\nstray zone-x-0 leaving@1\n" + settled,
			`lockstep_group_zone_waiting{group="store",namespace="team",reason="PodAboutToLeave",zone=""} 1`,
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			r := newRoom()
			s := fixture.MustParse(tc.situation)
			steps := plan.Group(s)
			r.Group(s, steps, nil)
			if !slices.Contains(r.series(t), tc.want) {
				t.Errorf("the plan is %q; no series says so", plan.Notation(steps))
			}
			if strings.Contains(plan.Notation(steps), "Unreadable") && len(r.told()) == 0 {
				t.Error("a hold that only a person can repair is told to nobody")
			}
		})
	}
}

// The annotation with the intents, and the holder's identity, are text that
// whoever may write Leases in the namespace can choose.
func TestTextOfALeaseIsMadeSafe(t *testing.T) {
	for sentence, change := range map[string]func(*plan.Hold){
		"control characters in an intent": func(h *plan.Hold) { h.Intents[0].Pod, h.Intents[0].Version = "zone-b-0\n\x1b[2Jall is well", 1<<40 },
		"control characters in a holder":  func(h *plan.Hold) { h.Holder = "rollout/zone-b\x1b[2J" },
		"a text that no Event can carry":  func(h *plan.Hold) { h.Intents[0].Pod, h.Intents[0].Version = strings.Repeat("x", 2000), 1<<40 },
	} {
		t.Run(sentence, func(t *testing.T) {
			s := fixture.MustParse("hold rollout/zone-b\n noted zone-b-0 uid=former version=5\nzone-a rev=2 current=1\n zone-a-0 ready@1\nzone-b rev=2\n zone-b-0 starting@2\n")
			change(&s.Hold)
			r := newRoom()
			r.Group(s, plan.Group(s), nil)
			if len(r.events) == 0 {
				t.Fatal("nothing is told")
			}
			for _, e := range r.events {
				if strings.IndexFunc(e.note, unicode.IsControl) >= 0 || len(e.note) > 1024 {
					t.Errorf("%d bytes: %.80q", len(e.note), e.note)
				}
			}
			for _, line := range r.series(t) {
				if strings.Contains(line, "\x1b") || strings.Contains(line, "[2J") {
					t.Errorf("a label is free text: %q", line)
				}
			}
		})
	}
}
