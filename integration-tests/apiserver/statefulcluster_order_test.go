package apiserver_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// inOrder returns the pods in the order in which they were created.
func (p pool) inOrder() []corev1.Pod {
	pods := p.pods()
	slices.SortFunc(pods, func(a, b corev1.Pod) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
	return pods
}

func TestStatefulClusterCreatesPodsInOrder(t *testing.T) {
	t.Parallel()
	s := unmanaged(t)
	s.withRoleForPools()
	p := s.createPool(3, map[string]any{"podManagementPolicy": "OrderedReady"})
	p.settles(3)
	former := time.Time{}
	for _, pod := range p.inOrder() {
		if pod.CreationTimestamp.Time.Before(former) {
			t.Errorf("pod %s was created at %s, before the one before it was Ready at %s", pod.Name, pod.CreationTimestamp, former)
		}
		for _, c := range pod.Status.Conditions {
			if c.Type == corev1.PodReady {
				former = c.LastTransitionTime.Time
			}
		}
	}
}

// A pod that never becomes Ready holds up the next one for its startup time, and no longer.
func TestStatefulClusterInOrderDoesNotWaitForeverForAPod(t *testing.T) {
	t.Parallel()
	s := unmanaged(t)
	s.withRoleForPools()
	const startup = 3 * time.Second
	p := s.createPool(3, map[string]any{
		"podManagementPolicy": "OrderedReady", "liveness": map[string]any{"startupSeconds": int64(startup.Seconds())},
		"template": map[string]any{"metadata": map[string]any{"annotations": map[string]any{"lockstep.test/play": "never-ready"}}, "spec": map[string]any{"containers": []any{map[string]any{"name": "db", "image": "db:1"}}}}, "volumeClaimTemplates": []any{},
	})
	var pods []corev1.Pod
	p.eventually("all pods exist", func(present) error {
		if pods = p.inOrder(); len(pods) != 3 {
			return fmt.Errorf("%d pods", len(pods))
		}
		return nil
	})
	for i, pod := range pods[1:] {
		if apart := pod.CreationTimestamp.Sub(pods[i].CreationTimestamp.Time); apart < startup-time.Second { // times have whole seconds
			t.Errorf("pod %s was created %s after the one before it, which was not Ready", pod.Name, apart)
		}
	}
}
