package main

import (
	"context"
	"errors"
	"fmt"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/lockstep-dev/lockstep/integration-tests/localcluster"
)

const (
	podEviction    = "pod-eviction"
	podEvictionPin = "pod-eviction-pin"
)

var disruptionBudgets = schema.GroupVersionResource{Group: "rollout-operator.grafana.com", Version: "v1", Resource: "zoneawarepoddisruptionbudgets"}

// defaultZonePods is the number of pods in each zone of a group of usual size.
const defaultZonePods = 100

// evictionSetup contains the groups whose pods are evicted, and the webhooks.
type evictionSetup struct {
	*endpoints

	unavailable      *group // a pod of its second zone stays terminating
	largeUnavailable *group // the same with many pods
	held             *group // a person has its hold

	// By contender: in heldGroups, pods become ready slowly, so the hold remains; in freeGroups, they
	// become ready at once, so the hold is released.
	heldGroups, freeGroups map[string]*group
}

func (tb *testbed) setUpEvictions(ctx context.Context) (*evictionSetup, error) {
	own, err := tb.makeNamespaces(ctx, tb.contenders[1], 2)
	if err != nil {
		return nil, err
	}
	others, err := tb.makeNamespaces(ctx, tb.contenders[0], 1)
	if err != nil {
		return nil, err
	}
	s := newEvictionSetup(tb.evict, own, others[0])
	if err := tb.makeBudgets(ctx, map[string]int{own[0]: 1, own[1]: tb.evict.joins + 1}); err != nil {
		return nil, err
	}
	err = errors.Join(
		tb.makeGroups(ctx, []*group{s.unavailable, s.held, s.largeUnavailable, s.heldGroups[lockstepName], s.freeGroups[lockstepName]}),
		tb.makeGroups(ctx, []*group{s.heldGroups[floorName], s.freeGroups[floorName]}),
		tb.deleteOnePod(ctx, s.unavailable), tb.deleteOnePod(ctx, s.largeUnavailable), tb.hold(ctx, s.held))
	if err != nil {
		return nil, err
	}
	s.endpoints, err = tb.startWebhooks(ctx, own...)
	return s, err
}

// newEvictionSetup returns a setup whose groups that refuse evictions are in lockstep's first
// namespace, and the others in its second one.
func newEvictionSetup(sizes evictionSizes, own []string, floor string) *evictionSetup {
	newGroup := func(namespace, contender, name string, pods int) *group {
		return newGroups([]string{namespace}, contender, name+"-", 1, pods)[0]
	}
	many := max(sizes.pods/3, 1)
	pods := min(many, defaultZonePods)
	s := &evictionSetup{
		unavailable: newGroup(own[0], lockstepName, "unavailable", pods), held: newGroup(own[0], lockstepName, "held", pods),
		largeUnavailable: newGroup(own[0], lockstepName, "large", many),
		heldGroups:       map[string]*group{}, freeGroups: map[string]*group{},
	}
	for _, g := range []*group{s.unavailable, s.largeUnavailable} {
		g.annotations = map[string]string{localcluster.GoneAfter: "1h"}
	}
	for name, namespace := range map[string]string{floorName: floor, lockstepName: own[1]} {
		s.heldGroups[name] = newGroup(namespace, name, "slow", sizes.joins+1)
		s.heldGroups[name].annotations = map[string]string{localcluster.ReadyAfter: heldReadyDelay.String()}
		s.freeGroups[name] = newGroup(namespace, name, "fast", 1)
	}
	return s
}

// makeBudgets creates a budget for all pods of each namespace.
func (tb *testbed) makeBudgets(ctx context.Context, pods map[string]int) error {
	client, err := dynamic.NewForConfig(tb.cluster.AdminConfig())
	if err != nil {
		return fmt.Errorf("make client: %w", err)
	}
	for namespace, n := range pods {
		budget := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": disruptionBudgets.GroupVersion().String(), "kind": "ZoneAwarePodDisruptionBudget",
			"metadata": map[string]any{"name": "all"},
			"spec": map[string]any{
				"maxUnavailable": int64(n),
				"selector":       map[string]any{"matchLabels": map[string]any{contenderLabel: lockstepName}},
			},
		}}
		if _, err := client.Resource(disruptionBudgets).Namespace(namespace).Create(ctx, budget, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("make budget of %s: %w", namespace, err)
		}
	}
	return nil
}

// deleteOnePod deletes one pod of a group's second zone.
func (tb *testbed) deleteOnePod(ctx context.Context, g *group) error {
	name := g.zoneNames()[1] + "-0"
	if err := tb.client.CoreV1().Pods(g.namespace).Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
		return fmt.Errorf("delete pod %s/%s: %w", g.namespace, name, err)
	}
	return nil
}

// loads are the reviews of evictions that lockstep refuses from its caches.
func (s *evictionSetup) loads(tb *testbed) []load {
	from := func(g *group) func(context.Context) ([]review, error) {
		return func(ctx context.Context) ([]review, error) { return tb.evictionReviews(ctx, g) }
	}
	of := func(what string, g *group) string {
		return fmt.Sprintf("eviction from %d pods refused: %s", g.size(), what)
	}
	return []load{
		{what: of("another zone is unavailable", s.unavailable), handler: podEviction, reason: "OtherZoneUnavailable", reviews: from(s.unavailable)},
		{what: of("another zone is unavailable", s.largeUnavailable), handler: podEviction, reason: "OtherZoneUnavailable", reviews: from(s.largeUnavailable)},
		{what: of("the group is held", s.held), handler: podEviction, reason: "GroupHeld", recordsRefusal: true, reviews: from(s.held)},
	}
}

// maxReviews is the number of different reviews of a load.
const maxReviews = 100

// evictionReviews returns reviews for pods of a group's first zone. Each review requires the UID of
// its pod, as the mutating webhook adds it.
func (tb *testbed) evictionReviews(ctx context.Context, g *group) ([]review, error) {
	pods, err := tb.client.CoreV1().Pods(g.namespace).List(ctx, metav1.ListOptions{LabelSelector: "name=" + g.zoneNames()[0], Limit: maxReviews})
	if err != nil {
		return nil, fmt.Errorf("list pods of %s: %w", g.key(), err)
	}
	all := make([]review, len(pods.Items))
	for i, pod := range pods.Items {
		all[i], err = newEvictionReview(&policyv1.Eviction{
			TypeMeta:      metav1.TypeMeta{APIVersion: "policy/v1", Kind: "Eviction"},
			ObjectMeta:    metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name},
			DeleteOptions: metav1.NewPreconditionDeleteOptions(string(pod.UID)),
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}
