package main

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/lockstep-dev/lockstep/integration-tests/localcluster"
)

// group is three StatefulSets that are rolled as one.
type group struct {
	client    kubernetes.Interface
	namespace string
	pods      int
	image     int // of the template; each rollout raises it
}

// timing is what one rollout took, as a watch saw it.
type timing struct {
	total time.Duration   // from the change of the templates to the last Ready
	gaps  []time.Duration // from a replacement's Ready to the next delete of its zone
}

func newGroup(ctx context.Context, client kubernetes.Interface, namespace string, optIn bool, pods int) (*group, error) {
	g := &group{client: client, namespace: namespace, pods: pods}
	if err := makeNamespace(ctx, client, namespace, optIn); err != nil {
		return nil, err
	}
	for _, zone := range g.zones() {
		if _, err := client.AppsV1().StatefulSets(namespace).Create(ctx, statefulSet(zone, pods), metav1.CreateOptions{}); err != nil {
			return nil, fmt.Errorf("make %s/%s: %w", namespace, zone, err)
		}
	}
	_, err := g.follow(ctx, func(w *world) bool { return w.ready("") == zones*pods })
	return g, err
}

func (g *group) zones() []string { return []string{"zone-a", "zone-b", "zone-c"}[:zones] }

// roll changes all templates and waits until every pod is replaced and Ready.
func (g *group) roll(ctx context.Context, drive func(context.Context, *group) error) (timing, error) {
	g.image++
	image := fmt.Sprintf("image:%d", g.image)
	began := time.Now()
	patch := fmt.Appendf(nil, `{"spec":{"template":{"spec":{"containers":[{"name":"main","image":%q}]}}}}`, image)
	for _, zone := range g.zones() {
		if _, err := g.client.AppsV1().StatefulSets(g.namespace).Patch(ctx, zone, types.StrategicMergePatchType, patch, metav1.PatchOptions{}); err != nil {
			return timing{}, fmt.Errorf("change template of %s: %w", zone, err)
		}
	}
	driven := make(chan error, 1)
	if drive != nil {
		go func() { driven <- drive(ctx, g) }()
	} else {
		driven <- nil
	}
	w, err := g.follow(ctx, func(w *world) bool { return w.ready(image) == zones*g.pods })
	if err != nil {
		return timing{}, err
	}
	return timing{total: w.last.Sub(began), gaps: w.gaps}, <-driven
}

// deleteWhenReady is the floor: nothing but a watch and deletes.
func deleteWhenReady(ctx context.Context, g *group) error {
	pods := g.client.CoreV1().Pods(g.namespace)
	image := fmt.Sprintf("image:%d", g.image)
	for _, zone := range g.zones() {
		if err := g.observed(ctx, zone); err != nil {
			return err
		}
	}
	next := g.names()
	sent := ""
	_, err := g.follow(ctx, func(w *world) bool {
		if sent != "" && !w.replaced(sent, image) {
			return false
		}
		if len(next) == 0 {
			return true
		}
		sent, next = next[0], next[1:]
		return pods.Delete(ctx, sent, metav1.DeleteOptions{}) != nil
	})
	if err == nil && len(next) > 0 {
		return fmt.Errorf("delete pod %s", sent)
	}
	return err
}

// observed waits until the controller knows the new template.
func (g *group) observed(ctx context.Context, zone string) error {
	for {
		set, err := g.client.AppsV1().StatefulSets(g.namespace).Get(ctx, zone, metav1.GetOptions{})
		if err != nil {
			return fmt.Errorf("read %s: %w", zone, err)
		}
		if set.Status.ObservedGeneration == set.Generation {
			return nil
		}
	}
}

func (g *group) names() []string {
	var names []string
	for _, zone := range g.zones() {
		for ordinal := range g.pods {
			names = append(names, fmt.Sprintf("%s-%d", zone, ordinal))
		}
	}
	return names
}

func statefulSet(zone string, pods int) *appsv1.StatefulSet {
	labels := map[string]string{"zone": zone}
	return &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Name: zone, Labels: map[string]string{"rollout-group": "bench"}},
		Spec: appsv1.StatefulSetSpec{
			Replicas:            new(int32(pods)),
			PodManagementPolicy: appsv1.ParallelPodManagement,
			UpdateStrategy:      appsv1.StatefulSetUpdateStrategy{Type: appsv1.OnDeleteStatefulSetStrategyType},
			Selector:            &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"zone": zone, "name": zone}},
				Spec: corev1.PodSpec{
					NodeName:   localcluster.NodeName(0),
					Containers: []corev1.Container{{Name: "main", Image: "image:0"}},
				},
			},
		},
	}
}
