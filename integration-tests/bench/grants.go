package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// comesBack is how long an evicted pod takes to be Ready again where the hold is to
// stay.
const comesBack = 500 * time.Millisecond

// mostLooks are the reads of one live look at a group.
const mostLooks = 3

// bareWrite is who updates a Lease and does nothing else.
const bareWrite = "Lease update"

// grants are evictions through the API server, one after the other and by turns:
// those that lockstep grants, those of the floor, and updates of a Lease.
type grants struct {
	took     map[string][]time.Duration // by racer, and of bareWrite
	under    []span                     // of lockstep's evictions
	requests []request                  // of lockstep, in order
}

// span is from when to when an eviction was under way.
type span struct{ from, to time.Time }

// grantEvictions measures evictions of pods whose zone has the hold, and of pods
// whose group is free. The first one of each is not counted: one takes the hold, the
// other makes the Lease.
func (a *arena) grantEvictions(ctx context.Context, s *evictionStage) ([]row, error) {
	for _, webhook := range []string{podEvictionPin, podEviction} {
		if _, err := a.letCall(ctx, s.endpoints, webhook, s.taken, a.evictDry); err != nil {
			return nil, fmt.Errorf("register %s: %w", webhook, err)
		}
	}
	taken, err := a.evictInTurn(ctx, a.evict.takes+1, func(ctx context.Context, i int) (map[string]evictee, error) {
		return zoneByZone(s.taken, i), a.awaitRest(ctx, s.taken)
	})
	if err != nil {
		return nil, fmt.Errorf("evict from free groups: %w", err)
	}
	joined, err := a.evictInTurn(ctx, a.evict.joins+1, func(_ context.Context, i int) (map[string]evictee, error) {
		return podByPod(s.joined, i), nil
	})
	if err != nil {
		return nil, fmt.Errorf("evict under a hold: %w", err)
	}
	rows := joined.rows("eviction granted under the hold of its zone", 0, a.evict.runs)
	return append(rows, taken.rows("eviction granted that takes the hold", mostLooks, a.evict.runs)...), nil
}

// evictee is a pod that is to go.
type evictee struct{ namespace, pod string }

// podByPod are the pods of the first zones in order.
func podByPod(groups map[string]*group, i int) map[string]evictee {
	next := map[string]evictee{}
	for name, g := range groups {
		next[name] = evictee{g.namespace, fmt.Sprintf("%s-%d", g.zoneNames()[0], i)}
	}
	return next
}

// zoneByZone is the first pod of each zone by turns.
func zoneByZone(groups map[string]*group, i int) map[string]evictee {
	next := map[string]evictee{}
	for name, g := range groups {
		next[name] = evictee{g.namespace, g.zoneNames()[i%g.zones] + "-0"}
	}
	return next
}

// evictInTurn evicts as many pods of each and counts all but the first. Each turn
// begins with another one.
func (a *arena) evictInTurn(ctx context.Context, count int, next func(context.Context, int) (map[string]evictee, error)) (grants, error) {
	g := grants{took: map[string][]time.Duration{}}
	if _, err := a.audit.next(); err != nil {
		return g, err
	}
	lease, err := a.makeLease(ctx)
	if err != nil {
		return g, err
	}
	for turn := range count {
		pods, err := next(ctx, turn)
		if err != nil {
			return g, err
		}
		for i := range 3 {
			name := []string{floorName, lockstepName, bareWrite}[(turn+i)%3]
			began := time.Now()
			if name == bareWrite {
				lease, err = a.update(ctx, lease)
			} else {
				err = a.evictPod(ctx, pods[name])
			}
			if err != nil {
				return g, fmt.Errorf("%s, turn %d: %w", name, turn+1, err)
			}
			if turn > 0 {
				g.add(name, span{began, time.Now()})
			}
		}
	}
	if err := pause(ctx, afterglow); err != nil { // the log is written after the answer
		return g, err
	}
	g.requests, err = a.audit.next()
	g.requests = slices.DeleteFunc(g.requests, func(q request) bool { return q.user != a.racers[1].user })
	return g, err
}

func (g *grants) add(name string, s span) {
	g.took[name] = append(g.took[name], s.to.Sub(s.from))
	if name == lockstepName {
		g.under = append(g.under, s)
	}
}

// evictPod evicts a pod as a drain does.
func (a *arena) evictPod(ctx context.Context, e evictee, dryRun ...string) error {
	err := a.client.PolicyV1().Evictions(e.namespace).Evict(ctx, &policyv1.Eviction{
		ObjectMeta: metav1.ObjectMeta{Namespace: e.namespace, Name: e.pod}, DeleteOptions: &metav1.DeleteOptions{DryRun: dryRun},
	})
	if err != nil {
		return fmt.Errorf("evict pod %s/%s: %w", e.namespace, e.pod, err)
	}
	return nil
}

// evictDry asks whether a pod of the group may be evicted: a refusal is an answer.
func (a *arena) evictDry(ctx context.Context, g *group) error {
	err := a.evictPod(ctx, evictee{g.namespace, g.podNames()[0]}, metav1.DryRunAll)
	if apierrors.IsTooManyRequests(err) {
		return nil
	}
	return err
}

func (a *arena) makeLease(ctx context.Context) (*coordinationv1.Lease, error) {
	lease, err := a.client.CoordinationV1().Leases(metav1.NamespaceDefault).Create(ctx, &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{GenerateName: namespacePrefix},
	}, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("make a Lease: %w", err)
	}
	return lease, nil
}

func (a *arena) update(ctx context.Context, lease *coordinationv1.Lease) (*coordinationv1.Lease, error) {
	lease.Spec.RenewTime = &metav1.MicroTime{Time: time.Now()}
	return a.client.CoordinationV1().Leases(lease.Namespace).Update(ctx, lease, metav1.UpdateOptions{})
}

// awaitRest waits until all pods of the groups are Ready and lockstep has given the
// hold back.
func (a *arena) awaitRest(ctx context.Context, groups map[string]*group) error {
	want := 1
	for _, g := range groups {
		want += g.size()
	}
	return a.await(ctx, "pods that are back, and a free group", want, func() (int, error) {
		there, err := a.freeHolds(ctx, groups[lockstepName])
		if err != nil {
			return 0, err
		}
		for _, g := range groups {
			list, err := a.client.CoreV1().Pods(g.namespace).List(ctx, metav1.ListOptions{LabelSelector: groupLabel + "=" + g.name})
			if err != nil {
				return 0, fmt.Errorf("list pods of %s: %w", g.key(), err)
			}
			for i := range list.Items {
				if stateOf(sighting{pod: &list.Items[i]}, "").ready {
					there++
				}
			}
		}
		return there, nil
	})
}

// freeHolds is 1 if nobody has the hold of the group.
func (a *arena) freeHolds(ctx context.Context, g *group) (int, error) {
	lease, err := a.client.CoordinationV1().Leases(g.namespace).Get(ctx, "lockstep-group-"+g.name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return 1, nil
	case err != nil:
		return 0, fmt.Errorf("read the hold of %s: %w", g.key(), err)
	case lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity == "":
		return 1, nil
	}
	return 0, nil
}
