package diagnosis

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
)

// OfClaim returns the state of a claim that is not bound to a volume. A nil claim does not
// exist. For a bound claim it returns false; use OfVolume.
func OfClaim(claimName string, claim *corev1.PersistentVolumeClaim) (Fact, bool) {
	f := Fact{About: Claim, Name: name(claimName)}
	f.Says = "claim " + f.Name
	switch {
	case claim == nil:
		f.Says += " does not exist"
		f.ToDo = "If it lasts: look at the Events of the StatefulSet. If the pod exists already, its claim is created when the pod is replaced."
	case claim.DeletionTimestamp != nil:
		f.Says += " is being deleted, so no new pod can use it"
		f.ToDo = "It is deleted when no pod uses it any more."
	case claim.Status.Phase == corev1.ClaimBound:
		return f, false
	case claim.Status.Phase == corev1.ClaimLost:
		f.Says += " is Lost: volume " + name(claim.Spec.VolumeName) + " does not exist"
		f.ToDo = "Restore the volume, or delete claim and pod so that both are created again; the data of the volume is lost then."
	default:
		f.Says += " is Pending: no volume is bound to it"
		f.ToDo = "Look at the Events of the claim, and at its StorageClass. A claim that waits for its first consumer is bound when its pod can be scheduled."
	}
	return f, true
}

// Places are node selectors. A volume can be used on nodes that match one of them.
type Places []labels.Selector

// PlacesOf returns the node affinity of a volume. It returns false if any node can use the
// volume, or if label selectors cannot express the affinity. A term that Kubernetes would reject
// matches nothing.
func PlacesOf(volume *corev1.PersistentVolume) (Places, bool) {
	if volume.Spec.NodeAffinity == nil || volume.Spec.NodeAffinity.Required == nil {
		return nil, false
	}
	var places Places
	for _, term := range volume.Spec.NodeAffinity.Required.NodeSelectorTerms {
		if len(term.MatchFields) > 0 || len(term.MatchExpressions) == 0 {
			return nil, false
		}
		places = append(places, selectorOf(term))
	}
	return places, len(places) > 0
}

func selectorOf(term corev1.NodeSelectorTerm) labels.Selector {
	selector := labels.NewSelector()
	for _, e := range term.MatchExpressions {
		r, err := labels.NewRequirement(e.Key, operators[e.Operator], e.Values)
		if err != nil {
			return labels.Nothing()
		}
		selector = selector.Add(*r)
	}
	return selector
}

var operators = map[corev1.NodeSelectorOperator]selection.Operator{
	corev1.NodeSelectorOpIn: selection.In, corev1.NodeSelectorOpNotIn: selection.NotIn, corev1.NodeSelectorOpExists: selection.Exists,
	corev1.NodeSelectorOpDoesNotExist: selection.DoesNotExist, corev1.NodeSelectorOpGt: selection.GreaterThan, corev1.NodeSelectorOpLt: selection.LessThan,
}

// String returns the selectors in the usual notation.
func (p Places) String() string {
	var terms []string
	for _, s := range p {
		terms = append(terms, s.String())
	}
	return strings.Join(terms, " or ")
}

// mostNodes is the maximum number of nodes that the text contains.
const mostNodes = 3

// OfVolume returns where the volume of a claim can be used, and the state of the nodes that
// match places.
func OfVolume(claimName string, volume *corev1.PersistentVolume, places Places, nodes []corev1.Node) Fact {
	f := Fact{About: Claim, Name: name(claimName), Says: Bound(claimName, volume, places) + ": ", ToDo: lostVolume}
	if len(nodes) == 0 {
		f.Says += "there is no such node"
		return f
	}
	var stand []string
	for i := range nodes {
		if isReady(&nodes[i]) {
			f.ToDo = ""
		}
		if i < mostNodes {
			stand = append(stand, name(nodes[i].Name)+" is "+stateOf(&nodes[i]))
		}
	}
	f.Says += strings.Join(stand, ", ")
	if len(nodes) > mostNodes {
		f.Says += " and others"
	}
	return f
}

const lostVolume = "Bring the node back. If it never returns, delete claim and pod so that both are created again on another node. The price: the data of the volume is lost."

// Bound returns the volume that a claim is bound to, and where it can be used.
func Bound(claimName string, volume *corev1.PersistentVolume, places Places) string {
	return fmt.Sprintf("claim %s is bound to volume %s, which only nodes with %s can use", name(claimName), name(volume.Name), quoted(places.String()))
}
