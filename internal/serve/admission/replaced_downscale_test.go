package admission_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockstep-dev/lockstep/internal/cluster/clock"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
	"github.com/lockstep-dev/lockstep/internal/serve/admission"
)

// unreachable pods receive no call.
type unreachable struct{}

func (unreachable) Prepare(context.Context, plan.Key, group.Zone, []plan.Pod) (bool, error) {
	return false, errors.New("pod zone-a-2 cannot be reached")
}

// afterAYes is a group in which zone-a-2 has accepted its preparation. The StatefulSet is
// at version 7; version 6 was admitted.
func afterAYes() group.Snapshot {
	snapshot := preparedAtRest()
	snapshot.Hold = group.Hold{
		Hold: plan.Hold{
			Exists: true,
			UID:    "lease",
			Holder: plan.DownscaleOperation.For("zone-a"),
		},
		Part: group.Part{
			Downscale: group.Downscale{
				Zone: "zone-a", UID: "uid-a", Version: 6, Generation: 1, From: 3, To: 2, Call: snapshot.Zones[0].Call,
				Stage: group.Admitted, Since: snapshot.Now.Add(-time.Second),
			},
		},
	}
	return snapshot
}

// The API server calls the webhook again within the same request, after a conflict of the admitted
// update. Then only the new record shows which pods were prepared.
func TestPodsPreparedForAReplacedDownscaleAreNotifiedToStay(t *testing.T) {
	inEffect := afterAYes()
	inEffect.Zones[0].Replicas = 2
	fresh, further := downscaleOfZoneA(), downscaleOfZoneA()
	further.From, further.To = new(int32(2)), new(int32(1))
	for sentence, tc := range map[string]struct {
		group  group.Snapshot
		change admission.Change
		pods   admission.Pods
		want   group.Stage
		of     plan.Version
	}{
		"no pod receives the next call":                                         {afterAYes(), fresh, unreachable{}, group.Undoing, 6},
		"no pod receives the next call while the former downscale is in effect": {inEffect, further, unreachable{}, group.Admitted, 6},
		"a pod receives the next call":                                          {afterAYes(), fresh, agreeingPods{}, group.Admitted, 7},
		"no pod receives the only call":                                         {preparedAtRest(), fresh, unreachable{}, "", 0},
	} {
		t.Run(sentence, func(t *testing.T) {
			holds := &holdStore{record: tc.group.Hold}
			webhook := &admission.PrepareDownscale{Observer: onlyGroup{tc.group}, Holds: kept(holds), Pods: tc.pods, Locks: &admission.GroupLocks{}, Clock: clock.New(), Log: silent()}
			if v := webhook.Judge(t.Context(), tc.change); v.Allowed != (tc.of == 7) {
				t.Errorf("got %+v", v)
			}
			d := group.HoldOf(holds.Cached(plan.Key{})).Downscale
			if d.Stage != tc.want || d.Version != tc.of {
				t.Errorf("the hold contains %+v, want version %d at the stage %q", d, tc.of, tc.want)
			}
		})
	}
}

func TestLateRecordKeepsThePreparedPodsOfTheFormerDownscale(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		snapshot := afterAYes()
		holds := &slow{record: snapshot.Hold}
		webhook := &admission.PrepareDownscale{Observer: onlyGroup{snapshot}, Holds: kept(holds), Pods: agreeingPods{}, Locks: &admission.GroupLocks{}, Clock: clock.New(), Log: silent()}
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		says(t, webhook.Judge(ctx, downscaleOfZoneA()), http.StatusTooManyRequests, reason.ParentUnknown)
		webhook.Wait()
		if d := group.HoldOf(holds.Cached(plan.Key{})).Downscale; d.Version != 6 || d.Stage != group.Undoing || holds.writes != 2 {
			t.Errorf("after %d writes the hold contains %+v, want that the downscale of version 6 is undone", holds.writes, d)
		}
	})
}
