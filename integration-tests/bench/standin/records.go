package standin

import (
	"fmt"
	"maps"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
)

// record is the compact form of an object, which is built for each request. A record is immutable; a
// change is another record.
type record interface {
	names() (namespace, name string)
	labels() labels.Set
	uid() types.UID
	object() metav1.Object // builds a new object
}

// epoch is the creation time of all generated objects.
var epoch = metav1.Date(2030, time.January, 1, 0, 0, 0, 0, time.UTC)

type namespaceRecord struct {
	name  string
	optIn map[string]string
}

func (r namespaceRecord) names() (string, string) { return "", r.name }

func (r namespaceRecord) uid() types.UID { return types.UID("namespace-" + r.name) }

func (r namespaceRecord) labels() labels.Set {
	set := labels.Set{corev1.LabelMetadataName: r.name}
	maps.Copy(set, r.optIn)
	return set
}

func (r namespaceRecord) object() metav1.Object {
	return &corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{Name: r.name, UID: r.uid(), Labels: r.labels(), CreationTimestamp: epoch},
		Status:     corev1.NamespaceStatus{Phase: corev1.NamespaceActive},
	}
}

// zoneRecord is a StatefulSet whose controller has observed its generation.
type zoneRecord struct {
	group          Group
	name, node     string
	serial         uint64
	generation     int // also the number of the latest revision
	current        int // the number of status.currentRevision
	pods           int
	ready, updated int
	spec           func(image, node string) corev1.PodSpec
}

func (r zoneRecord) names() (string, string) { return r.group.Namespace, r.name }

func (r zoneRecord) uid() types.UID { return uidOf(r.serial) }

func (r zoneRecord) labels() labels.Set { return labels.Set{groupLabel: r.group.Name} }

func (r zoneRecord) podLabels() map[string]string {
	return map[string]string{"name": r.name, groupLabel: r.group.Name}
}

func (r zoneRecord) object() metav1.Object {
	updated, current := revisionOf(r.name, r.generation), revisionOf(r.name, r.current)
	return &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: r.group.Namespace, Name: r.name, UID: r.uid(), Generation: int64(r.generation), Labels: r.labels(), CreationTimestamp: epoch,
		},
		Spec: appsv1.StatefulSetSpec{
			Replicas:            new(int32(r.pods)),
			PodManagementPolicy: appsv1.ParallelPodManagement,
			UpdateStrategy:      appsv1.StatefulSetUpdateStrategy{Type: appsv1.OnDeleteStatefulSetStrategyType},
			Selector:            &metav1.LabelSelector{MatchLabels: map[string]string{"name": r.name}},
			Template:            corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: r.podLabels()}, Spec: r.spec(image(r.generation), r.node)},
		},
		Status: appsv1.StatefulSetStatus{
			ObservedGeneration: int64(r.generation), Replicas: int32(r.pods),
			ReadyReplicas: int32(r.ready), AvailableReplicas: int32(r.ready), UpdatedReplicas: int32(r.updated),
			UpdateRevision: updated, CurrentRevision: current,
		},
	}
}

func image(revision int) string { return fmt.Sprint("image:", revision) }

// podRecord is a pod. It uses only the immutable fields of its zone.
type podRecord struct {
	zone     *zoneRecord
	ordinal  int
	serial   uint64
	revision int
	ready    bool
}

func (r podRecord) names() (string, string) {
	return r.zone.group.Namespace, fmt.Sprintf("%s-%d", r.zone.name, r.ordinal)
}

func (r podRecord) uid() types.UID { return uidOf(r.serial) }

func (r podRecord) labels() labels.Set {
	set := r.zone.podLabels()
	_, set[appsv1.StatefulSetPodNameLabel] = r.names()
	set[appsv1.PodIndexLabel] = fmt.Sprint(r.ordinal)
	set[appsv1.ControllerRevisionHashLabelKey] = revisionOf(r.zone.name, r.revision)
	return set
}

func (r podRecord) object() metav1.Object {
	namespace, name := r.names()
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name, GenerateName: r.zone.name + "-", UID: r.uid(), Labels: r.labels(), CreationTimestamp: epoch,
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: appsv1.SchemeGroupVersion.String(), Kind: "StatefulSet", Name: r.zone.name, UID: r.zone.uid(),
				Controller: new(true), BlockOwnerDeletion: new(true),
			}},
		},
		Spec:   r.zone.spec(image(r.revision), r.zone.node),
		Status: r.status(),
	}
}

func (r podRecord) status() corev1.PodStatus {
	if !r.ready {
		return corev1.PodStatus{Phase: corev1.PodPending}
	}
	status := corev1.PodStatus{
		Phase: corev1.PodRunning, HostIP: "10.64.0.1", StartTime: &epoch,
		PodIP: fmt.Sprintf("10.%d.%d.%d", 128+r.serial>>16&0x7f, r.serial>>8&0xff, r.serial&0xff),
		ContainerStatuses: []corev1.ContainerStatus{{
			Name: "main", Image: image(r.revision), ImageID: image(r.revision), Ready: true, Started: new(true),
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: epoch}},
		}},
	}
	for _, kind := range []corev1.PodConditionType{corev1.PodScheduled, corev1.PodInitialized, corev1.ContainersReady, corev1.PodReady} {
		status.Conditions = append(status.Conditions, corev1.PodCondition{Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: epoch})
	}
	return status
}

// leaseRecord is a Lease in its encoded form.
type leaseRecord struct{ lease *coordinationv1.Lease }

func (r leaseRecord) names() (string, string) { return r.lease.Namespace, r.lease.Name }

func (r leaseRecord) uid() types.UID { return r.lease.UID }

func (r leaseRecord) labels() labels.Set { return r.lease.Labels }

func (r leaseRecord) object() metav1.Object { return r.lease.DeepCopy() }
