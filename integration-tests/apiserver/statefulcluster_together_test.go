package apiserver_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/lockstep-dev/lockstep/integration-tests/localcluster"
)

// The witness of the scene checks that they share one budget.
func TestStatefulClusterIsEvictedByTwoReplicasDuringAnUpdateAndADownscale(t *testing.T) {
	t.Parallel()
	e := newDrainable(t)
	e.allowsPools()
	e.more = []string{"-statefulcluster.enabled"}
	e.guard()
	p := e.createPool(6, nil)
	before := p.settles(6)
	p.updates(withContainer("db:2", ""))
	p.scales(4)
	evicted := map[string]bool{}
	const wanted = 3
	e.eventually(fmt.Sprintf("%d pods are evicted", wanted), func(present) error {
		for _, pod := range before {
			if evicted[pod.Name] || len(evicted) == wanted {
				continue
			}
			switch err := e.evicts(t.Context(), pod.Name, nil); {
			case err == nil:
				evicted[pod.Name] = true
			case apierrors.IsNotFound(err):
			case !apierrors.IsTooManyRequests(err):
				t.Fatalf("evict %s: %v", pod.Name, err)
			}
		}
		if len(evicted) < wanted {
			return fmt.Errorf("%d are", len(evicted))
		}
		return nil
	})
	for _, pod := range p.hasImage(4, "db:2") {
		if evicted[pod.Name] {
			t.Errorf("the name of the evicted pod %s was used again", pod.Name)
		}
	}
	if answered := e.service.answered()[pathOfEviction]; answered < 2 {
		t.Errorf("%d reviews of evictions were answered; the replicas take turns, so not both answered one", answered)
	}
}

// Without the webhooks, only the PodDisruptionBudget limits a drain.
func TestStatefulClusterIsDrainedByAPodDisruptionBudget(t *testing.T) {
	t.Parallel()
	s := unmanaged(t)
	nodes := s.ownNodes(3)
	s.withRole()
	if err := s.world.cluster.ApplyIn(t.Context(), s.name, manifest+"statefulcluster/namespaced/role.yaml"); err != nil {
		t.Fatal(err)
	}
	stop := localcluster.Schedule(context.WithoutCancel(t.Context()), s.world.admin, s.name, nodes...)
	s.startOperator("-statefulcluster.enabled")
	p := s.createPool(6, nil)
	before := p.settles(6)
	stop()
	s.schedulesOn(nodes[2]) // the others are cordoned
	p.allowsOne()
	var drains sync.WaitGroup
	for _, node := range nodes[:2] {
		drains.Go(func() { p.drains(node, before) })
	}
	drains.Wait()
	after := p.settles(6)
	for _, pod := range after {
		if pod.Spec.NodeName != nodes[2] {
			t.Errorf("pod %s is on node %s", pod.Name, pod.Spec.NodeName)
		}
	}
	for _, pod := range before {
		stays := slices.ContainsFunc(after, func(other corev1.Pod) bool { return other.UID == pod.UID })
		if stays != (pod.Spec.NodeName == nodes[2]) {
			t.Errorf("pod %s was on node %s; is it still there: %t", pod.Name, pod.Spec.NodeName, stays)
		}
		if living, _ := p.claims(strings.TrimPrefix(pod.Name, "db-")); (len(living) > 0) != stays {
			t.Errorf("pod %s left the claims %v unmarked", pod.Name, living)
		}
	}
}

// allowsOne creates a PodDisruptionBudget by which one pod may be down, and waits until it counts. The controller manager looks for
// new kinds every 30 seconds, and then only at budgets that change.
func (p pool) allowsOne() {
	p.t.Helper()
	budgets := p.world.admin.PolicyV1().PodDisruptionBudgets(p.scene.name)
	_, err := budgets.Create(p.t.Context(), &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: p.name},
		Spec: policyv1.PodDisruptionBudgetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": p.name}}, MaxUnavailable: new(intstr.FromInt32(1)),
		},
	}, createOptions)
	if err != nil {
		p.t.Fatal(err)
	}
	p.eventually("the PodDisruptionBudget allows one", func(present) error {
		budget, err := budgets.Get(p.t.Context(), p.name, getOptions)
		if err != nil {
			return err
		}
		if budget.Status.DisruptionsAllowed == 1 {
			return nil
		}
		time.Sleep(500 * time.Millisecond)
		metav1.SetMetaDataAnnotation(&budget.ObjectMeta, "checked", time.Now().String())
		_, err = budgets.Update(p.t.Context(), budget, updateOptions)
		return errors.Join(err, fmt.Errorf("its status is %+v", budget.Status))
	})
}

// drains evicts the pods of a node, each as soon as the API server allows it.
func (p pool) drains(node string, pods []corev1.Pod) {
	for _, pod := range pods {
		if pod.Spec.NodeName != node {
			continue
		}
		for began := time.Now(); ; time.Sleep(50 * time.Millisecond) {
			err := p.world.admin.PolicyV1().Evictions(p.scene.name).Evict(p.t.Context(), &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: p.scene.name, Name: pod.Name}})
			if err == nil {
				break
			}
			if !apierrors.IsTooManyRequests(err) || time.Since(began) > p.patience {
				p.t.Errorf("evict %s for %s: %v", pod.Name, time.Since(began), err)
				return
			}
		}
	}
}

func TestStatefulClusterIsNotWrittenToWhileItIsAtRestOrOptedOut(t *testing.T) {
	t.Parallel()
	s := managed(t)
	s.schedulesOn(s.someNode())
	p := s.createPool(3, map[string]any{"minReadySeconds": int64(4)})
	p.settles(3)
	const (
		lastWrite = 3 * time.Second // the status is written at most once a second
		atRest    = 20 * time.Second
	)
	time.Sleep(lastWrite)
	rests := time.Now()
	time.Sleep(atRest)
	for _, r := range s.writesOf(s.operator.user, rests) {
		t.Errorf("at rest: %s", r)
	}
	p.updates(withContainer("db:2", ""))
	p.eventually("a pod has the new image", func(present) error {
		if !slices.ContainsFunc(p.pods(), func(pod corev1.Pod) bool { return pod.Spec.Containers[0].Image == "db:2" }) {
			return fmt.Errorf("none of %d", len(p.pods()))
		}
		return nil
	})
	s.optsIn(false)
	s.awaitOptOut()
	time.Sleep(underWay)
	noticed := time.Now()
	p.deletes(p.pods()[0].Name)
	p.stays("the update does not go on, and no pod is created", aWhile, func(present) error {
		pods := p.pods()
		outdated := slices.ContainsFunc(pods, func(pod corev1.Pod) bool { return pod.Spec.Containers[0].Image == "db:1" })
		if len(pods) != 2 || !outdated {
			return fmt.Errorf("%d pods, of which some have the former image: %t", len(pods), outdated)
		}
		return nil
	})
	for _, r := range s.writesOf(s.operator.user, noticed) {
		t.Errorf("after the opt-out: %s", r)
	}
	s.optsIn(true)
	p.hasImage(3, "db:2")
}
