package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/lockstep-dev/lockstep/integration-tests/judge"
)

// podsOfPool returns the pods of the StatefulCluster that are not deleted, in the order of their names.
func (s *clusterState) podsOfPool() []*corev1.Pod {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []*corev1.Pod
	for _, p := range s.pods {
		if p.Labels[poolLabel] != "" {
			found = append(found, p)
		}
	}
	slices.SortFunc(found, func(a, b *corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	return found
}

// servingPodsOfPool returns the pods of the StatefulCluster that serve.
func (s *clusterState) servingPodsOfPool() []*corev1.Pod {
	return slices.DeleteFunc(s.podsOfPool(), func(p *corev1.Pod) bool { return !judge.PodOf(p).Serving() })
}

// deletedPool returns the StatefulCluster as it was when it was deleted, or nil while it exists.
func (s *clusterState) deletedPool() *unstructured.Unstructured {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pool
}

// checkPool returns an error until the StatefulCluster, if there is one, has its initial or its final state.
func (t *trial) checkPool(ctx context.Context, end bool) error {
	p := t.plan.pool
	if p == nil {
		return nil
	}
	replicas, content := p.replicas, firstContent
	if end {
		replicas, content = p.finalReplicas, p.final
	}
	pods := t.state.podsOfPool()
	if len(pods) != replicas && t.state.deletedPool() != nil {
		return fmt.Errorf("StatefulCluster %s does not exist, and has %d pods", p.name, len(pods))
	}
	if len(pods) != replicas {
		return fmt.Errorf("StatefulCluster %s has %d pods, %d wanted", p.name, len(pods), replicas)
	}
	for _, pod := range pods {
		if err := errors.Join(content.check(pod), t.state.checkClaims(pod, content.claims)); err != nil {
			return err
		}
	}
	if err := t.state.checkEnded(pods); err != nil || !end {
		return err
	}
	if err := t.state.checkPoolHold(); err != nil {
		return err
	}
	return t.checkPoolStatus(ctx)
}

// check returns an error unless a pod serves with this content.
func (c podContent) check(pod *corev1.Pod) error {
	main := &pod.Spec.Containers[0]
	switch mode := main.Env[0].Value; {
	case !judge.PodOf(pod).Serving():
		return fmt.Errorf("pod %s is not up", pod.Name)
	case main.Image != image(c.image) || mode != c.mode || main.Resources.Requests.Cpu().String() != c.cpu:
		return fmt.Errorf("pod %s has image %s, mode %s and %s of cpu", pod.Name, main.Image, mode, main.Resources.Requests.Cpu())
	}
	return nil
}

// checkClaims returns an error unless a pod mounts the claims of these templates and no others, all of them exist, and no claim of its
// identity is marked. Those that the pod does not mount any more stay.
func (s *clusterState) checkClaims(pod *corev1.Pod, templates []string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var wanted []string
	for _, template := range templates {
		wanted = append(wanted, claimName(template, pod))
	}
	slices.Sort(wanted)
	if mounted := slices.Sorted(slices.Values(mountedClaims(pod))); !slices.Equal(mounted, wanted) {
		return fmt.Errorf("pod %s mounts the claims %v, %v wanted", pod.Name, mounted, wanted)
	}
	for _, name := range wanted {
		if s.claims[name] == nil {
			return fmt.Errorf("claim %s of pod %s does not exist", name, pod.Name)
		}
	}
	for name, c := range s.claims {
		if c.Labels[identityLabel] == pod.Labels[identityLabel] && (c.DeletionTimestamp != nil || c.Annotations[retiredAt] != "" || c.Labels[poolUIDLabel] != s.poolUID) {
			return fmt.Errorf("claim %s of the identity of pod %s is deleted, marked, or of an earlier StatefulCluster", name, pod.Name)
		}
	}
	return nil
}

// checkEnded returns an error until the claims of all other identities are marked. Claims that no pod brought to the present
// object belong to an earlier one.
func (s *clusterState) checkEnded(pods []*corev1.Pod) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, c := range s.claims {
		living := slices.ContainsFunc(pods, func(p *corev1.Pod) bool { return p.Labels[identityLabel] == c.Labels[identityLabel] })
		if !living && c.Labels[poolUIDLabel] == s.poolUID && c.Annotations[retiredAt] == "" && c.DeletionTimestamp == nil {
			return fmt.Errorf("claim %s has no pod and is not marked", name)
		}
	}
	return nil
}

// checkPoolHold returns an error until the Lease of the StatefulCluster has no holder and no intents.
func (s *clusterState) checkPoolHold() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.poolLeases[poolLease]
	if l == nil {
		return nil
	}
	if hold := judge.PoolHoldOf(l); len(hold.Intents) > 0 || l.Spec.HolderIdentity != nil && *l.Spec.HolderIdentity != "" {
		return fmt.Errorf("the Lease %s has %d intents", l.Name, len(hold.Intents))
	}
	return nil
}

// poolLease is the name of the Lease of the StatefulCluster.
const poolLease = "lockstep-statefulcluster-" + poolName

// checkPoolStatus returns an error until the status says that the StatefulCluster is Ready.
func (t *trial) checkPoolStatus(ctx context.Context) error {
	o, err := t.env.dynamic.Resource(statefulClusters).Namespace(t.namespace).Get(ctx, t.plan.pool.name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	observed, _, _ := unstructured.NestedInt64(o.Object, "status", "observedGeneration")
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	isReady := func(item any) bool {
		c, is := item.(map[string]any)
		return is && c["type"] == "Ready" && c["status"] == "True"
	}
	if observed != o.GetGeneration() || !slices.ContainsFunc(conditions, isReady) {
		return fmt.Errorf("StatefulCluster %s is not Ready by its status: %v", o.GetName(), o.Object["status"])
	}
	return nil
}
