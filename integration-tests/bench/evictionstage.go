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

// usualPods are in each zone of a group of usual size.
const usualPods = 100

// evictionStage is from which groups pods are evicted, and who answers.
type evictionStage struct {
	*endpoints

	lame  *group // a pod of its second zone is leaving for long
	large *group // the same with many pods
	held  *group // a person holds it

	// By racer: where pods are slow to come back, so that the hold stays, and where
	// they are Ready at once, so that it is given back.
	joined, taken map[string]*group
}

func (a *arena) setEvictionsUp(ctx context.Context) (*evictionStage, error) {
	own, err := a.makeNamespaces(ctx, a.racers[1], 2)
	if err != nil {
		return nil, err
	}
	others, err := a.makeNamespaces(ctx, a.racers[0], 1)
	if err != nil {
		return nil, err
	}
	s := newEvictionStage(a.evict, own, others[0])
	if err := a.makeBudgets(ctx, map[string]int{own[0]: 1, own[1]: a.evict.joins + 1}); err != nil {
		return nil, err
	}
	err = errors.Join(
		a.makeGroups(ctx, []*group{s.lame, s.held, s.large, s.joined[lockstepName], s.taken[lockstepName]}),
		a.makeGroups(ctx, []*group{s.joined[floorName], s.taken[floorName]}),
		a.loseOne(ctx, s.lame), a.loseOne(ctx, s.large), a.hold(ctx, s.held))
	if err != nil {
		return nil, err
	}
	s.endpoints, err = a.serve(ctx, own...)
	return s, err
}

// newEvictionStage is one with lockstep's groups that refuse in its first namespace
// and the others in its second one.
func newEvictionStage(sizes evictionSizes, own []string, floor string) *evictionStage {
	zoned := func(namespace, racer, name string, pods int) *group {
		return newGroups([]string{namespace}, racer, name+"-", 1, pods)[0]
	}
	many := max(sizes.pods/3, 1)
	usual := min(many, usualPods)
	s := &evictionStage{
		lame: zoned(own[0], lockstepName, "lame", usual), held: zoned(own[0], lockstepName, "held", usual),
		large:  zoned(own[0], lockstepName, "large", many),
		joined: map[string]*group{}, taken: map[string]*group{},
	}
	for _, g := range []*group{s.lame, s.large} {
		g.annotations = map[string]string{localcluster.GoneAfter: "1h"}
	}
	for name, namespace := range map[string]string{floorName: floor, lockstepName: own[1]} {
		s.joined[name] = zoned(namespace, name, "joined", sizes.joins+1)
		s.joined[name].annotations = map[string]string{localcluster.ReadyAfter: comesBack.String()}
		s.taken[name] = zoned(namespace, name, "taken", 1)
	}
	return s
}

// makeBudgets makes a budget for all pods of each namespace.
func (a *arena) makeBudgets(ctx context.Context, pods map[string]int) error {
	client, err := dynamic.NewForConfig(a.cluster.AdminConfig())
	if err != nil {
		return fmt.Errorf("make client: %w", err)
	}
	for namespace, n := range pods {
		budget := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": disruptionBudgets.GroupVersion().String(), "kind": "ZoneAwarePodDisruptionBudget",
			"metadata": map[string]any{"name": "all"},
			"spec": map[string]any{
				"maxUnavailable": int64(n),
				"selector":       map[string]any{"matchLabels": map[string]any{racerLabel: lockstepName}},
			},
		}}
		if _, err := client.Resource(disruptionBudgets).Namespace(namespace).Create(ctx, budget, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("make budget of %s: %w", namespace, err)
		}
	}
	return nil
}

// loseOne lets one pod of a group's second zone leave.
func (a *arena) loseOne(ctx context.Context, g *group) error {
	name := g.zoneNames()[1] + "-0"
	if err := a.client.CoreV1().Pods(g.namespace).Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
		return fmt.Errorf("delete pod %s/%s: %w", g.namespace, name, err)
	}
	return nil
}

// loads are the reviews of evictions that caches refuse.
func (s *evictionStage) loads(a *arena) []load {
	from := func(g *group) func(context.Context) ([]question, error) {
		return func(ctx context.Context) ([]question, error) { return a.askEvictions(ctx, g) }
	}
	of := func(what string, g *group) string {
		return fmt.Sprintf("eviction from %d pods refused: %s", g.size(), what)
	}
	return []load{
		{what: of("another zone is not whole", s.lame), handler: podEviction, reason: "OtherZoneUnavailable", questions: from(s.lame)},
		{what: of("another zone is not whole", s.large), handler: podEviction, reason: "OtherZoneUnavailable", questions: from(s.large)},
		{what: of("the group is held", s.held), handler: podEviction, reason: "GroupHeld", notes: true, questions: from(s.held)},
	}
}

// mostQuestions are asked by turns.
const mostQuestions = 100

// askEvictions asks about pods of a group's first zone, each bound to the pod as
// the API server's webhooks before have left it.
func (a *arena) askEvictions(ctx context.Context, g *group) ([]question, error) {
	pods, err := a.client.CoreV1().Pods(g.namespace).List(ctx, metav1.ListOptions{LabelSelector: "name=" + g.zoneNames()[0], Limit: mostQuestions})
	if err != nil {
		return nil, fmt.Errorf("list pods of %s: %w", g.key(), err)
	}
	all := make([]question, len(pods.Items))
	for i, pod := range pods.Items {
		all[i], err = askEviction(&policyv1.Eviction{
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
