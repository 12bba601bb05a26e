package group_test

import (
	"testing"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/proof/fixture"
)

// Only a request from before the restore could carry out the downscale. So the downscale
// has not failed, and lockstep may begin it again.
func TestADownscaleThatARestoreTookBackIsNoLongerLockstepsOwn(t *testing.T) {
	s := fixture.MustParse(`
live
hold downscale/zone-a
  downscale zone-a from 3 to 2 preparing own calls uid=former version=99999999 since=1h
zone-a rev=2 prepares
  zone-a-0 ready@2
  zone-a-1 ready@2
  zone-a-2 ready@2 ip=10.0.0.3
`)
	records := plan.Only[group.RecordDownscale](group.Plan(s))
	if len(records) != 1 || records[0].Downscale.Stage != group.Undoing {
		t.Fatalf("the plan is %q, want the downscale recorded to be undone", plan.Notation(group.Plan(s)))
	}
	if records[0].Downscale.Ours {
		t.Error("it is recorded as lockstep's, which fails when its undoing ends")
	}
}

// An unbound grant deletes the pod that has the name by then, so a live read before it
// lapses ends nothing.
func TestAnUnboundGrantThatCachesDoNotReachIsReadLiveOnceItHasLapsed(t *testing.T) {
	for options, want := range map[string]time.Duration{
		"granted known=4s":         6 * time.Second,
		"granted unbound known=4s": plan.GrantLimit - 4*time.Second,
	} {
		t.Run(options, func(t *testing.T) {
			s := fixture.MustParse("hold eviction/zone-a\n intent zone-a-0 uid=former version=99999999 " + options + "\nzone-a rev=1\n zone-a-0 ready@1\n")
			steps := group.Plan(s)
			if got := plan.Wake(steps).Sub(s.Now); got != want {
				t.Errorf("woken after %s, want %s: %q", got, want, plan.Notation(steps))
			}
		})
	}
}
