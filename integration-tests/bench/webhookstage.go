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

// webhookStage is what reviews are about, and who answers them.
type webhookStage struct {
	*endpoints

	barred *group            // its zones carry the label grafana.com/no-downscale=true
	lame   *group            // one of its zones is not whole
	held   *group            // a person holds it
	floor  map[string]*group // by webhook: what is shrunk through the floor's
}

const webhookGroupPods = 2 // in each of three zones

func (a *arena) setWebhooksUp(ctx context.Context) (*webhookStage, error) {
	floor, lockstep := a.racers[0], a.racers[1]
	own, err := a.makeNamespaces(ctx, lockstep, 2)
	if err != nil {
		return nil, err
	}
	others, err := a.makeNamespaces(ctx, floor, 2)
	if err != nil {
		return nil, err
	}
	groupIn := func(namespace string, r *racer, name string) *group {
		return newGroups([]string{namespace}, r.name, name+"-", 1, webhookGroupPods)[0]
	}
	s := &webhookStage{
		barred: groupIn(own[0], lockstep, "barred"), lame: groupIn(own[1], lockstep, "lame"), held: groupIn(own[1], lockstep, "held"),
		floor: map[string]*group{noDownscale: groupIn(others[0], floor, "free"), prepareDownscale: groupIn(others[1], floor, "free")},
	}
	err = errors.Join(
		a.makeGroups(ctx, []*group{s.barred, s.held}),
		a.makeGroups(ctx, []*group{s.floor[noDownscale], s.floor[prepareDownscale]}),
		a.makeLame(ctx, s.lame), a.bar(ctx, s.barred), a.hold(ctx, s.held))
	if err != nil {
		return nil, err
	}
	s.endpoints, err = a.serve(ctx, own...)
	return s, err
}

// makeLame makes a group whose second zone never gets Ready.
func (a *arena) makeLame(ctx context.Context, g *group) error {
	for zone := range g.zones {
		set := g.statefulSet(zone)
		if zone == 1 {
			set.Spec.Template.Annotations = map[string]string{localcluster.Play: localcluster.PlayNeverReady}
		}
		if _, err := a.client.AppsV1().StatefulSets(g.namespace).Create(ctx, set, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("make %s/%s: %w", g.namespace, set.Name, err)
		}
	}
	return a.await(ctx, "Ready pods of "+g.key(), (g.zones-1)*g.pods, func() (int, error) {
		list, err := a.client.AppsV1().StatefulSets(g.namespace).List(ctx, metav1.ListOptions{LabelSelector: groupLabel + "=" + g.name})
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

// bar forbids the zones of a group to shrink.
func (a *arena) bar(ctx context.Context, g *group) error {
	patch := []byte(`{"metadata":{"labels":{"grafana.com/no-downscale":"true"}}}`)
	for _, zone := range g.zoneNames() {
		if _, err := a.client.AppsV1().StatefulSets(g.namespace).Patch(ctx, zone, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			return fmt.Errorf("label %s/%s: %w", g.namespace, zone, err)
		}
	}
	return nil
}

// hold takes the hold of a group for a person.
func (a *arena) hold(ctx context.Context, g *group) error {
	lease := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{
			Name: "lockstep-group-" + g.name, Namespace: g.namespace,
			Labels: map[string]string{"lockstep.dev/hold": "group"}, Annotations: map[string]string{"lockstep.dev/group": g.name},
		},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity: new("manual/maintenance"), RenewTime: &metav1.MicroTime{Time: time.Now()}, LeaseDurationSeconds: new(int32(24 * 60 * 60)),
		},
	}
	if _, err := a.client.CoordinationV1().Leases(g.namespace).Create(ctx, lease, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("hold %s: %w", g.key(), err)
	}
	return nil
}

// loads are all kinds of reviews that caches can answer.
func (s *webhookStage) loads(a *arena) []load {
	smaller := func(path string, g *group) func(context.Context) ([]question, error) {
		return func(ctx context.Context) ([]question, error) {
			q, err := a.askScale(ctx, "/admission/"+path, g.namespace, g.zoneNames()[0], -1)
			return []question{q}, err
		}
	}
	return []load{
		{goal: mostDecisionP99, what: "no-downscale refuses", reason: "DownscaleNotAllowed", questions: smaller(noDownscale, s.barred)},
		{goal: mostDecisionP99, what: "prepare-downscale refuses: another zone is not whole", reason: "OtherZoneUnavailable", questions: smaller(prepareDownscale, s.lame)},
		{goal: mostDecisionP99, what: "prepare-downscale refuses: the group is held", reason: "GroupHeld", notes: true, questions: smaller(prepareDownscale, s.held)},
		{goal: mostDecisionP99, what: "both pass what does not shrink", reason: "NotADownscale", allowed: true, questions: func(ctx context.Context) ([]question, error) {
			return s.harmless(ctx, a)
		}},
	}
}

// harmless are an increase and a change that does not speak of replicas, for
// both webhooks.
func (s *webhookStage) harmless(ctx context.Context, a *arena) ([]question, error) {
	var all []question
	zone := s.barred.zoneNames()[0]
	for _, path := range []string{"/admission/" + noDownscale, "/admission/" + prepareDownscale} {
		larger, err := a.askScale(ctx, path, s.barred.namespace, zone, 1)
		if err != nil {
			return nil, err
		}
		silent, err := a.askNobodyKnows(ctx, path, s.barred.namespace, zone)
		if err != nil {
			return nil, err
		}
		all = append(all, larger, silent)
	}
	return all, nil
}
