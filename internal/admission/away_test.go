package admission_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/lockstep-dev/lockstep/internal/admission"
	"github.com/lockstep-dev/lockstep/internal/clock"
	"github.com/lockstep-dev/lockstep/internal/observe"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/reason"
)

// withoutLabel shows a group whose zone-a has lost its label.
type withoutLabel struct{ onlyGroup }

func (withoutLabel) Set(string, string) (observe.Set, bool) {
	return observe.Set{UID: "uid-a", Version: 7, Away: true, Key: atRest().Key}, true
}

func TestAZoneWithoutItsLabelShrinksOnceItIsWhole(t *testing.T) {
	for sentence, tc := range map[string]struct {
		phase plan.Phase // of its last pod
		want  reason.Code
	}{
		"all of its pods are available": {plan.Ready, reason.NotGuarded},
		"one of its pods is down":       {plan.Starting, reason.ZoneLeftGroup},
	} {
		t.Run(sentence, func(t *testing.T) {
			group := atRest()
			away := group.Zones[0]
			away.Pods[len(away.Pods)-1].Phase = tc.phase
			group.Zones, group.Left = group.Zones[1:], []plan.LeftZone{{Zone: away, Exists: true}}
			webhook := &admission.PrepareDownscale{
				Observer: withoutLabel{onlyGroup{group}}, Holds: kept(&slow{}), Pods: obedient{}, Turns: &admission.GroupLocks{}, Clock: clock.New(), Log: silent(),
			}
			v := webhook.Judge(t.Context(), shrinking())
			if v.Reason != tc.want || v.Allowed != (tc.want == reason.NotGuarded) {
				t.Errorf("got %+v, want %s", v, tc.want)
			}
		})
	}
}

// unshown is such a group that the API server does not show.
type unshown struct{ withoutLabel }

func (unshown) Live(context.Context, plan.Key) (plan.Snapshot, error) {
	return plan.Snapshot{}, errors.New("forbidden")
}

func TestAZoneWithoutItsLabelKeepsItsReplicasWhileItsGroupIsUnknown(t *testing.T) {
	webhook := &admission.PrepareDownscale{
		Observer: unshown{withoutLabel{onlyGroup{atRest()}}}, Holds: kept(&slow{}), Pods: obedient{}, Turns: &admission.GroupLocks{}, Clock: clock.New(), Log: silent(),
	}
	v := webhook.Judge(t.Context(), shrinking())
	says(t, v, http.StatusTooManyRequests, reason.ParentUnknown)
	if !strings.Contains(v.Message, "the API server did not show the group: forbidden") {
		t.Errorf("it says %q", v.Message)
	}
}
