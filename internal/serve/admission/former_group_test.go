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
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
	"github.com/lockstep-dev/lockstep/internal/proof/fixture"
	"github.com/lockstep-dev/lockstep/internal/serve/admission"
)

// withoutLabel is a group whose zone-a has lost its label, and zone-a alone.
type withoutLabel struct {
	onlyGroup
	alone group.Snapshot // a zone with a hold of its own
}

func (o withoutLabel) Set(string, string) (observe.Set, bool) {
	return observe.Set{UID: "uid-a", Version: 7, Held: o.alone.Key.Kind == plan.KindStatefulSet, Key: o.alone.Key}, true
}

func (o withoutLabel) ClaimsOfGroups(context.Context, string, string) ([]lease.Claim, error) {
	return []lease.Claim{{Key: o.snapshot.Key, Lease: hold.LeaseName(o.snapshot.Key)}}, nil
}

func (o withoutLabel) Cached(key plan.Key) group.Snapshot {
	if key.Kind == plan.KindStatefulSet {
		return fixture.Clone(o.alone)
	}
	return o.onlyGroup.Cached(key)
}

func (o withoutLabel) Live(_ context.Context, key plan.Key) (group.Snapshot, error) {
	live := o.Cached(key)
	live.Live = true
	return live, nil
}

// withoutZoneA is a group from which zone-a was removed while its last pod was in the given
// phase.
func withoutZoneA(phase plan.Phase) group.Snapshot {
	snapshot := atRest()
	away := snapshot.Zones[0]
	away.Pods[len(away.Pods)-1].Phase = phase
	snapshot.Zones, snapshot.FormerZones = snapshot.Zones[1:], []group.FormerZone{{Zone: away, Exists: true}}
	return snapshot
}

func TestFormerZoneScalesDownOnlyWhileItIsAvailable(t *testing.T) {
	for sentence, tc := range map[string]struct {
		phase      plan.Phase // of its last pod
		unreadable string     // why the Lease of the group is unreadable
		want       reason.Code
	}{
		"all of its pods are available":                     {plan.Ready, "", reason.NotManaged},
		"one of its pods is down":                           {plan.Starting, "", reason.ZoneLeftGroup},
		"the zones that the Lease remembers cannot be read": {plan.Ready, "damaged", reason.HoldUnreadable},
	} {
		t.Run(sentence, func(t *testing.T) {
			group := withoutZoneA(tc.phase)
			group.Hold.Unreadable = tc.unreadable
			webhook := &admission.PrepareDownscale{
				Observer: withoutLabel{onlyGroup: onlyGroup{group}}, Holds: kept(&slow{}), Pods: agreeingPods{}, Locks: &admission.GroupLocks{}, Clock: clock.New(), Log: silent(),
			}
			v := webhook.Judge(t.Context(), downscaleOfZoneA())
			if v.Reason != tc.want || v.Allowed != (tc.want == reason.NotManaged) {
				t.Errorf("got %+v, want %s", v, tc.want)
			}
		})
	}
}

// unreadableGroup is such a group; the API server cannot read it.
type unreadableGroup struct{ withoutLabel }

func (unreadableGroup) Live(context.Context, plan.Key) (group.Snapshot, error) {
	return group.Snapshot{}, errors.New("forbidden")
}

func TestFormerZoneKeepsItsReplicasWhileItsGroupCannotBeRead(t *testing.T) {
	webhook := &admission.PrepareDownscale{
		Observer: unreadableGroup{withoutLabel{onlyGroup: onlyGroup{atRest()}}}, Holds: kept(&slow{}), Pods: agreeingPods{}, Locks: &admission.GroupLocks{}, Clock: clock.New(), Log: silent(),
	}
	v := webhook.Judge(t.Context(), downscaleOfZoneA())
	says(t, v, http.StatusTooManyRequests, reason.ParentUnknown)
	if !strings.Contains(v.Message, "the API server did not show the group: forbidden") {
		t.Errorf("the message is %q", v.Message)
	}
}

// unreadableHolds is such a group; the API server cannot read the holds of groups.
type unreadableHolds struct{ withoutLabel }

func (unreadableHolds) ClaimsOfGroups(context.Context, string, string) ([]lease.Claim, error) {
	return nil, errors.New("forbidden")
}

func TestStatefulSetKeepsItsReplicasWhileHoldsCannotBeRead(t *testing.T) {
	webhook := &admission.PrepareDownscale{
		Observer: unreadableHolds{withoutLabel{onlyGroup: onlyGroup{atRest()}}}, Holds: kept(&slow{}), Pods: agreeingPods{}, Locks: &admission.GroupLocks{}, Clock: clock.New(), Log: silent(),
	}
	says(t, webhook.Judge(t.Context(), downscaleOfZoneA()), http.StatusTooManyRequests, reason.ParentUnknown)
}

// ownerlessLease is such a group; the Lease that may remember the zone names no group.
type ownerlessLease struct{ withoutLabel }

func (o ownerlessLease) ClaimsOfGroups(context.Context, string, string) ([]lease.Claim, error) {
	return []lease.Claim{{Key: plan.Key{Namespace: o.snapshot.Key.Namespace}, Lease: hold.LeaseName(o.snapshot.Key), Unreadable: true}}, nil
}

func TestStatefulSetKeepsItsReplicasWhileALeaseNamesNoGroup(t *testing.T) {
	webhook := &admission.PrepareDownscale{
		Observer: ownerlessLease{withoutLabel{onlyGroup: onlyGroup{withoutZoneA(plan.Ready)}}}, Holds: kept(&slow{}), Pods: agreeingPods{}, Locks: &admission.GroupLocks{}, Clock: clock.New(), Log: silent(),
	}
	v := webhook.Judge(t.Context(), downscaleOfZoneA())
	if v.Allowed || v.Reason != reason.HoldUnreadable || !strings.Contains(v.Message, "Lease lockstep-group-") {
		t.Errorf("got %+v, want a refusal that names the Lease", v)
	}
}

// The zone has its own hold, because its pods are to be prepared. Its former group still
// waits for it.
func TestFormerPreparedZoneScalesDownOnlyWhileItIsAvailable(t *testing.T) {
	alone := preparedAtRest()
	alone.Key = plan.Key{Namespace: alone.Key.Namespace, Name: "zone-a", Kind: plan.KindStatefulSet}
	alone.Zones = alone.Zones[:1]
	webhook := &admission.PrepareDownscale{
		Observer: withoutLabel{onlyGroup{withoutZoneA(plan.Starting)}, alone}, Holds: kept(staleHolds{alone.Hold}), Pods: agreeingPods{}, Locks: &admission.GroupLocks{}, Clock: clock.New(), Log: silent(),
	}
	if v := webhook.Judge(t.Context(), downscaleOfZoneA()); v.Allowed || v.Reason != reason.ZoneLeftGroup {
		t.Errorf("got %+v, want a refusal because a pod of it is down next to the former group", v)
	}
}

// declining are pods that refuse to prepare.
type declining struct{}

func (declining) Prepare(context.Context, plan.Key, group.Zone, []plan.Pod) (bool, error) {
	return true, errors.New("503")
}

// If a zone was removed from its group while all of its pods were available, the zone is no
// longer part of the group. Its pods are still prepared before it scales down.
func TestFormerZoneIsPreparedBeforeItScalesDown(t *testing.T) {
	alone := preparedAtRest()
	alone.Key = plan.Key{Namespace: alone.Key.Namespace, Name: "zone-a", Kind: plan.KindStatefulSet}
	alone.Zones = alone.Zones[:1]
	webhook := &admission.PrepareDownscale{
		Observer: withoutLabel{onlyGroup{withoutZoneA(plan.Ready)}, alone}, Holds: kept(staleHolds{alone.Hold}), Pods: declining{}, Locks: &admission.GroupLocks{}, Clock: clock.New(), Log: silent(),
	}
	if v := webhook.Judge(t.Context(), downscaleOfZoneA()); v.Allowed || v.Reason != reason.PreparationFailed {
		t.Errorf("got %+v, want a refusal since its pods do not answer", v)
	}
}
