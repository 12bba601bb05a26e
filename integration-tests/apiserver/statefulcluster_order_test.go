package apiserver_test

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/lockstep-dev/lockstep/integration-tests/judge"
	"github.com/lockstep-dev/lockstep/integration-tests/localcluster"
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
	p := s.createPool(5, map[string]any{"podManagementPolicy": "OrderedReady", "template": podTemplate(map[string]any{localcluster.ReadyAfter: "500ms"})})
	p.settles(5)
	for _, count := range p.counted() {
		if count.exist-count.ready > 1 {
			t.Fatalf("%d pods existed of which %d were Ready", count.exist, count.ready)
		}
	}
}

func TestStatefulClusterCreatesAllPodsBeforeOneIsReady(t *testing.T) {
	t.Parallel()
	p := sharedPool(t, 5, map[string]any{"podManagementPolicy": "Parallel", "template": podTemplate(map[string]any{localcluster.ReadyAfter: "3s"})})
	p.settles(5)
	for _, count := range p.counted() {
		if count.ready > 0 && count.exist < 5 {
			t.Fatalf("%d pods existed when %d were Ready", count.exist, count.ready)
		}
	}
}

func TestStatefulClusterCreatesNoMorePodsThanMayBeUnavailable(t *testing.T) {
	t.Parallel()
	p := sharedPool(t, 6, map[string]any{
		"scaleStrategy": map[string]any{"maxUnavailable": int64(2)}, "template": podTemplate(map[string]any{localcluster.ReadyAfter: "500ms"}),
	})
	p.settles(6)
	most := 0
	for _, count := range p.counted() {
		most = max(most, count.exist-count.ready)
	}
	if most != 2 {
		t.Fatalf("up to %d pods were not Ready at a time, want 2", most)
	}
}

// count is how many pods of a StatefulCluster exist, and how many of them are Ready.
type count struct{ exist, ready int }

// counted returns the counts after each change of a pod since the namespace exists, in the order of the API server.
func (p pool) counted() (counts []count) {
	p.t.Helper()
	history, err := p.witness.Events()
	if err != nil {
		p.t.Fatal(err)
	}
	slices.SortStableFunc(history, func(a, b judge.Event) int { return cmp.Compare(a.Version, b.Version) })
	pods := map[string]*judge.Pod{}
	for _, e := range history {
		if e.Pod == nil || e.Pod.Labels["lockstep.dev/statefulcluster"] != p.name {
			continue
		}
		keep(pods, e.Pod.UID, e.Pod, e.Pod.Deleted)
		now := count{exist: len(pods)}
		for _, pod := range pods {
			if pod.Serving() {
				now.ready++
			}
		}
		counts = append(counts, now)
	}
	if len(counts) == 0 {
		p.t.Fatal("no pod was observed")
	}
	return counts
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
