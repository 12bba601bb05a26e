package admission_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/lockstep-dev/lockstep/internal/cluster/clock"
	"github.com/lockstep-dev/lockstep/internal/cluster/observe"
	"github.com/lockstep-dev/lockstep/internal/lock/hold"
	"github.com/lockstep-dev/lockstep/internal/lock/lease"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
	"github.com/lockstep-dev/lockstep/internal/proof/fixture"
	"github.com/lockstep-dev/lockstep/internal/serve/admission"
)

// withoutLabel shows a group whose zone-a has lost its label, and what it is by itself.
type withoutLabel struct {
	onlyGroup
	alone plan.Snapshot // what shrinks under a hold of its own
}

func (o withoutLabel) Set(string, string) (observe.Set, bool) {
	return observe.Set{UID: "uid-a", Version: 7, Held: o.alone.Key.Kind == plan.KindStatefulSet, Key: o.alone.Key}, true
}

func (o withoutLabel) ClaimsOfGroups(context.Context, string, string) ([]lease.Claim, error) {
	return []lease.Claim{{Key: o.shows.Key, Lease: hold.LeaseName(o.shows.Key)}}, nil
}

func (o withoutLabel) Cached(key plan.Key) plan.Snapshot {
	if key.Kind == plan.KindStatefulSet {
		return fixture.Clone(o.alone)
	}
	return o.onlyGroup.Cached(key)
}

func (o withoutLabel) Live(_ context.Context, key plan.Key) (plan.Snapshot, error) {
	live := o.Cached(key)
	live.Live = true
	return live, nil
}

// withoutZoneA is a group that zone-a left while its last pod was in a phase.
func withoutZoneA(phase plan.Phase) plan.Snapshot {
	group := atRest()
	away := group.Zones[0]
	away.Pods[len(away.Pods)-1].Phase = phase
	group.Zones, group.Left = group.Zones[1:], []plan.LeftZone{{Zone: away, Exists: true}}
	return group
}

func TestAZoneWithoutItsLabelShrinksOnceItIsWhole(t *testing.T) {
	for sentence, tc := range map[string]struct {
		phase      plan.Phase // of its last pod
		unreadable string     // what the Lease of the group says
		want       reason.Code
	}{
		"all of its pods are available":           {plan.Ready, "", reason.NotManaged},
		"one of its pods is down":                 {plan.Starting, "", reason.ZoneLeftGroup},
		"what the Lease remembers cannot be read": {plan.Ready, "damaged", reason.HoldUnreadable},
	} {
		t.Run(sentence, func(t *testing.T) {
			group := withoutZoneA(tc.phase)
			group.Hold.Unreadable = tc.unreadable
			webhook := &admission.PrepareDownscale{
				Observer: withoutLabel{onlyGroup: onlyGroup{group}}, Holds: kept(&slow{}), Pods: obedient{}, Turns: &admission.GroupLocks{}, Clock: clock.New(), Log: silent(),
			}
			v := webhook.Judge(t.Context(), shrinking())
			if v.Reason != tc.want || v.Allowed != (tc.want == reason.NotManaged) {
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
		Observer: unshown{withoutLabel{onlyGroup: onlyGroup{atRest()}}}, Holds: kept(&slow{}), Pods: obedient{}, Turns: &admission.GroupLocks{}, Clock: clock.New(), Log: silent(),
	}
	v := webhook.Judge(t.Context(), shrinking())
	says(t, v, http.StatusTooManyRequests, reason.ParentUnknown)
	if !strings.Contains(v.Message, "the API server did not show the group: forbidden") {
		t.Errorf("it says %q", v.Message)
	}
}

// deafHolds is such a group, and the API server does not show which groups remember the zone.
type deafHolds struct{ withoutLabel }

func (deafHolds) ClaimsOfGroups(context.Context, string, string) ([]lease.Claim, error) {
	return nil, errors.New("forbidden")
}

func TestAStatefulSetKeepsItsReplicasWhileTheHoldsOfGroupsCannotBeRead(t *testing.T) {
	webhook := &admission.PrepareDownscale{
		Observer: deafHolds{withoutLabel{onlyGroup: onlyGroup{atRest()}}}, Holds: kept(&slow{}), Pods: obedient{}, Turns: &admission.GroupLocks{}, Clock: clock.New(), Log: silent(),
	}
	says(t, webhook.Judge(t.Context(), shrinking()), http.StatusTooManyRequests, reason.ParentUnknown)
}

// ownerless is such a group, and the Lease that may remember the zone does not say whose it is.
type ownerless struct{ withoutLabel }

func (o ownerless) ClaimsOfGroups(context.Context, string, string) ([]lease.Claim, error) {
	return []lease.Claim{{Key: plan.Key{Namespace: o.shows.Key.Namespace}, Lease: hold.LeaseName(o.shows.Key), Unreadable: true}}, nil
}

func TestAStatefulSetKeepsItsReplicasWhileALeaseDoesNotSayWhoseItIs(t *testing.T) {
	webhook := &admission.PrepareDownscale{
		Observer: ownerless{withoutLabel{onlyGroup: onlyGroup{withoutZoneA(plan.Ready)}}}, Holds: kept(&slow{}), Pods: obedient{}, Turns: &admission.GroupLocks{}, Clock: clock.New(), Log: silent(),
	}
	v := webhook.Judge(t.Context(), shrinking())
	if v.Allowed || v.Reason != reason.HoldUnreadable || !strings.Contains(v.Message, "Lease lockstep-group-") {
		t.Errorf("got %+v, want a refusal that names the Lease", v)
	}
}

// declining are pods that do not prepare.
type declining struct{}

func (declining) Prepare(context.Context, plan.Key, plan.Zone, []plan.Pod) (bool, error) {
	return true, errors.New("503")
}

// A zone that left its group while all of its pods are available stands alone, and its pods are
// prepared as before.
func TestAZoneThatLeftItsGroupIsPreparedBeforeItShrinks(t *testing.T) {
	alone := askingAtRest()
	alone.Key = plan.Key{Namespace: alone.Key.Namespace, Name: "zone-a", Kind: plan.KindStatefulSet}
	alone.Zones = alone.Zones[:1]
	webhook := &admission.PrepareDownscale{
		Observer: withoutLabel{onlyGroup{withoutZoneA(plan.Ready)}, alone}, Holds: kept(forgetful{alone.Hold}), Pods: declining{}, Turns: &admission.GroupLocks{}, Clock: clock.New(), Log: silent(),
	}
	if v := webhook.Judge(t.Context(), shrinking()); v.Allowed || v.Reason != reason.PreparationFailed {
		t.Errorf("got %+v, want a refusal since its pods do not answer", v)
	}
}
