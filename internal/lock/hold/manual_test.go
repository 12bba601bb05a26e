package hold_test

import (
	"strings"
	"testing"
	"time"

	"github.com/lockstep-dev/lockstep/internal/lock/hold"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
	"github.com/lockstep-dev/lockstep/internal/proof/fixture"
)

func TestAReasonBecomesPartOfAHolder(t *testing.T) {
	for why, want := range map[string]plan.Holder{
		"maintenance":                    "manual/maintenance",
		"Node upgrade, see #1234 ":       "manual/node-upgrade-see-1234",
		"../../rollout/zone-a":           "manual/rollout-zone-a",
		"\x1b[2Jüber\nall":               "manual/2j-ber-all",
		strings.Repeat("very long ", 20): "manual/" + plan.Holder(strings.Repeat("very-long-", 5)[:49]),
	} {
		if got, ok := hold.ManualFor(why); !ok || got != want {
			t.Errorf("%q: got %q, %t, want %q", why, got, ok, want)
		}
	}
	for _, why := range []string{"", " ", "…", "日本"} {
		if got, ok := hold.ManualFor(why); ok {
			t.Errorf("%q: got %q, want none", why, got)
		}
	}
}

func TestAPersonTakesOnlyAFreeHold(t *testing.T) {
	const mine = plan.Holder("manual/upgrade")
	for held, want := range map[string]reason.Code{
		"":                                                    "",
		"hold free transitions=3\n":                           "",
		"hold manual/upgrade\n":                               reason.GroupHeld,
		"hold manual/upgrade renewed 2m ago\n":                "",
		"hold manual/other renewed 2m ago\n":                  "",
		"hold manual/other\n":                                 reason.GroupHeld,
		"hold rollout/zone-a\n":                               reason.GroupHeld,
		"hold downscale/zone-a renewed 1h ago\n":              reason.GroupHeld,
		"hold free\n intent zone-a-0\n":                       reason.PodDisruptionPending,
		"hold free\n downscale zone-a from 2 to 1 admitted\n": reason.ZoneShrinking,
		"hold free unreadable=damaged\n":                      reason.HoldUnreadable,
	} {
		t.Run(held, func(t *testing.T) {
			before := fixture.MustParse(held).Hold
			got, refusal := hold.Take(before.Record(), mine, fixture.Now(), time.Hour, false)
			if refusal.Code != want {
				t.Fatalf("refused because %s, want %q", refusal, want)
			}
			if !refusal.None() {
				return
			}
			if got.Holder != mine || !got.ExpiresAt().Equal(fixture.Now().Add(time.Hour)) {
				t.Errorf("held by %q until %s", got.Holder, got.ExpiresAt())
			}
			if changed := got.Transitions - before.Transitions; changed != 1 {
				t.Errorf("%d changes of the holder are counted", changed)
			}
			if got.UID != before.UID || got.Version != before.Version {
				t.Error("the write would not be compared with the Lease that was read")
			}
		})
	}
}

func TestAPersonReleasesOnlyHoldsFromOutside(t *testing.T) {
	for holder, want := range map[string]struct{ plain, forced bool }{
		"manual/upgrade": {true, true},
		"backup/weekly":  {false, true},
		"rollout/zone-a": {false, false},
		"downscale/a":    {false, false},
		"eviction/a":     {false, false},
		"free":           {false, false},
	} {
		for force, want := range map[bool]bool{false: want.plain, true: want.forced} {
			before := fixture.MustParse("hold " + holder + "\n intent zone-a-0\n").Hold
			got, ok := hold.GiveBack(before.Record(), force)
			if ok != want || got.Holder.Free() != (want || holder == "free") || len(got.Intents) != 1 {
				t.Errorf("%s, by force %t: got %t and %q with %d intents, want %t", holder, force, ok, got.Holder, len(got.Intents), want)
			}
		}
	}
}

func TestAnUnreadableHoldIsNotReleased(t *testing.T) {
	before := fixture.MustParse("hold manual/upgrade unreadable=damaged\n").Hold
	for _, force := range []bool{false, true} {
		if got, ok := hold.GiveBack(before.Record(), force); ok || got.Holder != before.Holder {
			t.Errorf("by force %t: given back as %+v", force, got)
		}
	}
}

func TestAHoldIsRenewedForItsReasonAloneAndNeverEndsSooner(t *testing.T) {
	const mine = plan.Holder("manual/upgrade")
	in := func(d time.Duration) time.Time { return fixture.Now().Add(d) }
	for sentence, tc := range map[string]struct {
		held  group.Hold
		until time.Time
		code  reason.Code
		takes int
	}{
		"shorter":           {group.Hold{Hold: plan.Hold{Holder: mine, Renewed: fixture.Now(), Duration: time.Minute}}, in(time.Hour), "", 0},
		"longer":            {group.Hold{Hold: plan.Hold{Holder: mine, Renewed: fixture.Now(), Duration: 4 * time.Hour}}, in(4 * time.Hour), "", 0},
		"without an end":    {group.Hold{Hold: plan.Hold{Holder: mine}}, time.Time{}, "", 0},
		"over":              {group.Hold{Hold: plan.Hold{Holder: mine, Renewed: in(-time.Hour), Duration: time.Minute}}, in(time.Hour), "", 1},
		"free":              {group.Hold{}, in(time.Hour), "", 1},
		"of another reason": {group.Hold{Hold: plan.Hold{Holder: "manual/backup", Renewed: fixture.Now(), Duration: time.Minute}}, in(time.Minute), reason.GroupHeld, 0},
	} {
		t.Run(sentence, func(t *testing.T) {
			got, refusal := hold.Take(tc.held.Record(), mine, fixture.Now(), time.Hour, true)
			if refusal.Code != tc.code || !got.ExpiresAt().Equal(tc.until) || got.Transitions != tc.takes {
				t.Errorf("refused because %q, until %s, taken %d times; want %q, %s, %d", refusal.Code, got.ExpiresAt(), got.Transitions, tc.code, tc.until, tc.takes)
			}
		})
	}
}
