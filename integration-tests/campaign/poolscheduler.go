package main

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// schedulerPause is the time between two rounds of the scheduler.
const schedulerPause = 50 * time.Millisecond

// schedule binds the pods of the StatefulCluster to its nodes in turn until ctx ends, as a scheduler does: never while a
// pod has a scheduling gate. It reads nothing from the API server.
func (t *trial) schedule(ctx context.Context) {
	turn := 0
	for wait(ctx, schedulerPause) {
		for _, p := range t.state.podsOfPool() {
			if p.Spec.NodeName != "" || len(p.Spec.SchedulingGates) > 0 || p.DeletionTimestamp != nil {
				continue
			}
			turn++
			if nodes := t.presentNodes(); len(nodes) > 0 {
				t.bind(ctx, p, nodes[turn%len(nodes)])
			}
		}
	}
}

// bind binds a pod to a node. The pod may be bound or gone already, and what fails is tried again in the next round.
func (t *trial) bind(ctx context.Context, p *corev1.Pod, node string) {
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	binding := &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: p.Name, UID: p.UID}, Target: corev1.ObjectReference{Kind: "Node", Name: node}}
	_ = t.client.CoreV1().Pods(t.namespace).Bind(ctx, binding, metav1.CreateOptions{})
}

// presentNodes returns the nodes of the StatefulCluster that were not deleted.
func (t *trial) presentNodes() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.nodes
}
