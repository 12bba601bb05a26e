package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// nodesOfPool is the number of nodes for the pods of a StatefulCluster of which one is deleted.
const nodesOfPool = 3

// collectAfter is how long after a Node its pods are deleted.
const collectAfter = time.Second

// nodeDeleted deletes one of the nodes of the StatefulCluster.
func nodeDeleted(random *rand.Rand, p *pool) fault {
	p.ownNodes = nodesOfPool
	f := fault{replica: -1, at: between(random, time.Second, 8*time.Second), once: "node deleted"}
	f.description = fmt.Sprintf("after %s a node with pods of the StatefulCluster is deleted, and its pods %s later", f.at, collectAfter)
	f.run = func(ctx context.Context, t *trial, _ *replica) error {
		node := t.presentNodes()[0]
		err := retry(ctx, "delete a node", func(ctx context.Context) error {
			return ignoreMissing(t.client.CoreV1().Nodes().Delete(ctx, node, metav1.DeleteOptions{}))
		})
		if err != nil {
			return err
		}
		t.mu.Lock()
		t.nodes = slices.DeleteFunc(slices.Clone(t.nodes), func(n string) bool { return n == node })
		t.mu.Unlock()
		if t.hasPodsOn(node) {
			t.count("node with pods of a StatefulCluster deleted")
		}
		wait(ctx, collectAfter)
		return retry(ctx, "delete the pods of a node", func(ctx context.Context) error { return t.collectPods(ctx, node) })
	}
	return f
}

func (t *trial) hasPodsOn(node string) bool {
	return slices.ContainsFunc(t.state.podsOfPool(), func(p *corev1.Pod) bool { return p.Spec.NodeName == node })
}

// collectPods deletes the pods of a node that is gone, as the garbage collection of pods does. It returns an error until
// there are none.
func (t *trial) collectPods(ctx context.Context, node string) error {
	for _, p := range t.state.podsOfPool() {
		if p.Spec.NodeName != node {
			continue
		}
		condition := fmt.Appendf(nil, `{"metadata":{"uid":%q},"status":{"phase":"Failed","conditions":[{"type":"DisruptionTarget","status":"True","reason":"DeletionByPodGC"}]}}`, p.UID)
		if _, err := t.client.CoreV1().Pods(t.namespace).Patch(ctx, p.Name, types.StrategicMergePatchType, condition, metav1.PatchOptions{}, "status"); ignoreMissing(err) != nil {
			return err
		}
		force := metav1.DeleteOptions{GracePeriodSeconds: new(int64(0)), Preconditions: &metav1.Preconditions{UID: &p.UID}}
		if err := t.client.CoreV1().Pods(t.namespace).Delete(ctx, p.Name, force); ignoreMissing(err) != nil {
			return err
		}
	}
	if t.hasPodsOn(node) {
		return fmt.Errorf("node %s still has pods", node)
	}
	return nil
}

// removeNodes removes the nodes that only this trial uses.
func (t *trial) removeNodes(ctx context.Context) {
	if t.plan.pool == nil || t.plan.pool.ownNodes == 0 {
		return
	}
	for _, node := range t.presentNodes() {
		_ = retry(ctx, "remove node", func(ctx context.Context) error { // the cluster is removed later with what remains
			return ignoreMissing(t.client.CoreV1().Nodes().Delete(ctx, node, metav1.DeleteOptions{}))
		})
	}
}
