package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/lockstep-dev/lockstep/integration-tests/judge"
	"github.com/lockstep-dev/lockstep/integration-tests/localcluster"
)

// groupLabel is the label of zones and their pods.
const groupLabel = "rollout-group"

func image(version int) string { return "example.com/main:" + strconv.Itoa(version) }

// statefulSet returns zone i at version 1.
func (g group) statefulSet(i int) *appsv1.StatefulSet {
	labels := map[string]string{"zone": g.zone(i), groupLabel: g.name}
	annotations := map[string]string{"rollout-max-unavailable": strconv.Itoa(g.maxUnavailable)}
	if g.hasLeader && i > 0 {
		annotations["grafana.com/rollout-downscale-leader"] = g.zone(0)
	}
	if g.minBetweenDownscales > 0 {
		annotations["grafana.com/min-time-between-zones-downscale"] = g.minBetweenDownscales.String()
	}
	return &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Name: g.zone(i), Labels: map[string]string{groupLabel: g.name}, Annotations: annotations},
		Spec: appsv1.StatefulSetSpec{
			Replicas:            new(g.replicas[i]),
			MinReadySeconds:     int32(g.minReady / time.Second),
			PodManagementPolicy: appsv1.ParallelPodManagement,
			UpdateStrategy:      appsv1.StatefulSetUpdateStrategy{Type: appsv1.OnDeleteStatefulSetStrategyType},
			Selector:            &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels, Annotations: map[string]string{
					localcluster.ReadyAfter: g.readyDelay.String(), localcluster.GoneAfter: g.terminationDelay.String(),
				}},
				Spec: corev1.PodSpec{
					NodeName:   localcluster.NodeName(0),
					Containers: []corev1.Container{{Name: "main", Image: image(1)}},
				},
			},
		},
	}
}

var budgets = schema.GroupVersionResource{Group: "rollout-operator.grafana.com", Version: "v1", Resource: "zoneawarepoddisruptionbudgets"}

// disruptionBudget returns the budget for evictions from the group.
func (g group) disruptionBudget() (*unstructured.Unstructured, error) {
	spec := map[string]any{
		"selector":       map[string]any{"matchLabels": map[string]string{groupLabel: g.name}},
		"maxUnavailable": g.maxEvicted,
	}
	if g.partitions {
		spec["podNamePartitionRegex"] = g.partitionRegex()
	}
	text, err := json.Marshal(map[string]any{
		"apiVersion": budgets.GroupVersion().String(), "kind": "ZoneAwarePodDisruptionBudget",
		"metadata": map[string]string{"name": g.name}, "spec": spec,
	})
	if err != nil {
		return nil, fmt.Errorf("write disruption budget: %w", err)
	}
	budget := &unstructured.Unstructured{}
	if err := json.Unmarshal(text, budget); err != nil {
		return nil, fmt.Errorf("write disruption budget: %w", err)
	}
	return budget, nil
}

func (g group) partitionRegex() string {
	return strings.TrimSuffix(g.name, otherGroupSuffix) + "-zone-[a-c]-([0-9]+)"
}

// budget returns the same budget for the judge.
func (g group) budget() judge.Budget {
	b := judge.Budget{Group: g.name, Limit: g.maxEvicted}
	if g.partitions {
		b.Partition = regexp.MustCompile("^" + g.partitionRegex() + "$")
	}
	return b
}
