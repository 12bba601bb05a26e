package pools

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/plan/pool"
)

// The caches keep what rules read, converted once instead of for each snapshot. Snapshots share it, so it is for reading only.

// podRecord is a pod with the label of a pool.
type podRecord struct {
	metav1.ObjectMeta
	pool.Pod
	labels labels.Set
	counts bool // it belongs to the StatefulCluster that its label names
}

// claimRecord is a claim with the label of a pool.
type claimRecord struct {
	metav1.ObjectMeta
	pool.Claim
}

// nodeRecord is a node.
type nodeRecord struct {
	metav1.ObjectMeta
	pool.Node
}

// keyOf returns the metadata by which an object is kept.
func keyOf(m metav1.Object) metav1.ObjectMeta {
	kept := metav1.ObjectMeta{Name: m.GetName(), Namespace: m.GetNamespace(), ResourceVersion: m.GetResourceVersion()}
	if name, is := m.GetLabels()[contract.PoolLabel]; is {
		kept.Labels = map[string]string{contract.PoolLabel: name}
	}
	return kept
}

// recorded converts an object that a watch has shown. Other objects stay as they are.
func recorded(object any) (any, error) {
	switch o := object.(type) {
	case *corev1.Pod:
		return &podRecord{keyOf(o), podOf(o), o.Labels, counts(o)}, nil
	case *metav1.PartialObjectMetadata:
		return &claimRecord{keyOf(o), claimOf(o)}, nil
	case *corev1.Node:
		return &nodeRecord{keyOf(o), nodeOf(o.Name, o)}, nil
	case *appsv1.ControllerRevision:
		return revisionOf(o), nil
	}
	return object, nil
}

// counts reports whether a pod belongs to the StatefulCluster that its label names. Otherwise it does not count there.
func counts(p *corev1.Pod) bool {
	owner := metav1.GetControllerOfNoCopy(p)
	return owner != nil && owner.Kind == kind && schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind).Group == Resource.Group && p.Labels[contract.PoolLabel] == owner.Name
}
