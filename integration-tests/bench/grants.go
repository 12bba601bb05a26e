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

// heldReadyDelay is how long the replacement of an evicted pod takes to become ready, if the hold is
// to remain.
const heldReadyDelay = 500 * time.Millisecond

// maxReads is the number of reads of one live read of a group.
const maxReads = 3

// bareUpdate is the series of plain Lease updates.
const bareUpdate = "Lease update"

// grants are evictions through the API server, one after the other: evictions that lockstep grants,
// evictions of the floor, and Lease updates in turn.
type grants struct {
	took     map[string][]time.Duration // by contender, and of bareUpdate
	spans    []span                     // of lockstep's evictions
	requests []request                  // of lockstep, in order
}

// span is the time from the start to the end of an eviction.
type span struct{ from, to time.Time }

// grantEvictions measures evictions of pods whose zone has the hold, and of pods whose group has no
// holder. It does not count the first eviction of each kind: one takes the hold, the other creates the
// Lease.
func (tb *testbed) grantEvictions(ctx context.Context, s *evictionSetup) ([]row, error) {
	for _, webhook := range []string{podEvictionPin, podEviction} {
		if _, err := tb.registerWebhooks(ctx, s.endpoints, webhook, s.freeGroups, tb.evictDryRun); err != nil {
			return nil, fmt.Errorf("register %s: %w", webhook, err)
		}
	}
	taking, err := tb.evictInTurn(ctx, tb.evict.takes+1, func(ctx context.Context, i int) (map[string]podName, error) {
		return zoneByZone(s.freeGroups, i), tb.awaitReadyAndFree(ctx, s.freeGroups)
	})
	if err != nil {
		return nil, fmt.Errorf("evict from free groups: %w", err)
	}
	joining, err := tb.evictInTurn(ctx, tb.evict.joins+1, func(_ context.Context, i int) (map[string]podName, error) {
		return podByPod(s.heldGroups, i), nil
	})
	if err != nil {
		return nil, fmt.Errorf("evict under a hold: %w", err)
	}
	rows := joining.rows("eviction granted under the hold of its zone", 0, tb.evict.runs)
	return append(rows, taking.rows("eviction granted that takes the hold", maxReads, tb.evict.runs)...), nil
}

// podName is the namespace and the name of a pod.
type podName struct{ namespace, pod string }

// podByPod returns pod i of the first zone of each group.
func podByPod(groups map[string]*group, i int) map[string]podName {
	next := map[string]podName{}
	for name, g := range groups {
		next[name] = podName{g.namespace, fmt.Sprintf("%s-%d", g.zoneNames()[0], i)}
	}
	return next
}

// zoneByZone returns the first pod of one zone of each group, zone by zone.
func zoneByZone(groups map[string]*group, i int) map[string]podName {
	next := map[string]podName{}
	for name, g := range groups {
		next[name] = podName{g.namespace, g.zoneNames()[i%g.zones] + "-0"}
	}
	return next
}

// evictInTurn evicts count pods of each group and counts all but the first. Each turn begins with
// another contender.
func (tb *testbed) evictInTurn(ctx context.Context, count int, next func(context.Context, int) (map[string]podName, error)) (grants, error) {
	g := grants{took: map[string][]time.Duration{}}
	if _, err := tb.audit.next(); err != nil {
		return g, err
	}
	lease, err := tb.makeLease(ctx)
	if err != nil {
		return g, err
	}
	for turn := range count {
		pods, err := next(ctx, turn)
		if err != nil {
			return g, err
		}
		for i := range 3 {
			name := []string{floorName, lockstepName, bareUpdate}[(turn+i)%3]
			began := time.Now()
			if name == bareUpdate {
				lease, err = tb.update(ctx, lease)
			} else {
				err = tb.evictPod(ctx, pods[name])
			}
			if err != nil {
				return g, fmt.Errorf("%s, turn %d: %w", name, turn+1, err)
			}
			if turn > 0 {
				g.add(name, span{began, time.Now()})
			}
		}
	}
	if err := pause(ctx, settleAfterRollout); err != nil { // the API server writes the audit log after the answer
		return g, err
	}
	g.requests, err = tb.audit.next()
	g.requests = slices.DeleteFunc(g.requests, func(q request) bool { return q.user != tb.contenders[1].user })
	return g, err
}

func (g *grants) add(name string, s span) {
	g.took[name] = append(g.took[name], s.to.Sub(s.from))
	if name == lockstepName {
		g.spans = append(g.spans, s)
	}
}

// evictPod evicts a pod as kubectl drain does.
func (tb *testbed) evictPod(ctx context.Context, e podName, dryRun ...string) error {
	err := tb.client.PolicyV1().Evictions(e.namespace).Evict(ctx, &policyv1.Eviction{
		ObjectMeta: metav1.ObjectMeta{Namespace: e.namespace, Name: e.pod}, DeleteOptions: &metav1.DeleteOptions{DryRun: dryRun},
	})
	if err != nil {
		return fmt.Errorf("evict pod %s/%s: %w", e.namespace, e.pod, err)
	}
	return nil
}

// evictDryRun sends a dry run of an eviction. It treats a refusal as success, because the webhook was
// called.
func (tb *testbed) evictDryRun(ctx context.Context, g *group) error {
	err := tb.evictPod(ctx, podName{g.namespace, g.podNames()[0]}, metav1.DryRunAll)
	if apierrors.IsTooManyRequests(err) {
		return nil
	}
	return err
}

func (tb *testbed) makeLease(ctx context.Context) (*coordinationv1.Lease, error) {
	lease, err := tb.client.CoordinationV1().Leases(metav1.NamespaceDefault).Create(ctx, &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{GenerateName: namespacePrefix},
	}, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("make a Lease: %w", err)
	}
	return lease, nil
}

func (tb *testbed) update(ctx context.Context, lease *coordinationv1.Lease) (*coordinationv1.Lease, error) {
	lease.Spec.RenewTime = &metav1.MicroTime{Time: time.Now()}
	return tb.client.CoordinationV1().Leases(lease.Namespace).Update(ctx, lease, metav1.UpdateOptions{})
}

// awaitReadyAndFree waits until all pods of the groups are ready and lockstep has released the hold.
func (tb *testbed) awaitReadyAndFree(ctx context.Context, groups map[string]*group) error {
	want := 1
	for _, g := range groups {
		want += g.size()
	}
	return tb.await(ctx, "pods that are back, and a free group", want, func() (int, error) {
		count, err := tb.freeHolds(ctx, groups[lockstepName])
		if err != nil {
			return 0, err
		}
		for _, g := range groups {
			list, err := tb.client.CoreV1().Pods(g.namespace).List(ctx, metav1.ListOptions{LabelSelector: groupLabel + "=" + g.name})
			if err != nil {
				return 0, fmt.Errorf("list pods of %s: %w", g.key(), err)
			}
			for i := range list.Items {
				if stateOf(podEvent{pod: &list.Items[i]}, "").ready {
					count++
				}
			}
		}
		return count, nil
	})
}

// freeHolds returns 1 if the group has no holder.
func (tb *testbed) freeHolds(ctx context.Context, g *group) (int, error) {
	lease, err := tb.client.CoordinationV1().Leases(g.namespace).Get(ctx, "lockstep-group-"+g.name, metav1.GetOptions{})
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
