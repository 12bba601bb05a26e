package report_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
	"github.com/lockstep-dev/lockstep/internal/proof/fixture"
	"github.com/lockstep-dev/lockstep/internal/proof/fuzzcorpus"
)

// Guarantee 9: every wait has a reason that a person can read, on the object and in
// metrics, also a wait of the group or of its former zone.
func TestAWaitOfTheEntireGroupIsVisible(t *testing.T) {
	for sentence, tc := range map[string]struct{ situation, want string }{
		"the hold is unreadable, and there is no holder": {
			"hold free unreadable=damaged\n" + settled,
			`lockstep_group_zone_waiting{group="store",namespace="team",reason="HoldUnreadable",zone="zone-a"} 1`,
		},
		"the zone of a recorded pod was removed from the group": {
			"hold rollout/zone-x\n intent zone-x-0\nstray zone-x-0 terminating@1\n" + settled,
			`lockstep_group_zone_waiting{group="store",namespace="team",reason="PodDisruptionPending",zone=""} 1`,
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			r := newRoom()
			s := fixture.MustParse(tc.situation)
			steps := group.Plan(s)
			r.lasts(s)
			if !slices.Contains(r.series(t), tc.want) {
				t.Errorf("the plan is %q; no series shows that", plan.Notation(steps))
			}
			if strings.Contains(plan.Notation(steps), "Unreadable") && len(r.sent()) == 0 {
				t.Error("a hold that only a person can repair is not reported")
			}
		})
	}
}

// Users who may write Leases in the namespace can choose the text of the annotation with the
// intents and of the holder's identity.
func TestTextOfALeaseIsMadeSafe(t *testing.T) {
	for sentence, change := range map[string]func(*group.Hold){
		"control characters in an intent": func(h *group.Hold) {
			h.Intents[0].Pod, h.Intents[0].Version = "zone-b-0\n\x1b[2Jall is well", 1<<40
		},
		"control characters in a holder": func(h *group.Hold) { h.Holder = "rollout/zone-b\x1b[2J" },
		"a text that no Event can carry": func(h *group.Hold) { h.Intents[0].Pod, h.Intents[0].Version = strings.Repeat("x", 2000), 1<<40 },
	} {
		t.Run(sentence, func(t *testing.T) {
			s := fixture.MustParse("hold rollout/zone-b\n intent zone-b-0 uid=former version=5\nzone-a rev=2 current=1\n zone-a-0 ready@1\nzone-b rev=2\n zone-b-0 starting@2\n")
			change(&s.Hold)
			r := newRoom()
			r.lasts(s)
			if len(r.events) == 0 {
				t.Fatal("no Event")
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

func TestHostileNamesBreakNeitherEventsNorMetrics(t *testing.T) {
	for _, text := range fuzzcorpus.Texts() {
		r := newRoom()
		s := fixture.MustParse(settled)
		s.Hold = group.Hold{Hold: plan.Hold{Exists: true, Holder: plan.Holder("rollout/" + text), Since: s.Now, Unreadable: text}}
		s.Zones[0].UpdateRevision, s.Zones[0].CurrentRevision = text, text
		s.Zones[0].MaxUnavailable.Invalid, s.Zones[0].PausedUntil.Invalid, s.Zones[0].Paused = text, text, true
		s.Zones[0].WithoutEffect = text
		intent, downscale := plan.Intent{Zone: text, Pod: text, UID: text, Cause: reason.Code(text)}, group.Downscale{Zone: "zone-a", UID: s.Zones[0].UID, From: 2, To: 1}
		var done []plan.Receipt
		for _, step := range []plan.Action{
			plan.DeletePod{Zone: "zone-a", Pod: text, UID: text, Because: reason.OutdatedRevision},
			plan.CancelDeletion{Intent: intent, Because: plan.Refusal{Code: reason.GroupHeld, Zone: text, Pod: text, Detail: text}},
			group.AdoptRevision{Zone: "zone-a", Revision: text}, plan.EndIntent{Intent: intent},
			plan.EndIntent{Intent: intent, Because: reason.HoldRestored}, group.EndDownscale{Downscale: downscale, Restored: true},
			group.EndDownscale{Downscale: downscale, Failed: text}, group.RecordDownscale{Downscale: downscale, Because: reason.PreparationFailed, Why: text},
		} {
			done = append(done, plan.Receipt{Step: step})
		}
		waits := []plan.Action{
			plan.Wait{Zone: "zone-a", Because: plan.Refusal{Code: reason.GroupHeld, Zone: text, Pod: text, Detail: text}},
			plan.Wait{Zone: text, Because: plan.Refusal{Code: reason.PodDisruptionPending, Pod: text}},
		}
		r.Group(s, waits, nil)
		s.Now = s.Now.Add(noticeable)
		r.Group(s, waits, done)
		if len(r.events) < len(done)+3 {
			t.Errorf("%.20q: %d Events for %d actions, a wait and two remarks", text, len(r.events), len(done))
		}
		for _, e := range r.events {
			if e.note == "" || len(e.note) > 1024 || !utf8.ValidString(e.note) || strings.ContainsFunc(e.note, func(r rune) bool { return !unicode.IsPrint(r) }) {
				t.Errorf("%s of %.20q has a note of %d bytes: %.80q", e.code, text, len(e.note), e.note)
			}
		}
		for _, line := range r.series(t) {
			if !series.MatchString(line) {
				t.Errorf("%.20q: no series: %.80q", text, line)
			}
		}
	}
}

// series matches a valid series of groups: fixed words and names of objects.
var series = regexp.MustCompile(`^lockstep_group_[a-z_]+\{([a-z]+="[-+./A-Za-z0-9_]*",?)+\} [-+.0-9e]+$`)
