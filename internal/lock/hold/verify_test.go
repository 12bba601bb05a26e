package hold_test

import (
	"testing"

	"github.com/lockstep-dev/lockstep/internal/lock/hold"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/proof/fixture"
)

func TestStatefulSetsAreReadBeforePodsAreDisrupted(t *testing.T) {
	const rolling = "hold rollout/zone-a\nzone-a rev=2 current=1\n zone-a-0 "
	for sentence, tc := range map[string]struct {
		text string
		want bool
	}{
		"a pod that is up is deleted":      {rolling + "ready@1\n", true},
		"its delete is already recorded":   {"hold rollout/zone-a\n intent zone-a-0 version=10\nzone-a rev=2 current=1\n zone-a-0 ready@1 version=10\n", true},
		"the same plan is of a live read":  {"live\n" + rolling + "ready@1\n", true},
		"a pod that is down, on a read":    {"live\nzone-a rev=2 current=1\n zone-a-0 failing@1\n", true},
		"a downscale that is carried out":  {"hold downscale/zone-a\n downscale zone-a from 2 to 1 admitted own\nzone-a rev=1 mirror=web scale=1\n zone-a-0 ready@1 zone-a-1 ready@1\n", true},
		"a plan that deletes nothing":      {rolling + "starting@2\n", false},
		"a plan that releases the hold":    {rolling + "ready@2\n", false},
		"a hold is to be taken, so a read": {"zone-a rev=2 current=1\n zone-a-0 ready@1\n", false},
	} {
		s := fixture.MustParse(tc.text)
		if d := hold.Decide(&s, group.Plan(s)); d.Verify != tc.want {
			t.Errorf("%s: %t, want %t (%s)", sentence, d.Verify, tc.want, fixture.Decision(d))
		}
	}
}
