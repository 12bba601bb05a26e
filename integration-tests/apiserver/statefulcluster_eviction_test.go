package apiserver_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/lockstep-dev/lockstep/integration-tests/localcluster"
)

// evictionsOfPool returns a scene with a StatefulCluster whose evictions the shared operator judges and binds.
func evictionsOfPool(t *testing.T, replicas int, more map[string]any) (*evictor, pool) {
	t.Helper()
	e := evictions(t)
	e.rules.evicting = true
	e.schedulesOn(e.someNode())
	return e, e.createPool(replicas, more)
}

func TestStatefulClusterPodsAreEvictedWithinTheBudget(t *testing.T) {
	t.Parallel()
	e, p := evictionsOfPool(t, 3, nil)
	before := p.settles(3)
	first, second := before[0].Name, before[1].Name
	e.eventually("the first pod is evicted", func(present) error { return e.evict(first) })
	e.refused(e.evict(second), "eviction of "+second+" in db is refused", "1 of at most 1 down")
	p.comesBack(before, first)
	e.eventually("the second pod is evicted", func(present) error { return e.evict(second) })
	p.comesBack(before, second)
	id := strings.TrimPrefix(first, "db-")
	e.eventually("the claims of the evicted pod are marked", func(present) error {
		if living, retired := p.claims(id); len(living) > 0 || !slices.Equal(retired, []string{"db-data-" + id + " EvictionGranted", "db-logs-" + id + " EvictionGranted"}) {
			return fmt.Errorf("living %v, retired %v", living, retired)
		}
		return nil
	})
}

// comesBack waits until the pool is complete again without an evicted pod.
func (p pool) comesBack(before []corev1.Pod, evicted string) {
	p.t.Helper()
	after := p.settles(len(before))
	if slices.ContainsFunc(after, func(pod corev1.Pod) bool { return pod.Name == evicted }) {
		p.t.Errorf("the name %s was used again", evicted)
	}
}

// A drain comes between two steps of an update, which otherwise would use up the budget all the time.
func TestStatefulClusterPodsAreEvictedDuringAnUpdate(t *testing.T) {
	t.Parallel()
	e, p := evictionsOfPool(t, 4, map[string]any{"updateStrategy": map[string]any{"rollingUpdate": map[string]any{"podUpdatePolicy": "Recreate"}}})
	before := p.settles(4)
	image := []byte(`[{"op":"replace","path":"/spec/template/spec/containers/0/image","value":"db:2"}]`)
	if _, err := p.resources(statefulClusters).Patch(t.Context(), p.name, types.JSONPatchType, image, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	e.eventually("a pod of the first template is evicted, or all have been replaced", func(present) error {
		outdated := slices.DeleteFunc(p.pods(), func(pod corev1.Pod) bool { return pod.Spec.Containers[0].Image == "db:2" })
		if len(outdated) == 0 {
			return nil
		}
		return e.evict(outdated[len(outdated)-1].Name)
	})
	for _, pod := range p.settles(4) {
		if pod.Spec.Containers[0].Image != "db:2" || slices.ContainsFunc(before, func(b corev1.Pod) bool { return b.Name == pod.Name }) {
			t.Errorf("pod %s has the image %s", pod.Name, pod.Spec.Containers[0].Image)
		}
	}
}

// A PodDisruptionBudget refuses after lockstep has allowed it. The record ends by itself.
func TestStatefulClusterForgetsAnEvictionThatDoesNotHappen(t *testing.T) {
	t.Parallel()
	e, p := evictionsOfPool(t, 2, nil)
	before := p.settles(2)
	e.needsAllOf(p, 2)
	e.eventually("the PodDisruptionBudget refuses", func(present) error {
		if err := e.evict(before[0].Name); !apierrors.IsTooManyRequests(err) || !strings.Contains(err.Error(), "disruption budget") {
			return fmt.Errorf("got %w", err)
		}
		return nil
	})
	if holder := p.holder(); holder != "eviction/db" {
		t.Errorf("the holder is %q", holder)
	}
	e.eventually("the record ends", func(present) error {
		if holder := p.holder(); holder != "" {
			return errors.New("the Lease has the holder " + holder)
		}
		return nil
	})
	if after := p.settles(2); after[0].Name != before[0].Name || after[1].Name != before[1].Name {
		t.Error("a pod was replaced")
	}
}

// needsAllOf creates a PodDisruptionBudget that refuses every eviction of a pod of the pool, after the webhooks.
func (e *evictor) needsAllOf(p pool, pods int32) {
	e.t.Helper()
	budgets := e.world.admin.PolicyV1().PodDisruptionBudgets(e.name)
	_, err := budgets.Create(e.t.Context(), &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "all"},
		Spec: policyv1.PodDisruptionBudgetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": p.name}}, MinAvailable: new(intstr.FromInt32(pods)),
		},
	}, createOptions)
	if err != nil {
		e.t.Fatal(err)
	}
	e.eventually("the PodDisruptionBudget counts", func(present) error {
		budget, err := budgets.Get(e.t.Context(), "all", getOptions)
		if err == nil && budget.Status.ObservedGeneration < budget.Generation {
			err = errors.New("it is still being processed")
		}
		return err
	})
}

// holder returns the holder of the Lease of the pool.
func (p pool) holder() string {
	p.t.Helper()
	lease, err := p.world.admin.CoordinationV1().Leases(p.scene.name).Get(p.t.Context(), "lockstep-statefulcluster-"+p.name, getOptions)
	if err != nil {
		p.t.Fatal(err)
	}
	if lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *lease.Spec.HolderIdentity
}

// A pod is evicted whose identity is kept, and while it terminates the replicas are lowered by one. The identity has no place any
// more. It ends, and its claims stay: its pod had left for another reason.
func TestStatefulClusterKeepsClaimsOfAnEvictedIdentityWithoutAPlace(t *testing.T) {
	t.Parallel()
	e, p := evictionsOfPool(t, 3, map[string]any{
		"template":                             podTemplate(map[string]any{localcluster.GoneAfter: "4s"}),
		"identityPolicy":                       map[string]any{"onEviction": "KeepIdentity"},
		"persistentVolumeClaimRetentionPolicy": map[string]any{"whenScaled": "Delete"},
	})
	before := p.settles(3)
	id := strings.TrimPrefix(before[0].Name, "db-")
	e.eventually("the pod is evicted", func(present) error { return e.evict(before[0].Name) })
	p.updates(`{"spec": {"replicas": 2}}`)
	p.hasStayed(before[1:], p.settles(2))
	p.stays("the claims of the evicted pod exist", aWhile, func(present) error {
		if living, retired := p.claims(id); len(p.uidsOfClaims(id)) != 2 {
			return fmt.Errorf("living %v, retired %v", living, retired)
		}
		return nil
	})
}
