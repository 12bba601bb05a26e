package localcluster

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
)

// Schedule binds the pods of a namespace to nodes in turn, as a scheduler does: never while a pod has a scheduling gate. It
// leaves out nodes that do not exist, have the label Lost or are cordoned, and those where a volume of the pod cannot be used.
// The returned function ends it and waits for its end.
func Schedule(ctx context.Context, client kubernetes.Interface, namespace string, nodes ...string) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	s := scheduler{client, namespace, nodes, 0}
	go func() {
		defer close(ended)
		const pause = 20 * time.Millisecond
		for ctx.Err() == nil {
			s.bindAll(ctx)
			select {
			case <-ctx.Done():
			case <-time.After(pause):
			}
		}
	}()
	return func() { cancel(); <-ended }
}

type scheduler struct {
	client    kubernetes.Interface
	namespace string
	nodes     []string
	turn      int
}

// bindAll binds each pod that waits for a node. What fails is tried again by the next call.
func (s *scheduler) bindAll(ctx context.Context) {
	pods, err := s.client.CoreV1().Pods(s.namespace).List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName="})
	if err != nil {
		return
	}
	for i := range pods.Items {
		if p := &pods.Items[i]; len(p.Spec.SchedulingGates) == 0 && p.DeletionTimestamp == nil {
			s.bind(ctx, p)
		}
	}
}

func (s *scheduler) bind(ctx context.Context, p *corev1.Pod) {
	s.turn++
	node, err := s.client.CoreV1().Nodes().Get(ctx, s.nodes[s.turn%len(s.nodes)], metav1.GetOptions{})
	if err != nil || node.Labels[Lost] != "" || node.Spec.Unschedulable || !s.reachesVolumes(ctx, p, node) {
		return
	}
	binding := &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: p.Name, UID: p.UID}, Target: corev1.ObjectReference{Kind: "Node", Name: node.Name}}
	_ = s.client.CoreV1().Pods(s.namespace).Bind(ctx, binding, metav1.CreateOptions{})
}

// reachesVolumes reports whether all volumes that claims of a pod are bound to can be used on a node.
func (s *scheduler) reachesVolumes(ctx context.Context, p *corev1.Pod, node *corev1.Node) bool {
	for _, v := range p.Spec.Volumes {
		if v.PersistentVolumeClaim == nil {
			continue
		}
		claim, err := s.client.CoreV1().PersistentVolumeClaims(s.namespace).Get(ctx, v.PersistentVolumeClaim.ClaimName, metav1.GetOptions{})
		if err != nil {
			return false
		}
		if claim.Spec.VolumeName == "" {
			continue
		}
		volume, err := s.client.CoreV1().PersistentVolumes().Get(ctx, claim.Spec.VolumeName, metav1.GetOptions{})
		if err != nil {
			return false
		}
		if affinity := volume.Spec.NodeAffinity; affinity != nil && affinity.Required != nil {
			nodes, err := nodeaffinity.NewNodeSelector(affinity.Required)
			if err != nil || !nodes.Match(node) {
				return false
			}
		}
	}
	return true
}
