package apiserver_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/lockstep-dev/lockstep/integration-tests/localcluster"
)

// An autoscaler sets the replicas through the subresource scale, and reads there which pods to measure. A PodDisruptionBudget
// with a percentage reads there of how many.
func TestStatefulClusterWorksWithAnAutoscalerAndAPercentageByItsScale(t *testing.T) {
	t.Parallel()
	s := unmanaged(t)
	s.patience = longPatience
	s.apply("testdata/measurements.yaml")
	p := s.withPool(2)
	p.settles(2)
	p.allowsHalf()
	s.autoscale(statefulClusters.GroupVersion(), "StatefulCluster", p.name)
	p.measure("200M")
	p.settles(4)
	p.awaitDesiredHealthy(2)
	p.measure("10M")
	p.settles(1)
	p.awaitDesiredHealthy(0)
}

// measure sets the measured memory of the pods that exist.
func (p pool) measure(memory string) {
	p.t.Helper()
	for _, pod := range p.pods() {
		labels := map[string]any{}
		for name, value := range pod.Labels {
			labels[name] = value
		}
		p.measures(labels, memory, pod.Name)
	}
}

// A person names pods. They leave if the replicas are lowered, and otherwise new identities take their places within the budget.
func TestStatefulClusterEndsThePodsThatAPersonNames(t *testing.T) {
	t.Parallel()
	p := sharedPool(t, 5, nil)
	before := p.settles(5)
	p.updates(fmt.Sprintf(`{"spec": {"replicas": 3, "scaleStrategy": {"podsToDelete": [%q, %q]}}}`, before[1].Name, before[3].Name))
	stayed := []corev1.Pod{before[0], before[2], before[4]}
	p.hasStayed(stayed, p.settles(3))
	ready, _ := p.counts(3)
	p.updates(fmt.Sprintf(`{"spec": {"scaleStrategy": {"podsToDelete": [%q, %q]}}}`, stayed[0].Name, stayed[2].Name))
	p.eventually("new identities have two of three places", func(present) error {
		names, _ := identities(p.pods())
		if len(names) != 3 || !slices.Contains(names, stayed[1].Name) || slices.Contains(names, stayed[0].Name) || slices.Contains(names, stayed[2].Name) {
			return fmt.Errorf("the pods are %v", names)
		}
		return nil
	})
	p.settles(3)
	if least := ready(); least < 2 {
		t.Errorf("%d pods were Ready at a time, one may be unavailable", least)
	}
}

// allowsHalf creates a PodDisruptionBudget by which half of the pods may be down.
func (p pool) allowsHalf() {
	p.t.Helper()
	half := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: p.name},
		Spec: policyv1.PodDisruptionBudgetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": p.name}}, MaxUnavailable: new(intstr.FromString("50%")),
		},
	}
	if _, err := p.world.admin.PolicyV1().PodDisruptionBudgets(p.scene.name).Create(p.t.Context(), half, createOptions); err != nil {
		p.t.Fatal(err)
	}
}

// awaitDesiredHealthy waits until the PodDisruptionBudget asks for that many healthy pods.
func (p pool) awaitDesiredHealthy(want int32) {
	p.t.Helper()
	p.eventually("the PodDisruptionBudget counts by the replicas", func(present) error {
		b, err := p.world.admin.PolicyV1().PodDisruptionBudgets(p.scene.name).Get(p.t.Context(), p.name, getOptions)
		if err != nil || b.Status.DesiredHealthy != want {
			return fmt.Errorf("it asks for %d healthy pods: %v, %w", b.Status.DesiredHealthy, b.Status.Conditions, err)
		}
		return nil
	})
}

// A pod that terminates for long is neither deleted again, nor does another one leave for it.
func TestStatefulClusterDeletesAPodThatTerminatesForLongOnce(t *testing.T) {
	t.Parallel()
	p := sharedPool(t, 5, map[string]any{"template": podTemplate(map[string]any{localcluster.GoneAfter: "15s"})})
	before, _ := identities(p.settles(5))
	p.updates(`{"spec": {"replicas": 4}}`)
	var leaves string
	p.eventually("a pod terminates", func(now present) error {
		for name, pod := range now.pods {
			if pod.DeletionTimestamp != nil {
				leaves = name
				return nil
			}
		}
		return errors.New("none does")
	})
	p.updates(`{"metadata": {"annotations": {"example.com/changed": "true"}}, "spec": {"minReadySeconds": 1}}`) // which causes further plans
	p.stays("no other pod terminates", 3*time.Second, func(now present) error {
		for name, pod := range now.pods {
			if pod.DeletionTimestamp != nil && name != leaves {
				return errors.New(name + " does, beside " + leaves)
			}
		}
		return nil
	})
	if pod := p.witness.now().pods[leaves]; pod == nil {
		t.Errorf("pod %s was gone too soon to show anything", leaves)
	}
	p.settles(4)
	var deleted []string
	for _, r := range p.requests() {
		if r.Verb == "delete" && r.Resource == "pods" && r.User == user(home) {
			deleted = append(deleted, r.Name)
		}
	}
	if !slices.Equal(deleted, []string{leaves}) || !slices.Contains(before, leaves) {
		t.Errorf("lockstep deleted the pods %v, want %s", deleted, leaves)
	}
}
