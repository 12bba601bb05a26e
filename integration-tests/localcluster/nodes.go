package localcluster

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const nodesTimeout = time.Minute

// NodeName returns the name of the simulated node i, counted from 0.
func NodeName(i int) string { return fmt.Sprintf("node-%d", i) }

// AddNodes creates more simulated nodes, with these labels and those of every node, and these taints, and returns
// their names when they are Ready.
func (c *Cluster) AddNodes(ctx context.Context, n int, labels map[string]string, taints ...corev1.Taint) ([]string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, nodesTimeout, fmt.Errorf("not Ready after %s", nodesTimeout))
	defer cancel()
	names, err := c.createNodes(ctx, n, labels, taints)
	if err != nil {
		return nil, err
	}
	return names, poll(ctx, "the simulated nodes", func() bool { return c.nodesReady(ctx, names) })
}

// createNodes creates the next nodes and returns their names.
func (c *Cluster) createNodes(ctx context.Context, n int, labels map[string]string, taints []corev1.Taint) ([]string, error) {
	c.mu.Lock()
	first := c.nodes
	c.nodes += n
	c.mu.Unlock()
	var names []string
	for i := range n {
		node := simulatedNode(first + i)
		maps.Copy(node.Labels, labels)
		node.Spec.Taints = taints
		if err := c.createNode(ctx, node); err != nil {
			return nil, err
		}
		names = append(names, node.Name)
	}
	return names, nil
}

// createNode creates a node. It tries until the context ends, since the API server or etcd may be restarted meanwhile.
func (c *Cluster) createNode(ctx context.Context, node *corev1.Node) error {
	var err error
	exists := func() bool {
		_, err = c.client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{})
		return err == nil || apierrors.IsAlreadyExists(err) // by an earlier try: no other node has its number
	}
	if ended := poll(ctx, "node "+node.Name, exists); ended != nil {
		return fmt.Errorf("%w; the last answer: %w", ended, err)
	}
	return nil
}

func simulatedNode(i int) *corev1.Node {
	room := corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse("1000"),
		corev1.ResourceMemory: resource.MustParse("1Ti"),
		corev1.ResourcePods:   resource.MustParse("20000"),
	}
	zones := []string{"a", "b", "c"}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: NodeName(i),
			Labels: map[string]string{
				corev1.LabelHostname:     NodeName(i),
				corev1.LabelOSStable:     "linux",
				corev1.LabelArchStable:   "amd64",
				corev1.LabelTopologyZone: zones[i%len(zones)],
			},
		},
		Status: corev1.NodeStatus{
			Capacity:    room,
			Allocatable: room,
			Addresses: []corev1.NodeAddress{
				{Type: corev1.NodeInternalIP, Address: fmt.Sprintf("10.64.%d.%d", i/250, i%250+1)},
				{Type: corev1.NodeHostName, Address: NodeName(i)},
			},
		},
	}
}

// nodesReady reports whether all of these nodes can run pods.
func (c *Cluster) nodesReady(ctx context.Context, names []string) bool {
	nodes, err := c.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return false
	}
	usable := 0
	for _, node := range nodes.Items {
		if slices.Contains(names, node.Name) && !unusable(node) {
			usable++
		}
	}
	return usable == len(names)
}

func unusable(node corev1.Node) bool {
	ready := slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
	ofController := func(taint corev1.Taint) bool { return strings.HasPrefix(taint.Key, "node.kubernetes.io/") }
	return !ready || slices.ContainsFunc(node.Spec.Taints, ofController)
}
