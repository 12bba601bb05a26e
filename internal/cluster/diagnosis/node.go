package diagnosis

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// OfNode returns the state of a pod's node. A nil node does not exist.
func OfNode(nodeName string, node *corev1.Node) Fact {
	f := Fact{About: Node, Name: name(nodeName)}
	f.Says = "node " + f.Name
	switch {
	case node == nil:
		f.Says += ", which the pod was placed on, does not exist"
		f.ToDo = "If it lasts: check whether the kube-controller-manager works; it deletes pods of nodes that do not exist."
	case isReady(node):
		f.Says += " is " + stateOf(node)
	case isOutOfService(node):
		f.Says += " is " + stateOf(node) + ", and has the taint " + corev1.TaintNodeOutOfService
		f.ToDo = "Kubernetes deletes its pods by force now. Remove the taint when the node is back."
	default:
		f.Says += " is " + stateOf(node)
		f.ToDo = "Bring the node back. If it is certainly shut down, kubectl taint nodes " + f.Name + " " + corev1.TaintNodeOutOfService + "=nodeshutdown:NoExecute " +
			"lets its pods go; remove the taint when the node is back. The price: Kubernetes deletes every pod of the node without knowing that its containers have ended, " +
			"and detaches its volumes by force. On a node that still runs, two copies of a pod then write the same data."
	}
	return f
}

// stateOf returns whether a node is Ready, since when and, if it is not, why.
func stateOf(node *corev1.Node) string {
	c := readiness(node)
	says := "Ready"
	if c.Status != corev1.ConditionTrue {
		says = "not Ready"
	}
	if !c.LastTransitionTime.IsZero() {
		says += " since " + at(c.LastTransitionTime.Time)
	}
	if c.Status != corev1.ConditionTrue {
		says += because(c.Reason, c.Message)
	}
	if node.Spec.Unschedulable {
		says += ", and cordoned"
	}
	return says
}

func isReady(node *corev1.Node) bool { return readiness(node).Status == corev1.ConditionTrue }

// readiness returns the condition Ready. If the node has none, it is Unknown.
func readiness(node *corev1.Node) corev1.NodeCondition {
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c
		}
	}
	return corev1.NodeCondition{Status: corev1.ConditionUnknown}
}

func isOutOfService(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == corev1.TaintNodeOutOfService })
}
