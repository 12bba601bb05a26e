package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lockstep-dev/lockstep/integration-tests/localcluster"
)

const (
	noDownscale      = "no-downscale"
	prepareDownscale = "prepare-downscale"
)

// webhookSetup contains the objects of reviews, and the webhooks.
type webhookSetup struct {
	*endpoints

	protected   *group            // its zones carry the label grafana.com/no-downscale=true
	unavailable *group            // one of its zones is unavailable
	held        *group            // a person has its hold
	floor       map[string]*group // by webhook: the groups that are scaled down through the floor's webhook
}

const webhookGroupPods = 2 // in each of three zones

func (tb *testbed) setUpWebhooks(ctx context.Context) (*webhookSetup, error) {
	floor, lockstep := tb.contenders[0], tb.contenders[1]
	own, err := tb.makeNamespaces(ctx, lockstep, 2)
	if err != nil {
		return nil, err
	}
	others, err := tb.makeNamespaces(ctx, floor, 2)
	if err != nil {
		return nil, err
	}
	groupIn := func(namespace string, c *contender, name string) *group {
		return newGroups([]string{namespace}, c.name, name+"-", 1, webhookGroupPods)[0]
	}
	s := &webhookSetup{
		protected: groupIn(own[0], lockstep, "protected"), unavailable: groupIn(own[1], lockstep, "unavailable"), held: groupIn(own[1], lockstep, "held"),
		floor: map[string]*group{noDownscale: groupIn(others[0], floor, "free"), prepareDownscale: groupIn(others[1], floor, "free")},
	}
	err = errors.Join(
		tb.makeGroups(ctx, []*group{s.protected, s.held}),
		tb.makeGroups(ctx, []*group{s.floor[noDownscale], s.floor[prepareDownscale]}),
		tb.makeUnavailableGroup(ctx, s.unavailable), tb.forbidDownscale(ctx, s.protected), tb.hold(ctx, s.held))
	if err != nil {
		return nil, err
	}
	s.endpoints, err = tb.startWebhooks(ctx, own...)
	return s, err
}

// makeUnavailableGroup creates a group whose second zone never becomes ready.
func (tb *testbed) makeUnavailableGroup(ctx context.Context, g *group) error {
	for zone := range g.zones {
		set := g.statefulSet(zone)
		if zone == 1 {
			set.Spec.Template.Annotations = map[string]string{localcluster.Play: localcluster.PlayNeverReady}
		}
		if _, err := tb.client.AppsV1().StatefulSets(g.namespace).Create(ctx, set, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("make %s/%s: %w", g.namespace, set.Name, err)
		}
	}
	return tb.await(ctx, "Ready pods of "+g.key(), (g.zones-1)*g.pods, func() (int, error) {
		list, err := tb.client.AppsV1().StatefulSets(g.namespace).List(ctx, metav1.ListOptions{LabelSelector: groupLabel + "=" + g.name})
		if err != nil {
			return 0, fmt.Errorf("list StatefulSets: %w", err)
		}
		ready := 0
		for _, set := range list.Items {
			ready += int(set.Status.ReadyReplicas)
		}
		return ready, nil
	})
}

// forbidDownscale sets the no-downscale label on the zones of a group.
func (tb *testbed) forbidDownscale(ctx context.Context, g *group) error {
	patch := []byte(`{"metadata":{"labels":{"grafana.com/no-downscale":"true"}}}`)
	for _, zone := range g.zoneNames() {
		if _, err := tb.client.AppsV1().StatefulSets(g.namespace).Patch(ctx, zone, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			return fmt.Errorf("label %s/%s: %w", g.namespace, zone, err)
		}
	}
	return nil
}

// hold takes the hold of a group for a person.
func (tb *testbed) hold(ctx context.Context, g *group) error {
	lease := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{
			Name: "lockstep-group-" + g.name, Namespace: g.namespace,
			Labels: map[string]string{"lockstep.dev/hold": "group"}, Annotations: map[string]string{"lockstep.dev/group": g.name},
		},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity: new("manual/maintenance"), RenewTime: &metav1.MicroTime{Time: time.Now()}, LeaseDurationSeconds: new(int32(24 * 60 * 60)),
		},
	}
	if _, err := tb.client.CoordinationV1().Leases(g.namespace).Create(ctx, lease, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("hold %s: %w", g.key(), err)
	}
	return nil
}

// loads are all kinds of reviews that lockstep answers from its caches.
func (s *webhookSetup) loads(tb *testbed) []load {
	downscaleOf := func(path string, g *group) func(context.Context) ([]review, error) {
		return func(ctx context.Context) ([]review, error) {
			q, err := tb.scaleReview(ctx, "/admission/"+path, g.namespace, g.zoneNames()[0], -1)
			return []review{q}, err
		}
	}
	return []load{
		{goal: maxDecisionP99, what: "no-downscale refuses", reason: "DownscaleNotAllowed", reviews: downscaleOf(noDownscale, s.protected)},
		{goal: maxDecisionP99, what: "prepare-downscale refuses: another zone is unavailable", reason: "OtherZoneUnavailable", reviews: downscaleOf(prepareDownscale, s.unavailable)},
		{goal: maxDecisionP99, what: "prepare-downscale refuses: the group is held", reason: "GroupHeld", recordsRefusal: true, reviews: downscaleOf(prepareDownscale, s.held)},
		{goal: maxDecisionP99, what: "both allow changes that are not downscales", reason: "NotADownscale", allowed: true, reviews: func(ctx context.Context) ([]review, error) {
			return s.allowedReviews(ctx, tb)
		}},
	}
}

// allowedReviews returns reviews of an increase and of a change without replicas, for both webhooks.
func (s *webhookSetup) allowedReviews(ctx context.Context, tb *testbed) ([]review, error) {
	var all []review
	zone := s.protected.zoneNames()[0]
	for _, path := range []string{"/admission/" + noDownscale, "/admission/" + prepareDownscale} {
		larger, err := tb.scaleReview(ctx, path, s.protected.namespace, zone, 1)
		if err != nil {
			return nil, err
		}
		unknown, err := tb.unknownReplicasReview(ctx, path, s.protected.namespace, zone)
		if err != nil {
			return nil, err
		}
		all = append(all, larger, unknown)
	}
	return all, nil
}
