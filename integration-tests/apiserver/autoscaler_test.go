package apiserver_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lockstep-dev/lockstep/integration-tests/judge"
)

// measurements is the resource that the real HorizontalPodAutoscaler controller reads about pods. A
// CRD of that name serves it, so a test can write measurements.
var measurements = schema.GroupVersionResource{Group: "metrics.k8s.io", Version: "v1beta1", Resource: "pods"}

// uses sets the measured memory of each pod of zone-a.
func (s *scene) uses(memory string, pods ...string) {
	s.t.Helper()
	s.measures(map[string]any{"zone": "zone-a"}, memory, pods...)
}

// measures sets the measured memory of each pod. The labels are those of the pods.
func (s *scene) measures(labels map[string]any, memory string, pods ...string) {
	s.t.Helper()
	for _, pod := range pods {
		measured := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "metrics.k8s.io/v1beta1", "kind": "PodMetrics",
			"metadata":  map[string]any{"name": pod, "labels": labels},
			"timestamp": time.Now().UTC().Format(time.RFC3339), "window": "1s",
			"containers": []any{map[string]any{"name": "main", "usage": map[string]any{"memory": memory}}},
		}}
		s.eventually(pod+" is measured", func(present) error {
			_, err := s.resources(measurements).Apply(s.t.Context(), pod, measured, metav1.ApplyOptions{FieldManager: "test", Force: true})
			return err
		})
	}
}

// autoscale creates an autoscaler that keeps 100 MB of memory per pod and sets one to four replicas
// of an object.
func (s *scene) autoscale(of schema.GroupVersion, kind, name string) {
	s.t.Helper()
	least, atOnce, average := int32(1), int32(0), resource.MustParse("100M")
	_, err := s.world.admin.AutoscalingV2().HorizontalPodAutoscalers(s.name).Create(s.t.Context(), &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: of.String(), Kind: kind, Name: name},
			MinReplicas:    &least, MaxReplicas: 4,
			Metrics: []autoscalingv2.MetricSpec{{
				Type: autoscalingv2.ResourceMetricSourceType,
				Resource: &autoscalingv2.ResourceMetricSource{
					Name: corev1.ResourceMemory, Target: autoscalingv2.MetricTarget{Type: autoscalingv2.AverageValueMetricType, AverageValue: &average},
				},
			}},
			Behavior: &autoscalingv2.HorizontalPodAutoscalerBehavior{ScaleDown: &autoscalingv2.HPAScalingRules{StabilizationWindowSeconds: &atOnce}},
		},
	}, createOptions)
	if err != nil {
		s.t.Fatal(err)
	}
}

func TestAnAutoscalerOfTheResourceScalesAllZones(t *testing.T) {
	t.Parallel()
	s := ungated(t)
	s.patience = longPatience
	s.apply("testdata/measurements.yaml")
	s.template("web", 2)
	selector := []byte(`{"spec":{"labelSelector":"zone=zone-a"}}`) // an autoscaler requires one
	if _, err := s.resources(templates).Patch(t.Context(), "web", types.MergePatchType, selector, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	s.create(zone("zone-a", 2, mirrors("web")), zone("zone-b", 2, mirrors("web")), zone("zone-c", 2, mirrors("web")))
	s.uses("200M", "zone-a-0", "zone-a-1", "zone-a-2", "zone-a-3")
	s.autoscale(templates.GroupVersion(), "ReplicaTemplate", "web")
	s.sized(map[string]int32{"zone-a": 4, "zone-b": 4, "zone-c": 4})
	s.awaitReport(templates, "web", 4)
	s.uses("10M", "zone-a-0", "zone-a-1", "zone-a-2", "zone-a-3")
	s.sized(map[string]int32{"zone-a": 1, "zone-b": 1, "zone-c": 1})
	s.awaitReport(templates, "web", 1)
}

// The example has 3 replicas until its autoscaler has measurements. Its pods run only while another
// test runs a scheduler.
func TestTheExampleOfAnAutoscaledGroupIsUnderstood(t *testing.T) {
	t.Parallel()
	s := managed(t)
	if err := s.world.cluster.ApplyIn(t.Context(), s.name, manifest+"examples/autoscaled-group"); err != nil {
		t.Fatal(err)
	}
	s.eventually("store-zone-a has the replicas of the template", func(now present) error {
		if a := now.sets["store-zone-a"]; a == nil || *a.Spec.Replicas != 3 || now.sets["store-zone-c"] == nil {
			return errors.New("it has not")
		}
		return nil
	})
	s.stays("the followers wait for their leader", aWhile, func(now present) error {
		for _, name := range []string{"store-zone-b", "store-zone-c"} {
			if *now.sets[name].Spec.Replicas != 1 {
				s.servedBeforeScaleUpOf(name, "store-zone-a-0", "store-zone-a-1", "store-zone-a-2")
			}
		}
		return nil
	})
}

// servedBeforeScaleUpOf waits until the observer has recorded that the pods were ready before a zone
// got more replicas than it had at first. The observer may receive the zone before it receives the
// pods.
func (s *scene) servedBeforeScaleUpOf(zone string, pods ...string) {
	s.t.Helper()
	s.eventually(fmt.Sprintf("%q served before %s was scaled up", pods, zone), func(present) error {
		history, err := s.witness.Events()
		if err != nil {
			s.t.Fatal(err)
		}
		grew := scaledUpAt(history, zone)
		for _, pod := range pods {
			served := func(f judge.Event) bool {
				return f.Pod != nil && f.Pod.Name == pod && f.Pod.Serving() && f.Version < grew
			}
			if !slices.ContainsFunc(history, served) {
				return fmt.Errorf("%s had not", pod)
			}
		}
		return nil
	})
}

// scaledUpAt returns the version of the first state of a zone with more replicas than it had at first.
func scaledUpAt(history []judge.Event, zone string) uint64 {
	first := -1
	for _, f := range history {
		switch {
		case f.Zone == nil || f.Zone.Name != zone:
		case first < 0:
			first = f.Zone.Replicas
		case f.Zone.Replicas > first:
			return f.Version
		}
	}
	return 0
}
