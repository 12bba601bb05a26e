package admission_test

import (
	"testing"
	"time"

	"github.com/lockstep-dev/lockstep/internal/admission"
	"github.com/lockstep-dev/lockstep/internal/clock"
	"github.com/lockstep-dev/lockstep/internal/fixture"
	"github.com/lockstep-dev/lockstep/internal/plan"
)

// unlabelled is a group whose Lease no watch shows.
type unlabelled struct{ onlyGroup }

func (u unlabelled) Cached(key plan.Key) plan.Snapshot {
	s := u.onlyGroup.Cached(key)
	s.Hold = plan.Hold{}
	return s
}

// A group in which nothing else is to be done is not looked at by whoever leads: he learns
// of its Lease from the watch, or not at all.
func TestWhoeverRefusesShowsALeaseThatLostItsLabel(t *testing.T) {
	now := atRest().Now
	noted := fixture.Noted("zone-b-0")
	for sentence, tc := range map[string]struct {
		record plan.Hold
		dryRun bool
		shown  bool
	}{
		"an operation that nobody ends":     {plan.Hold{Holder: plan.Rollout.For("zone-b"), Intents: []plan.Intent{noted}}, false, true},
		"a downscale":                       {plan.Hold{Holder: plan.Downscale.For("zone-b"), Decrease: fixture.Shrinking("zone-b", 3, 2, plan.Admitted)}, false, true},
		"a pod beside somebody's own hold":  {plan.Hold{Holder: "manual/maintenance", Intents: []plan.Intent{noted}, Renewed: now, Duration: time.Hour}, false, true},
		"but not somebody's own hold alone": {plan.Hold{Holder: "manual/maintenance", Renewed: now, Duration: time.Hour}, false, false},
		"nor what cannot be read":           {plan.Hold{Holder: plan.Rollout.For("zone-b"), Intents: []plan.Intent{noted}, Unreadable: "?"}, false, false},
		"nor by a dry run":                  {plan.Hold{Holder: plan.Rollout.For("zone-b"), Intents: []plan.Intent{noted}}, true, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			group, holds := atRest(), &ledger{}
			group.Hold = tc.record
			group.Hold.Exists, group.Hold.UID, group.Hold.Version = true, "lease", 3
			asks := shrinking()
			asks.DryRun = tc.dryRun
			webhook := &admission.PrepareDownscale{Observer: unlabelled{onlyGroup{group}}, Holds: kept(holds), Pods: obedient{}, Turns: &admission.GroupLocks{}, Clock: clock.New(), Log: silent()}
			if v := webhook.Judge(t.Context(), asks); v.Allowed {
				t.Errorf("got %+v", v)
			}
			if shown := len(holds.written) > 0; shown != tc.shown {
				t.Fatalf("written %d times", len(holds.written))
			}
			if tc.shown && holds.written[0].Holder != tc.record.Holder {
				t.Errorf("written as %+v", holds.written[0])
			}
		})
	}
}
