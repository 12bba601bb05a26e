package observe

import (
	"fmt"
	"reflect"
	"strings"
	"unique"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
)

// podRecord is the cache's record of a pod of a StatefulSet, orphaned or not.
type podRecord struct {
	kin kin
	pod plan.Pod
}

// kin is the data that pods of one revision of a StatefulSet have in common. They share its
// strings.
type kin struct{ shared unique.Handle[kinship] }

type kinship struct {
	namespace string
	owner     string // UID of the StatefulSet; empty: the pod is orphaned
	revision  string
	named     bool // the pod-name label contains the pod's name, as on each pod of a StatefulSet
}

// Equal reports whether both are the same.
func (k kin) Equal(other kin) bool { return k == other }

func newPodRecord(shared kinship, pod plan.Pod) *podRecord {
	kin := kin{unique.Make(shared)}
	pod.Revision = kin.shared.Value().revision
	pack(&pod.Name, &pod.UID, &pod.IP, &pod.Why)
	return &podRecord{kin, pod}
}

// pack copies strings into one string, of which each becomes a part. The decoder allocates each
// string between objects that soon are garbage; a small live string would keep the memory around
// it allocated.
func pack(texts ...*string) {
	size := 0
	for _, text := range texts {
		size += len(*text)
	}
	var all strings.Builder
	all.Grow(size)
	for _, text := range texts {
		all.WriteString(*text)
	}
	packed := all.String()
	for _, text := range texts {
		*text, packed = packed[:len(*text)], packed[len(*text):]
	}
}

// strangerRecord is the cache's record of any other pod. It contains what can end an intent for
// that pod. Most clusters have far more of these pods, so it keeps its strings as one.
type strangerRecord struct {
	text      string     // namespace, name and UID, concatenated
	name, uid uint16     // their offsets
	phase     plan.Phase // as strangerOf returns it
	version   plan.Version
}

func newStranger(pod *corev1.Pod) *strangerRecord {
	return &strangerRecord{
		text: pod.Namespace + pod.Name + string(pod.UID),
		name: uint16(len(pod.Namespace)), uid: uint16(len(pod.Namespace) + len(pod.Name)),
		phase: strangerOf(pod).Phase, version: versionOf(pod),
	}
}

// keptPod is a podRecord or a strangerRecord.
type keptPod interface {
	view() plan.Pod
	home() (namespace, name string)
	controller() string // UID of its StatefulSet; "" if it has none
}

func (r *podRecord) view() plan.Pod { return r.pod }

func (r *podRecord) home() (namespace, name string) { return r.namespace(), r.pod.Name }

func (r *podRecord) namespace() string { return r.kin.shared.Value().namespace }

func (r *podRecord) controller() string { return r.kin.shared.Value().owner }

// parent returns the name of the StatefulSet that made the pod.
func (r *podRecord) parent() string {
	name, _, _ := plan.ParentOf(r.pod.Name)
	return name
}

// named reports whether the pod-name label of the pod contains its name.
func (r *podRecord) named() bool { return r.kin.shared.Value().named }

// orphaned reports whether the pod has no controller.
func (r *podRecord) orphaned() bool { return r.controller() == "" }

func (r *strangerRecord) view() plan.Pod {
	return plan.Pod{Name: r.text[r.name:r.uid], UID: r.text[r.uid:], Version: r.version, Phase: r.phase}
}

func (r *strangerRecord) home() (namespace, name string) {
	return r.text[:r.name], r.text[r.name:r.uid]
}

func (r *strangerRecord) controller() string { return "" }

// zoneRecord is the cache's record of a StatefulSet.
type zoneRecord struct {
	namespace string
	group     string
	grouped   bool        // it has a group, whose name may be empty
	barred    bool        // its label or annotation no-downscale forbids a scale-down
	labels    plan.Labels // of the StatefulSet
	podLabels plan.Labels // of its pod template
	zone      group.Zone
}

// namespaceRecord is the cache's record of a namespace that opted in.
type namespaceRecord struct {
	name     string
	version  plan.Version
	deleting bool
}

// key returns the key of the group of the StatefulSet, or of the StatefulSet if it has no group.
func (r *zoneRecord) key() plan.Key {
	if !r.grouped {
		return plan.Key{Namespace: r.namespace, Name: r.zone.Name, Kind: plan.KindStatefulSet}
	}
	return plan.Key{Namespace: r.namespace, Name: r.group}
}

// annotated reports whether an annotation puts the StatefulSet into its group. Then no label
// selector finds it there.
func (r *zoneRecord) annotated() bool {
	label, labelled := r.labels.Map()[contract.GroupLabel]
	return r.grouped && (!labelled || label != r.group)
}

// usesHold reports whether the StatefulSet changes under a hold.
func (r *zoneRecord) usesHold() bool { return r.grouped || r.zone.Prepares }

// samePod reports whether two states of a pod differ in nothing but the version.
func samePod(before, after keptPod) bool {
	was, is := before.view(), after.view()
	was.Version, is.Version = 0, 0
	called, calls := was.IP != "", is.IP != "" // another address is irrelevant
	was.IP, is.IP = "", ""
	return was == is && called == calls && before.controller() == after.controller()
}

// sameBut reports whether two states of a StatefulSet differ in nothing but the version.
func (r *zoneRecord) sameBut(other *zoneRecord) bool {
	a, b := *r, *other
	a.zone.Version, b.zone.Version = 0, 0
	return reflect.DeepEqual(a, b)
}

// GetObjectMeta implements metav1.ObjectMetaAccessor, which caches require of their objects.
func (r *podRecord) GetObjectMeta() metav1.Object {
	return metadata(r.namespace(), r.pod.Name, r.pod.UID, r.pod.Version)
}

// GetObjectMeta implements metav1.ObjectMetaAccessor.
func (r *strangerRecord) GetObjectMeta() metav1.Object {
	return metadata(r.text[:r.name], r.text[r.name:r.uid], r.text[r.uid:], r.version)
}

// GetObjectMeta implements metav1.ObjectMetaAccessor.
func (r *zoneRecord) GetObjectMeta() metav1.Object {
	return metadata(r.namespace, r.zone.Name, r.zone.UID, r.zone.Version)
}

// GetObjectMeta implements metav1.ObjectMetaAccessor.
func (r *namespaceRecord) GetObjectMeta() metav1.Object {
	return metadata("", r.name, "", r.version)
}

func metadata(namespace, name, uid string, version plan.Version) metav1.Object {
	return &metav1.ObjectMeta{
		Namespace: namespace, Name: name, UID: types.UID(uid),
		ResourceVersion: version.String(),
	}
}

// trimPod, trimZone and trimNamespace convert objects before a cache stores them. Objects that
// are already converted stay as they are.
func trimPod(object any) (any, error) {
	switch o := object.(type) {
	case *corev1.Pod:
		return keep(o), nil
	case *podRecord, *strangerRecord, cache.DeletedFinalStateUnknown:
		return object, nil
	}
	return nil, fmt.Errorf("trim pod: unexpected %T", object)
}

// keep converts a pod to its record in the cache.
func keep(pod *corev1.Pod) keptPod {
	shared := kinship{pod.Namespace, "", pod.Labels[contract.RevisionLabel], pod.Labels[podNameLabel] == pod.Name}
	if owner, ordinal, ok := memberOf(pod); ok {
		shared.owner = owner
		return newPodRecord(shared, PodOf(pod, ordinal))
	}
	if ordinal, ok := OrphanOf(pod); ok {
		return newPodRecord(shared, PodOf(pod, ordinal))
	}
	return newStranger(pod)
}

func recordOf(o *appsv1.StatefulSet) *zoneRecord {
	group, grouped := contract.Group(o.Labels, o.Annotations)
	r := &zoneRecord{
		namespace: o.Namespace, group: group, grouped: grouped, barred: contract.NoDownscale(o.Labels, o.Annotations),
		labels: plan.LabelsOf(o.Labels), podLabels: plan.LabelsOf(o.Spec.Template.Labels), zone: zoneOf(o),
	}
	pack(&r.namespace, &r.group, &r.zone.Selector, &r.zone.Name, &r.zone.UID, &r.zone.UpdateRevision, &r.zone.CurrentRevision, &r.zone.Leader)
	return r
}

func trimZone(object any) (any, error) {
	switch o := object.(type) {
	case *appsv1.StatefulSet:
		return recordOf(o), nil
	case *zoneRecord, cache.DeletedFinalStateUnknown:
		return object, nil
	}
	return nil, fmt.Errorf("trim StatefulSet: unexpected %T", object)
}

func trimNamespace(object any) (any, error) {
	switch o := object.(type) {
	case *corev1.Namespace:
		return &namespaceRecord{name: o.Name, version: versionOf(o), deleting: o.DeletionTimestamp != nil}, nil
	case *namespaceRecord, cache.DeletedFinalStateUnknown:
		return object, nil
	}
	return nil, fmt.Errorf("trim namespace: unexpected %T", object)
}

// final returns the last known state of a deleted object.
func final(object any) any {
	if unknown, ok := object.(cache.DeletedFinalStateUnknown); ok {
		return unknown.Obj
	}
	return object
}
