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
	const shrinking = "hold downscale/zone-b\n downscale zone-b from 2 to 1 admitted uid=former version=999 since=1h\n"
	const lowers = "hold downscale/zone-b\n downscale zone-b from 2 to 1 admitted own\nzone-b rev=1 mirror=web scale=1\n zone-b-0 ready@1 zone-b-1 ready@1\nzone-a rev=1\n zone-a-0 "
	for sentence, tc := range map[string]struct {
		live, cached string
		want         bool
	}{
		"what they propose as well":                                         {available, available, true},
		"not what would break what broke meanwhile":                         {available, outdated + " zone-b-0 starting@2\n", false},
		"what they propose without the Lease that a look read":              {"hold rollout/zone-b\n" + both, both, true},
		"not two pods of which they propose one":                            {two, "hold rollout/zone-a\nzone-a rev=2 current=1 budget=2\n zone-a-0 ready@1 zone-a-1 terminating@1\nzone-b rev=2\n zone-b-0 ready@2\n", false},
		"one pod of two that they propose":                                  {"hold rollout/zone-a\nzone-a rev=2 current=1 budget=2\n zone-a-0 ready@1 zone-a-1 terminating@1\nzone-b rev=2\n zone-b-0 ready@2\n", two, true},
		"not a pod that was created again":                                  {available, strings.Replace(available, "zone-a-0 ready@1", "zone-a-0 ready@1 uid=another", 1), false},
		"a repair, although they show that the pod is up again":             {"zone-a rev=2 current=1\n zone-a-0 failing@1\n", "zone-a rev=2 current=1\n zone-a-0 ready@2\n", true},
		"not beside a zone that left, if another one is forgotten":          {"deleted zone-c\n" + available, "deleted zone-c\norphaned zone-d\n zone-d-0 ready@1\n" + available, false},
		"a downscale that they carry out as well":                           {lowers + "ready@1\n", lowers + "ready@1\n", true},
		"not a downscale beside what broke meanwhile":                       {lowers + "ready@1\n", lowers + "starting@1\n", false},
		"not a downscale to another size":                                   {lowers + "ready@1\n", strings.Replace(lowers, "to 1", "to 0", 1) + "ready@1\n", false},
		"a plan that takes nobody down":                                     {outdated + " zone-b-0 starting@2\n", outdated, true},
		"a takedown that a grant was in the way of":                         {lapsed + available, lapsed + available, true},
		"a takedown that a note of before a restore was in the way of":      {restored + available, restored + available, true},
		"a takedown that a downscale of before a restore was in the way of": {shrinking + available, shrinking + available, true},
		"a takedown that a zone which has gone was in the way of":           {"deleted zone-c\n" + available, "deleted zone-c\n" + available, true},
		"a takedown that a pod of a zone which moved was in the way of":     {moved + available, moved + available, true},
		"not one that a zone which left since is in the way of":             {available, "orphaned zone-c\n zone-c-0 ready@1\n" + available, false},
		"not one that a grant is in the way of since":                       {available, "hold eviction/zone-b\n intent zone-b-0 granted known=1s\n" + available, false},
		"not beside one grant that is over and one that not":                {lapsed + available, lapsed + " intent zone-b-1 granted known=1s\n" + available + " zone-b-1 ready@2\n", false},
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
