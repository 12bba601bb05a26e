package group_test

import (
	"strings"
	"testing"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/proof/fixture"
)

// A person deletes a pod that cannot be notified that it stays. Its successor may not
// know the call either.
func TestAPodCreatedLongAfterTheCancellationIsNotNotified(t *testing.T) {
	const undoing = `
live
hold downscale/zone-b
  downscale zone-b from 2 to 1 undoing own
zone-a rev=1
  zone-a-0 ready@1
zone-b rev=1 leader=zone-a prepares
  zone-b-0 ready@1 ip=10.0.0.1   zone-b-1 ready@1 ip=10.0.0.2
`
	for sentence, tc := range map[string]struct {
		created time.Duration // after the decision that all pods stay
		want    string
	}{
		"a pod that was created before":                               {-time.Hour, "undo zone-b"},
		"a pod that a late call may have reached":                     {30 * time.Second, "undo zone-b"},
		"a pod that no call can have reached":                         {2 * time.Minute, "end zone-b"},
		"a pod whose creation time comes from a clock that was ahead": {20 * time.Minute, "undo zone-b"},
	} {
		s := fixture.MustParse(undoing)
		since := s.Now.Add(-10 * time.Minute)
		s.Hold.Downscale.Since = since
		z := &s.Zones[1]
		z.Pods[1].UID, z.Pods[1].Created = "its successor", plan.UnixTimeOf(since.Add(tc.created))
		steps := group.Plan(s)
		if len(steps) == 0 || !strings.HasPrefix(steps[0].String(), tc.want) {
			t.Errorf("%s: got %v, want %s", sentence, steps, tc.want)
		}
	}
}
