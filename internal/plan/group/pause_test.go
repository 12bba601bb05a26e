package group_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
	"github.com/lockstep-dev/lockstep/internal/proof/fixture"
)

func TestAPausedZoneIsReconciledWhenItsPauseEnds(t *testing.T) {
	for sentence, tc := range map[string]struct {
		zone string
		in   time.Duration // 0: only an event ends the wait
	}{
		"a pause with an end":                                         {"zone-a rev=2 current=1 paused until=1h\n zone-a-0 ready@1\n", time.Hour},
		"a pause without an end":                                      {"zone-a rev=2 current=1 paused\n zone-a-0 ready@1\n", 0},
		"a pause whose end cannot be read":                            {"zone-a rev=2 current=1 paused noUntil=soon\n zone-a-0 ready@1\n", 0},
		"a rolled zone whose revision is not adopted yet":             {"zone-a rev=2 current=1 paused until=1h\n zone-a-0 ready@2\n", time.Hour},
		"a pause of a zone that a leader blocks as well":              {"zone-a rev=2 current=1 paused until=1h leader=zone-x\n zone-a-0 ready@1\n", time.Hour},
		"a pause of a zone with a pod that becomes available earlier": {"zone-a rev=2 current=1 paused until=1h minReady=10s\n zone-a-0 ready@1 zone-a-1 ready@2 for=4s\n", 6 * time.Second},
	} {
		t.Run(sentence, func(t *testing.T) {
			s := fixture.MustParse(tc.zone)
			var want time.Time
			if tc.in > 0 {
				want = s.Now.Add(tc.in)
			}
			steps := group.Plan(s)
			if got := plan.Wake(steps); !got.Equal(want) {
				t.Errorf("woken at %s, want %s:\n%s", got, want, plan.Notation(steps))
			}
		})
	}
}

// If another pod becomes available meanwhile, the plan is evaluated again. The wait
// still has no end that users could see.
func TestAReportEndsOnlyByItsOwnEnd(t *testing.T) {
	for sentence, text := range map[string]string{
		"a pause without an end":  "zone-a rev=2 current=1 paused minReady=1m\n zone-a-0 ready@1 zone-a-1 ready@2 for=10s\n",
		"another update strategy": "zone-a rev=2 current=1 strategy=RollingUpdate minReady=1m\n zone-a-0 ready@1 zone-a-1 ready@2 for=10s\n",
	} {
		t.Run(sentence, func(t *testing.T) {
			s := fixture.MustParse(text)
			steps := group.Plan(s)
			if got, want := plan.Wake(steps), s.Now.Add(50*time.Second); !got.Equal(want) {
				t.Errorf("woken at %s, want %s", got, want)
			}
			for _, step := range steps {
				if w, waits := step.(plan.Wait); waits && !w.Because.Until.IsZero() {
					t.Errorf("%s ends at %s", w, w.Because.Until)
				}
			}
		})
	}
}

func TestPauseAndGroupAnnotationsWithoutEffectAreReported(t *testing.T) {
	for zone, want := range map[string][]plan.Wait{
		"zone-a rev=1 paused noUntil=soon\n": {{Zone: "zone-a", Because: plan.Refusal{Code: reason.InvalidPausedUntil, Detail: "soon"}}},
		"zone-a rev=1 paused until=1h\n":     nil,
		"zone-a rev=1 paused until=-1m\n":    {{Zone: "zone-a", Because: plan.Refusal{Code: reason.PauseExpired}}},
		"zone-a rev=1 until=-1m\n":           nil,
		"zone-a rev=1 noUntil=soon\n":        nil,
		"zone-a rev=1 noGroup=a/b\n":         {{Zone: "zone-a", Because: plan.Refusal{Code: reason.InvalidGroup, Detail: "a/b"}}},
		"zone-a rev=1 noEffect=True\n":       {{Zone: "zone-a", Because: plan.Refusal{Code: reason.NoEffect, Detail: "True"}}},
	} {
		if diff := cmp.Diff(want, group.Remarks(fixture.MustParse(zone))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", zone, diff)
		}
	}
}
