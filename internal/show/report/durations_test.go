package report

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/proof/fixture"
)

// clocked records the durations that have ended.
type clocked []string

func (c *clocked) Stepped(took time.Duration)    { *c = append(*c, fmt.Sprint("pod ", took)) }
func (c *clocked) ZoneRolled(took time.Duration) { *c = append(*c, fmt.Sprint("zone ", took)) }
func (c *clocked) Rolled(took time.Duration)     { *c = append(*c, fmt.Sprint("group ", took)) }

func TestTheDurationOfARolloutIsReportedOnceAtItsEnd(t *testing.T) {
	at := func(second int64) time.Time {
		if second == 0 {
			return time.Time{}
		}
		return time.Unix(second, 0)
	}
	zone := func(name string, since, until int64) plan.RolledZone {
		return plan.RolledZone{Name: name, Since: at(since), Until: at(until)}
	}
	rolled := func(since, until int64, zones ...plan.RolledZone) plan.RolledGroup {
		return plan.RolledGroup{Since: at(since), Until: at(until), Zones: zones}
	}
	var (
		nothing = plan.Rollouts{}
		former  = rolled(1, 9, zone("a", 1, 9))
		before  = plan.Rollouts{Finished: []plan.RolledGroup{former}}
		first   = plan.Rollouts{Current: rolled(20, 0, zone("a", 20, 0)), Finished: []plan.RolledGroup{former}}
		second  = plan.Rollouts{Current: rolled(20, 0, zone("a", 20, 59), zone("b", 59, 0)), Finished: []plan.RolledGroup{former}}
		over    = plan.Rollouts{Finished: []plan.RolledGroup{rolled(20, 80, zone("a", 20, 59), zone("b", 59, 80)), former}}
	)
	for sentence, tc := range map[string]struct {
		reports []plan.Rollouts
		want    clocked
	}{
		"zone by zone, and then the group":                     {[]plan.Rollouts{before, first, second, second, over, over}, clocked{"zone 39s", "zone 21s", "group 1m0s"}},
		"a rollout that ended before is not reported again":    {[]plan.Rollouts{over, over}, nil},
		"a new leader knows when the current rollout began":    {[]plan.Rollouts{second, over}, clocked{"zone 21s", "group 1m0s"}},
		"a rollout that the Lease has dropped is not reported": {[]plan.Rollouts{over, nothing, nothing}, nil},
	} {
		t.Run(sentence, func(t *testing.T) {
			var watch clocked
			c := (&durationsOfGroups{}).of(plan.Key{})
			for _, r := range tc.reports {
				s := fixture.MustParse("zone-a rev=2\n")
				s.Hold.Rollouts = r
				c.follow(&s, &watch)
			}
			if diff := cmp.Diff(tc.want, watch); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestAReplacementThatWasNotAwaitedHasNoDuration(t *testing.T) {
	var watch clocked
	c := (&durationsOfGroups{}).of(plan.Key{})
	c.follow(new(fixture.MustParse("hold rollout/zone-x\n intent zone-x-0\nstray zone-x-0 starting@2 uid=later version=20\n")), &watch)
	if len(watch) > 0 {
		t.Errorf("reported %v", watch)
	}
}

func TestTheDurationOfAStepIsReportedOnce(t *testing.T) {
	began := time.Unix(1_000_000, 0)
	noted := plan.Intent{Zone: "zone-a", Pod: "zone-a-0", UID: "former", Version: 5, Since: began}
	for sentence, tc := range map[string]struct {
		late time.Duration // of the reconcile after the pod became Ready
		seen time.Duration // when the process saw it become Ready; 0: it did not
		want clocked
	}{
		"when the replacement is seen to be Ready":              {300 * time.Millisecond, 0, clocked{"pod 12.3s"}},
		"not later than its condition if the reconcile is late": {time.Hour, 0, clocked{"pod 13s"}},
		"as the process saw it, whenever it reconciles":         {time.Hour, 1100 * time.Millisecond, clocked{"pod 13.1s"}},
		"not before the second of its condition":                {300 * time.Millisecond, -time.Millisecond, clocked{"pod 12s"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			var watch clocked
			c := (&durationsOfGroups{}).of(plan.Key{})
			s := fixture.MustParse("hold rollout/zone-a\nzone-a rev=2\n zone-a-0 ready@2\n")
			s.Hold.Intents = []plan.Intent{noted}
			s.Zones[0].Pods[0].UID, s.Zones[0].Pods[0].Version, s.Zones[0].Pods[0].Phase = "next", 9, plan.Starting
			s.Now = began.Add(10 * time.Second)
			c.follow(&s, &watch)
			ready := began.Add(12 * time.Second)
			s.Zones[0].Pods[0].Phase, s.Zones[0].Pods[0].ReadySince = plan.Ready, ready
			if tc.seen != 0 {
				s.Zones[0].Pods[0].Seen.Ready = plan.SightingOf(ready, ready.Add(tc.seen))
			}
			for range 3 {
				s.Now = ready.Add(tc.late)
				c.follow(&s, &watch)
			}
			s.Hold.Intents = nil
			c.follow(&s, &watch)
			if diff := cmp.Diff(tc.want, watch); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
