package admission_test

import (
	"context"
	"net/http"

	"github.com/lockstep-dev/lockstep/internal/cluster/clock"
	"github.com/lockstep-dev/lockstep/internal/cluster/observe"
	"github.com/lockstep-dev/lockstep/internal/lock/lease"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/proof/fixture"
	"github.com/lockstep-dev/lockstep/internal/serve/admission"
)

// guard is a webhook in a world that is wholly known, so that it can be said of
// any review whether a yes is wrong.
type guard struct {
	name, path string
	handler    http.Handler
	objection  func(r reading, warned bool) string // why a yes is wrong
}

func guards() []guard {
	return []guard{
		{"no-downscale that refuses what it cannot know", noDownscalePath, barring(true),
			func(r reading, _ bool) string { return r.mayNotShrink(r.barred()) }},
		{"no-downscale as usual", noDownscalePath, barring(false),
			func(r reading, warned bool) string {
				if warned {
					return "" // it passes what it cannot know, and says so
				}
				return r.mayNotShrink(r.barred())
			}},
		{"prepare-downscale while another zone is rolled", preparePath, preparing(rolling()),
			func(r reading, _ bool) string { return r.mayNotShrink(r.isZone()) }},
		{"prepare-downscale while nothing else goes on", preparePath, preparing(atRest()),
			func(r reading, _ bool) string { return r.mayNotShrink(r.isZone() && !r.isJudged()) }},
	}
}

// barring is no-downscale where everything has the label.
func barring(strict bool) http.Handler {
	return noDownscale(admission.NoDownscale{Strict: strict, Parents: parents{barred: true}})
}

func preparing(group plan.Snapshot) http.Handler {
	return admission.New(admission.Options{Log: silent(), PrepareDownscale: &admission.PrepareDownscale{
		Observer: onlyGroup{group}, Holds: kept(forgetful{group.Hold}), Pods: obedient{}, Turns: &admission.GroupLocks{}, Clock: clock.New(), Log: silent(),
	}})
}

// atRest is a group whose zone-a, as these tests' reviews show it, may shrink.
func atRest() plan.Snapshot {
	return fixture.Group(
		fixture.Zone("zone-a", "1", fixture.Pods("1", "1", "1"), func(z *plan.Zone) { z.UID, z.Version = "uid-a", 7 }),
		fixture.Zone("zone-b", "1", fixture.Pods("1", "1", "1")),
	)
}

// askingAtRest is the same group where who leaves is asked first.
func askingAtRest() plan.Snapshot {
	group := atRest()
	for i := range group.Zones {
		z := &group.Zones[i]
		z.Prepares, z.Call = true, plan.Call{Port: 80, Path: "/prepare", Service: "pods"}
		for j := range z.Pods {
			z.Pods[j].IP = "10.0.0.1"
		}
	}
	return group
}

func rolling() plan.Snapshot {
	group := atRest()
	fixture.Held(plan.Rollout.For("zone-b"), fixture.Noted("zone-b-0"))(&group)
	return group
}

// onlyGroup observes a cluster in which every StatefulSet is of one group.
type onlyGroup struct{ shows plan.Snapshot }

func (o onlyGroup) Synced() bool        { return true }
func (o onlyGroup) Managed(string) bool { return true }

func (o onlyGroup) Set(string, string) (observe.Set, bool) {
	return observe.Set{UID: "uid-a", Version: 7, Held: true, Key: o.shows.Key}, true
}

func (o onlyGroup) LiveSet(_ context.Context, namespace, name string) (observe.Set, error) {
	set, _ := o.Set(namespace, name)
	return set, nil
}

// ClaimsOfGroups: there is no StatefulSet but those of the group.
func (onlyGroup) ClaimsOfGroups(context.Context, string, string) ([]lease.Claim, error) {
	return nil, nil
}

func (o onlyGroup) Cached(plan.Key) plan.Snapshot { return fixture.Clone(o.shows) }

func (o onlyGroup) Live(_ context.Context, key plan.Key) (plan.Snapshot, error) {
	live := o.Cached(key)
	live.Live = true
	return live, nil
}

// kept are holds of namespaces that all opted in.
func kept(store admission.Store) admission.Holds {
	return admission.Holds{Store: store, Managed: func(string) bool { return true }}
}

// forgetful takes every write of a hold and shows what it showed before.
type forgetful struct{ shows plan.Hold }

func (f forgetful) Cached(plan.Key) plan.Hold             { return f.shows }
func (forgetful) Relabel(context.Context, plan.Key) error { return nil }

func (f forgetful) Write(context.Context, plan.Key, plan.Hold) error { return nil }

// obedient are pods that do as they are told.
type obedient struct{}

func (obedient) Prepare(context.Context, plan.Key, plan.Zone, []plan.Pod) (bool, error) {
	return true, nil
}
