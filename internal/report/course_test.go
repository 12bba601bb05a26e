package report

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lockstep-dev/lockstep/internal/fixture"
	"github.com/lockstep-dev/lockstep/internal/plan"
)

// clocked writes down what has ended.
type clocked []string

func (c *clocked) Stepped(took time.Duration)    { *c = append(*c, fmt.Sprint("pod ", took)) }
func (c *clocked) ZoneRolled(took time.Duration) { *c = append(*c, fmt.Sprint("zone ", took)) }
func (c *clocked) Rolled(took time.Duration)     { *c = append(*c, fmt.Sprint("group ", took)) }

// look is what a group looks like some time after its rollout began.
type look struct {
	after     time.Duration
	holder    plan.Holder
	taken     time.Duration
	situation string
}

const (
	bothOld = "zone-a rev=2\n zone-a-0 ready@1\nzone-b rev=2\n zone-b-0 ready@1\n"
	oneNew  = "zone-a rev=2\n zone-a-0 ready@2\nzone-b rev=2\n zone-b-0 ready@1\n"
	bothNew = "zone-a rev=2\n zone-a-0 ready@2\nzone-b rev=2\n zone-b-0 ready@2\n"
)

func TestHowLongARolloutTookIsToldAtItsEnd(t *testing.T) {
	const a, b, evicts = plan.Holder("rollout/zone-a"), plan.Holder("rollout/zone-b"), plan.Holder("eviction/zone-b")
	for sentence, tc := range map[string]struct {
		looks []look
		want  clocked
	}{
		"each zone when the next one has the hold, the group when nobody has": {
			[]look{{1, a, 0, bothOld}, {40, b, 39, oneNew}, {60, "", 0, bothNew}, {70, "", 0, bothNew}},
			clocked{"zone 39s", "zone 21s", "group 1m0s"},
		},
		"an eviction in between is part of it": {
			[]look{{1, a, 0, bothOld}, {10, evicts, 9, bothOld}, {20, a, 19, bothOld}, {40, b, 39, oneNew}},
			clocked{"zone 39s"},
		},
		"who begins to lead in the midst knows since when the zone is rolled": {
			[]look{{50, b, 39, oneNew}, {60, "", 0, bothNew}},
			clocked{"zone 21s", "group 21s"},
		},
		"a rollout that stands still has not ended":    {[]look{{1, a, 0, bothOld}, {40, "", 0, oneNew}}, clocked{"zone 40s"}},
		"a downscale is no rollout":                    {[]look{{1, "downscale/zone-a", 0, bothNew}, {40, "", 0, bothNew}}, nil},
		"nothing is said of a hold that does not date": {[]look{{1, a, -1, bothOld}, {40, "", 0, bothNew}}, nil},
	} {
		t.Run(sentence, func(t *testing.T) {
			var watch clocked
			c := (&courses{}).of(plan.Key{})
			began := time.Unix(1_000_000, 0)
			for _, l := range tc.looks {
				s := fixture.MustParse(l.situation)
				s.Now = began.Add(l.after * time.Second)
				s.Hold.Holder = l.holder
				if !l.holder.Free() && l.taken >= 0 {
					s.Hold.Since = began.Add(l.taken * time.Second)
				}
				c.follow(s, &watch)
			}
			if diff := cmp.Diff(tc.want, watch); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestHowLongAStepTookIsToldOnce(t *testing.T) {
	began := time.Unix(1_000_000, 0)
	noted := plan.Intent{Zone: "zone-a", Pod: "zone-a-0", UID: "former", Version: 5, Since: began}
	for sentence, tc := range map[string]struct {
		late time.Duration // of the look after the pod was Ready
		want clocked
	}{
		"when the replacement is seen to be Ready":              {300 * time.Millisecond, clocked{"pod 12.3s"}},
		"not later than its condition says if the look is late": {time.Hour, clocked{"pod 13s"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			var watch clocked
			c := (&courses{}).of(plan.Key{})
			s := fixture.MustParse("hold rollout/zone-a\nzone-a rev=2\n zone-a-0 ready@2\n")
			s.Hold.Intents = []plan.Intent{noted}
			s.Zones[0].Pods[0].UID, s.Zones[0].Pods[0].Version, s.Zones[0].Pods[0].Phase = "next", 9, plan.Starting
			s.Now = began.Add(10 * time.Second)
			c.follow(s, &watch)
			ready := began.Add(12 * time.Second)
			s.Zones[0].Pods[0].Phase, s.Zones[0].Pods[0].ReadySince = plan.Ready, ready
			for range 3 {
				s.Now = ready.Add(tc.late)
				c.follow(s, &watch)
			}
			s.Hold.Intents = nil
			c.follow(s, &watch)
			if diff := cmp.Diff(tc.want, watch); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
