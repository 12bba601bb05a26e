package pools

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/tools/cache"

	"github.com/lockstep-dev/lockstep/internal/cluster/parallel"
	"github.com/lockstep-dev/lockstep/internal/plan/pool"
)

// byNode is the index of pods by the name of their node.
const byNode = "node"

// outOfService is the taint by which a person declares that a node is off and stays off.
const outOfService = "node.kubernetes.io/out-of-service"

func indexByNode(object any) ([]string, error) {
	if p, is := object.(*podRecord); is && p.Node.Name != "" {
		return []string{p.Node.Name}, nil
	}
	return nil, nil
}

// nodeOf converts a node; nil is a node that does not exist.
func nodeOf(name string, n *corev1.Node) pool.Node {
	node := pool.Node{Name: name, Gone: n == nil}
	if n == nil {
		return node
	}
	node.Gone = slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == outOfService })
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady && c.Status != corev1.ConditionTrue {
			node.Silent = c.LastTransitionTime.Time
		}
	}
	return node
}

// withNodes adds the nodes of pods, as the caches show them. With a single namespace nothing is known of nodes.
func (o *Observer) withNodes(s *pool.Snapshot) {
	if o.nodes == nil {
		return
	}
	for i := range s.Pods {
		if name := s.Pods[i].Node.Name; name != "" {
			item, _, _ := o.nodes.GetStore().GetByKey(name) // it never returns an error
			s.Pods[i].Node = nodeOf(name, nil)
			if cached, is := item.(*nodeRecord); is {
				s.Pods[i].Node = cached.Node
			}
		}
	}
}

// readNodes reads the nodes that the caches show as gone or silent.
func (o *Observer) readNodes(ctx context.Context, s *pool.Snapshot) error {
	var names []string
	for i := range s.Pods {
		if node := &s.Pods[i].Node; (node.Gone || !node.Silent.IsZero()) && !slices.Contains(names, node.Name) {
			names = append(names, node.Name)
		}
	}
	read, errs := make([]pool.Node, len(names)), make([]error, len(names))
	parallel.Each(len(names), readsAtATime, func(i int) {
		list, err := o.options.Client.CoreV1().Nodes().List(ctx, metav1.ListOptions{
			FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, names[i]).String(),
		})
		switch {
		case err != nil:
			errs[i] = fmt.Errorf("read node %s: %w", names[i], err)
		case len(list.Items) == 0:
			read[i] = nodeOf(names[i], nil)
		default:
			read[i] = nodeOf(names[i], &list.Items[0])
		}
	})
	for i := range s.Pods {
		if n := slices.Index(names, s.Pods[i].Node.Name); n >= 0 {
			s.Pods[i].Node = read[n]
		}
	}
	return cmp.Or(errs...) // one error is enough
}

// readsAtATime limits the concurrent requests of one kind in one live read.
const readsAtATime = 10

// nodeChanged enqueues the pools that have pods on a node, if what counts of the node has changed.
func (o *Observer) nodeChanged(former, latest any) {
	was, had := former.(*nodeRecord)
	is, has := latest.(*nodeRecord)
	if had && has && was.Node == is.Node {
		return
	}
	node := is
	if !has {
		node = was
	}
	if node == nil {
		return
	}
	items, err := o.pods.GetIndexer().ByIndex(byNode, node.Node.Name)
	if err != nil {
		return // New has created the index
	}
	for _, item := range items {
		o.touched(item)
	}
}

func (o *Observer) nodeEvents() cache.ResourceEventHandlerFuncs {
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { o.nodeChanged(nil, object) },
		UpdateFunc: o.nodeChanged,
		DeleteFunc: func(object any) {
			if gone, is := object.(cache.DeletedFinalStateUnknown); is {
				object = gone.Obj
			}
			o.nodeChanged(object, nil)
		},
	}
}
