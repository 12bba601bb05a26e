package observe

import (
	"fmt"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lockstep-dev/lockstep/internal/contract"
)

// noon is when every Ready pod of these tests became Ready.
var noon = metav1.NewTime(time.Date(2026, time.January, 5, 12, 0, 0, 0, time.UTC))

// change changes a pod or a StatefulSet.
type change[T any] func(T)

// newSet returns a StatefulSet of the group store whose rollout is complete.
func newSet(name string, changes ...change[*appsv1.StatefulSet]) *appsv1.StatefulSet {
	set := &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "team", Name: name, UID: types.UID("uid-of-" + name), ResourceVersion: "7", Generation: 3,
			Labels: map[string]string{contract.GroupLabel: "store"}, Annotations: map[string]string{},
		},
		Spec: appsv1.StatefulSetSpec{
			Replicas:       new(int32(2)),
			Selector:       &metav1.LabelSelector{MatchLabels: map[string]string{"set": name}},
			UpdateStrategy: appsv1.StatefulSetUpdateStrategy{Type: appsv1.OnDeleteStatefulSetStrategyType},
		},
		Status: appsv1.StatefulSetStatus{ObservedGeneration: 3, UpdateRevision: "new", CurrentRevision: "old", UpdatedReplicas: 2, ReadyReplicas: 2},
	}
	for _, c := range changes {
		c(set)
	}
	return set
}

// newPod returns a pod of a StatefulSet. It is Ready since noon.
func newPod(set string, ordinal int, changes ...change[*corev1.Pod]) *corev1.Pod {
	name := set + "-" + strconv.Itoa(ordinal)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "team", Name: name, UID: types.UID("uid-of-" + name), ResourceVersion: "9",
			Labels: map[string]string{contract.RevisionLabel: "old", "set": set},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "apps/v1", Kind: "StatefulSet", Name: set, UID: types.UID("uid-of-" + set), Controller: new(true),
			}},
		},
		Status: corev1.PodStatus{
			Phase:      corev1.PodRunning,
			Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: noon}},
		},
	}
	for _, c := range changes {
		c(pod)
	}
	return pod
}

// notReady returns a change to a pod: it is not Ready and has containers in these states.
func notReady(containers ...corev1.ContainerState) change[*corev1.Pod] {
	return func(p *corev1.Pod) {
		p.Status.Conditions[0].Status = corev1.ConditionFalse
		for _, state := range containers {
			p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, corev1.ContainerStatus{State: state})
		}
	}
}

func notReadyInit(containers ...corev1.ContainerState) change[*corev1.Pod] {
	return func(p *corev1.Pod) {
		notReady()(p)
		for _, state := range containers {
			p.Status.InitContainerStatuses = append(p.Status.InitContainerStatuses, corev1.ContainerStatus{State: state})
		}
	}
}

func waits(why string) corev1.ContainerState {
	return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: why}}
}

var (
	runs    = corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	crashed = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error"}}
)

func terminating(p *corev1.Pod) { p.DeletionTimestamp = &noon }

func version10(o metav1.Object) { o.SetResourceVersion("10") }

// ownedBy replaces the owners of a pod.
func ownedBy(owners ...metav1.OwnerReference) change[*corev1.Pod] {
	return func(p *corev1.Pod) { p.OwnerReferences = owners }
}

func inGroup(name string) change[*appsv1.StatefulSet] {
	return func(s *appsv1.StatefulSet) { s.Labels[contract.GroupLabel] = name }
}

func ungrouped(s *appsv1.StatefulSet) { delete(s.Labels, contract.GroupLabel) }

func annotated(key, value string) change[*appsv1.StatefulSet] {
	return func(s *appsv1.StatefulSet) { s.Annotations[key] = value }
}

// show puts an object into its cache, after the cache's transform.
func show(o *Observer, object any) {
	var err error
	switch object := object.(type) {
	case *corev1.Pod:
		err = o.pods.GetStore().Add(must(trimPod(object)))
	case *appsv1.StatefulSet:
		err = o.zones.GetStore().Add(must(trimZone(object)))
	case *corev1.Namespace:
		err = o.namespaces.GetStore().Add(must(trimNamespace(object)))
	default:
		err = fmt.Errorf("show %T", object)
	}
	if err != nil {
		panic(err)
	}
}

// as returns an object as its type T, or panics.
func as[T any](object any) T {
	it, ok := object.(T)
	if !ok {
		panic(fmt.Sprintf("unexpected %T", object))
	}
	return it
}

func must(object any, err error) any {
	if err != nil {
		panic(err)
	}
	return object
}
