package admission_test

import (
	"context"
	"net/http"

	"github.com/lockstep-dev/lockstep/internal/cluster/clock"
	"github.com/lockstep-dev/lockstep/internal/cluster/observe"
	"github.com/lockstep-dev/lockstep/internal/lock/lease"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/proof/fixture"
	"github.com/lockstep-dev/lockstep/internal/serve/admission"
)

// guard is a webhook whose cluster is completely known, so that the test knows for any
// review whether it must not be allowed.
type guard struct {
	name, path string
	handler    http.Handler
	objection  func(r parsedReview, warned bool) string // why the review must not be allowed
}

func guards() []guard {
	return []guard{
		{"no-downscale that refuses if a read fails", noDownscalePath, barring(true),
			func(r parsedReview, _ bool) string { return r.downscaleForbidden(r.labelled()) }},
		{"no-downscale as usual", noDownscalePath, barring(false),
			func(r parsedReview, warned bool) string {
				if warned {
					return "" // it allows unknown changes with a warning
				}
				return r.downscaleForbidden(r.labelled())
			}},
		{"prepare-downscale while another zone is rolled", preparePath, preparing(rolling()),
			func(r parsedReview, _ bool) string { return r.downscaleForbidden(r.isZone()) }},
		{"prepare-downscale of an idle group", preparePath, preparing(atRest()),
			func(r parsedReview, _ bool) string { return r.downscaleForbidden(r.isZone() && !r.isJudged()) }},
	}
}

// barring is no-downscale; all objects have the label.
func barring(strict bool) http.Handler {
	return noDownscale(admission.NoDownscale{Strict: strict, Parents: parents{labelled: true}})
}

func preparing(group group.Snapshot) http.Handler {
	return admission.New(admission.Options{Log: silent(), PrepareDownscale: &admission.PrepareDownscale{
		Observer: onlyGroup{group}, Holds: kept(staleHolds{group.Hold}), Pods: agreeingPods{}, Locks: &admission.GroupLocks{}, Clock: clock.New(), Log: silent(),
	}})
}

// atRest is a group whose zone-a, in the state of these tests' reviews, may scale down.
func atRest() group.Snapshot {
	return fixture.Group(
		fixture.Zone("zone-a", "1", fixture.Pods("1", "1", "1"), func(z *group.Zone) { z.UID, z.Version = "uid-a", 7 }),
		fixture.Zone("zone-b", "1", fixture.Pods("1", "1", "1")),
	)
}

// preparedAtRest is the same group; its pods are prepared before their removal.
func preparedAtRest() group.Snapshot {
	snapshot := atRest()
	for i := range snapshot.Zones {
		z := &snapshot.Zones[i]
		z.Prepares, z.Call = true, group.Call{Port: 80, Path: "/prepare", Service: "pods"}
		for j := range z.Pods {
			z.Pods[j].IP = "10.0.0.1"
		}
	}
	return snapshot
}

func rolling() group.Snapshot {
	group := atRest()
	fixture.Held(plan.RolloutOperation.For("zone-b"), fixture.IntentOf("zone-b-0"))(&group)
	return group
}

// onlyGroup observes a cluster in which every StatefulSet belongs to one group.
type onlyGroup struct{ snapshot group.Snapshot }

func (o onlyGroup) Synced() bool        { return true }
func (o onlyGroup) Managed(string) bool { return true }

func (o onlyGroup) Set(string, string) (observe.Set, bool) {
	return observe.Set{UID: "uid-a", Version: 7, Held: true, Key: o.snapshot.Key}, true
}

func (o onlyGroup) LiveSet(_ context.Context, namespace, name string) (observe.Set, error) {
	set, _ := o.Set(namespace, name)
	return set, nil
}

// ClaimsOfGroups returns nothing, because all StatefulSets belong to the group.
func (onlyGroup) ClaimsOfGroups(context.Context, string, string) ([]lease.Claim, error) {
	return nil, nil
}

func (o onlyGroup) Cached(plan.Key) group.Snapshot { return fixture.Clone(o.snapshot) }

func (o onlyGroup) Live(_ context.Context, key plan.Key) (group.Snapshot, error) {
	live := o.Cached(key)
	live.Live = true
	return live, nil
}

// kept returns holds whose namespaces have all opted in.
func kept(store admission.Store) admission.Holds {
	return admission.Holds{Store: store, Managed: func(string) bool { return true }}
}

// staleHolds accepts every write of a hold and keeps returning the same record.
type staleHolds struct{ snapshot group.Hold }

func (f staleHolds) Cached(plan.Key) plan.Record { return f.snapshot.Record() }
func (f staleHolds) Read(context.Context, plan.Key) (plan.Record, error) {
	return f.snapshot.Record(), nil
}

func (staleHolds) Label(context.Context, plan.Key, plan.Record) error { return nil }
func (staleHolds) Write(context.Context, plan.Key, plan.Record) error { return nil }

// agreeingPods are pods that prepare.
type agreeingPods struct{}

func (agreeingPods) Prepare(context.Context, plan.Key, group.Zone, []plan.Pod) (bool, error) {
	return true, nil
}
