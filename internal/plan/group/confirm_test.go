package group_test

import (
	"strings"
	"testing"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/proof/fixture"
)

// After a live read and before the disruption, lockstep plans once more from the caches.
func TestCachesConfirmThePlanOfALiveRead(t *testing.T) {
	const outdated = "zone-a rev=2 current=1\n zone-a-0 ready@1\nzone-b rev=2\n"
	const available = outdated + " zone-b-0 ready@2\n"
	const two = "hold rollout/zone-a\nzone-a rev=2 current=1 budget=2\n zone-a-0 ready@1 zone-a-1 ready@1\nzone-b rev=2\n zone-b-0 ready@2\n"
	const both = "zone-a rev=3 current=2\n zone-a-0 ready@2\nzone-b rev=3 current=2\n zone-b-0 ready@3\n zone-b-1 ready@2\n"
	const lapsed = "hold eviction/zone-b\n intent zone-b-0 granted known=70s\n"
	const moved = "hold rollout/zone-c\n intent zone-c-0 uid=former version=5\nrelabelled zone-c rev=2\n zone-c-0 ready@2\n"
	const restored = "hold rollout/zone-b\n intent zone-b-1 uid=former version=999\n"
	const scalingDown = "hold downscale/zone-b\n downscale zone-b from 2 to 1 admitted uid=former version=999 since=1h\n"
	const lowers = "hold downscale/zone-b\n downscale zone-b from 2 to 1 admitted own\nzone-b rev=1 mirror=web scale=1\n zone-b-0 ready@1 zone-b-1 ready@1\nzone-a rev=1\n zone-a-0 "
	for sentence, tc := range map[string]struct {
		live, cached string
		want         bool
	}{
		"the same plan from caches":                                        {available, available, true},
		"a disruption while another zone became unavailable":               {available, outdated + " zone-b-0 starting@2\n", false},
		"the same plan without the Lease of the live read":                 {"hold rollout/zone-b\n" + both, both, true},
		"two pods of which caches propose one":                             {two, "hold rollout/zone-a\nzone-a rev=2 current=1 budget=2\n zone-a-0 ready@1 zone-a-1 terminating@1\nzone-b rev=2\n zone-b-0 ready@2\n", false},
		"one pod of two that caches propose":                               {"hold rollout/zone-a\nzone-a rev=2 current=1 budget=2\n zone-a-0 ready@1 zone-a-1 terminating@1\nzone-b rev=2\n zone-b-0 ready@2\n", two, true},
		"a pod that was created again":                                     {available, strings.Replace(available, "zone-a-0 ready@1", "zone-a-0 ready@1 uid=another", 1), false},
		"a repair of a pod that is ready in caches":                        {"zone-a rev=2 current=1\n zone-a-0 failing@1\n", "zone-a rev=2 current=1\n zone-a-0 ready@2\n", true},
		"a plan that forgets one zone while another zone left":             {"deleted zone-c\n" + available, "deleted zone-c\norphaned zone-d\n zone-d-0 ready@1\n" + available, false},
		"the same downscale from caches":                                   {lowers + "ready@1\n", lowers + "ready@1\n", true},
		"a downscale while another zone became unavailable":                {lowers + "ready@1\n", lowers + "starting@1\n", false},
		"a downscale to another number of replicas":                        {lowers + "ready@1\n", strings.Replace(lowers, "to 1", "to 0", 1) + "ready@1\n", false},
		"a plan without disruptions":                                       {outdated + " zone-b-0 starting@2\n", outdated, true},
		"a disruption after a grant has ended":                             {lapsed + available, lapsed + available, true},
		"a disruption after a record from before a restore has ended":      {restored + available, restored + available, true},
		"a disruption after a downscale from before a restore has ended":   {scalingDown + available, scalingDown + available, true},
		"a disruption after a zone was forgotten":                          {"deleted zone-c\n" + available, "deleted zone-c\n" + available, true},
		"a disruption after the pod of a zone that moved became available": {moved + available, moved + available, true},
		"a disruption while a zone has left since":                         {available, "orphaned zone-c\n zone-c-0 ready@1\n" + available, false},
		"a disruption while an eviction was granted since":                 {available, "hold eviction/zone-b\n intent zone-b-0 granted known=1s\n" + available, false},
		"a disruption while one of two grants has not ended":               {lapsed + available, lapsed + " intent zone-b-1 granted known=1s\n" + available + " zone-b-1 ready@2\n", false},
	} {
		t.Run(sentence, func(t *testing.T) {
			live := fixture.MustParse("live\n" + tc.live)
			steps := group.Plan(live)
			if got := group.Confirms(fixture.MustParse(tc.cached), live, steps); got != tc.want {
				t.Errorf("got %t, want %t for\n%s", got, tc.want, plan.Notation(steps))
			}
		})
	}
}

// A record does not time out while its plan is confirmed.
func TestCachesConfirmAPlanByItsTime(t *testing.T) {
	const lowers = "hold downscale/zone-a\n downscale zone-a from 2 to 1 admitted own since=1s\nzone-a rev=1 force=1\n zone-a-0 ready@1 zone-a-1 ready@1\n"
	live, view := fixture.MustParse("live\n"+lowers), fixture.MustParse(lowers)
	steps := group.Plan(live)
	view.Now = live.Now.Add(group.UpdateLimit)
	if len(plan.Only[group.SetReplicas](steps)) != 1 || !group.Confirms(view, live, steps) {
		t.Errorf("the caches do not confirm, after the time limit of the update:\n%s", plan.Notation(steps))
	}
}

// A live read ends a record, and the caches show a later one about the same pod or zone.
func TestCachesConfirmNoDisruptionBesideALaterRecord(t *testing.T) {
	const zones = "zone-a rev=2 current=1\n zone-a-0 ready@1\nzone-b rev=2\n zone-b-0 ready@2 zone-b-1 ready@2\n"
	const lapsed = "hold eviction/zone-b\n intent zone-b-0 granted known=70s since=2m\n" + zones
	const restored = "hold downscale/zone-b\n downscale zone-b from 3 to 2 admitted uid=former version=999 since=1h\n" + zones
	const done = "hold downscale/zone-b\n downscale zone-b from 3 to 2 admitted version=9 since=1s\n" + zones
	for sentence, tc := range map[string]struct {
		live, cached string
		want         bool
	}{
		"the grant that ended":                                 {lapsed, lapsed, true},
		"a later grant of the same pod":                        {lapsed, "hold eviction/zone-b\n intent zone-b-0 granted known=1s since=1s\n" + zones, false},
		"the downscale from before a restore":                  {restored, restored, true},
		"a later downscale of the same zone":                   {restored, "hold downscale/zone-b\n downscale zone-b from 2 to 1 admitted since=1s\n" + zones, false},
		"a downscale that the caches do not show as completed": {done, "hold downscale/zone-b\n downscale zone-b from 3 to 2 admitted version=9 since=1s\n" + strings.Replace(zones, "zone-b rev=2", "zone-b rev=2 version=9", 1) + " zone-b-2 ready@2\n", false},
	} {
		t.Run(sentence, func(t *testing.T) {
			live := fixture.MustParse("live\n" + tc.live)
			steps := group.Plan(live)
			if len(plan.Only[plan.DeletePod](steps)) == 0 {
				t.Fatalf("the plan deletes no pod:\n%s", plan.Notation(steps))
			}
			if got := group.Confirms(fixture.MustParse(tc.cached), live, steps); got != tc.want {
				t.Errorf("got %t, want %t for\n%s", got, tc.want, plan.Notation(steps))
			}
		})
	}
}
