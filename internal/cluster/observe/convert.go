package observe

import (
	"cmp"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
)

// waitingForHelp are the waiting reasons that do not end by themselves: the container's
// configuration or image is wrong, or the container keeps crashing.
var waitingForHelp = map[string]bool{
	"CrashLoopBackOff":           true,
	"ImagePullBackOff":           true,
	"ErrImagePull":               true,
	"InvalidImageName":           true,
	"CreateContainerConfigError": true,
	"CreateContainerError":       true,
}

// PodOf converts a pod that has that ordinal.
func PodOf(pod *corev1.Pod, ordinal int) plan.Pod {
	view := plan.Pod{
		Name:     pod.Name,
		Ordinal:  ordinal,
		UID:      string(pod.UID),
		Version:  versionOf(pod),
		Revision: pod.Labels[contract.RevisionLabel],
		Created:  plan.UnixTimeOf(pod.CreationTimestamp.Time),
		Labels:   plan.LabelsOf(pod.Labels),

		Unadopted: metav1.GetControllerOfNoCopy(pod) == nil,
	}
	view.Phase, view.ReadySince, view.Why = phaseOf(pod)
	view.IP, view.OnHost = addressOf(pod)
	return view
}

// withoutEffect describes the labels and annotations of a StatefulSet that have no effect.
func withoutEffect(set *appsv1.StatefulSet) string {
	return contract.WithoutEffect(contract.Metadata{
		Annotations: set.Annotations, Labels: set.Labels,
		PodAnnotations: set.Spec.Template.Annotations, PodLabels: set.Spec.Template.Labels,
	})
}

// leaderOf returns the zone from which this zone takes its replicas. A zone that names itself
// follows no zone.
func leaderOf(set *appsv1.StatefulSet) string {
	if leader := contract.Leader(set.Annotations); leader != set.Name {
		return leader
	}
	return ""
}

// addressOf returns the pod's address while a process may answer there, and whether it is the
// address of its node.
func addressOf(pod *corev1.Pod) (ip string, onHost bool) {
	switch pod.Status.Phase {
	case corev1.PodFailed, corev1.PodSucceeded:
		return "", false
	case corev1.PodPending:
		if !ran(pod) {
			return "", false // no container has ever listened there
		}
	case corev1.PodRunning, corev1.PodUnknown:
	}
	return pod.Status.PodIP, pod.Spec.HostNetwork || (pod.Status.PodIP != "" && pod.Status.PodIP == pod.Status.HostIP)
}

// ran reports whether any container of a pod has ever run. A restart of the node makes its pods
// Pending again.
func ran(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.ContainerStatuses, func(c corev1.ContainerStatus) bool {
		return c.RestartCount > 0 || c.State.Running != nil || c.State.Terminated != nil || c.LastTerminationState.Terminated != nil
	})
}

// strangerOf converts a pod that no StatefulSet owns. An intent may wait for such a pod if it is
// Ready or terminating; other phases do not matter.
func strangerOf(pod *corev1.Pod) plan.Pod {
	view := plan.Pod{Name: pod.Name, UID: string(pod.UID), Version: versionOf(pod)}
	if phase, _, _ := phaseOf(pod); phase == plan.Terminating || phase == plan.Ready {
		view.Phase = phase
	}
	return view
}

// phaseOf returns the phase of a pod, since when it is Ready, and why it fails.
func phaseOf(pod *corev1.Pod) (plan.Phase, time.Time, string) {
	if pod.DeletionTimestamp != nil {
		return plan.Terminating, time.Time{}, ""
	}
	if since, ready := readySince(pod); ready && pod.Status.Phase == corev1.PodRunning {
		return plan.Ready, since, ""
	}
	if why := failure(pod); why != "" {
		return plan.Failing, time.Time{}, why
	}
	return plan.Starting, time.Time{}, ""
}

func readySince(pod *corev1.Pod) (time.Time, bool) {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.LastTransitionTime.Time, c.Status == corev1.ConditionTrue
		}
	}
	return time.Time{}, false
}

// failure returns why the pod cannot become Ready by itself. Init containers count, including
// sidecars.
func failure(pod *corev1.Pod) string {
	if pod.Status.Phase == corev1.PodFailed {
		return "PodFailed"
	}
	for _, statuses := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for _, s := range statuses {
			if s.State.Waiting != nil && waitingForHelp[s.State.Waiting.Reason] {
				return s.State.Waiting.Reason
			}
		}
	}
	return ""
}

// zoneOf converts a StatefulSet, without its pods.
func zoneOf(set *appsv1.StatefulSet) group.Zone {
	z := group.Zone{
		Name:            set.Name,
		UID:             string(set.UID),
		Version:         versionOf(set),
		Selector:        selectorOf(set),
		Generation:      set.Generation,
		Replicas:        1,
		MinReady:        time.Duration(set.Spec.MinReadySeconds) * time.Second,
		UpdateRevision:  set.Status.UpdateRevision,
		CurrentRevision: set.Status.CurrentRevision,
		Deleting:        set.DeletionTimestamp != nil,
		OnDelete:        set.Spec.UpdateStrategy.Type == appsv1.OnDeleteStatefulSetStrategyType,
		Ignored:         contract.Ignored(set.Annotations),
		InvalidGroup:    contract.InvalidGroup(set.Annotations),
		Paused:          contract.Paused(set.Annotations),
		MaxUnavailable:  contract.MaxUnavailable(set.Annotations),
		MinBetween:      contract.MinBetween(set.Annotations, set.Labels),
		Downscaled:      contract.Downscaled(set.Annotations),
		Prepares:        contract.PrepareDownscale(set.Labels, set.Annotations),
		Leader:          leaderOf(set),
		AfterLeader:     contract.AfterLeader(set.Annotations),
		Forced:          contract.Force(set.Annotations),
		Barred:          contract.NoDownscale(set.Labels, set.Annotations),
		Mirror:          contract.Mirror(set.Annotations),
		WithoutEffect:   withoutEffect(set),
	}
	if z.Prepares {
		z.Call = callOf(set)
	}
	if z.Delay = contract.Delay(set.Annotations); z.Delay.For > 0 {
		z.Delay = withService(z.Delay, set)
	}
	if set.Spec.Replicas != nil {
		z.Replicas = int(*set.Spec.Replicas)
	}
	if set.Spec.Ordinals != nil {
		z.Start = int(set.Spec.Ordinals.Start)
	}
	z.Observed = set.Status.ObservedGeneration >= set.Generation && set.Status.UpdateRevision != ""
	if z.Paused {
		z.PausedUntil = contract.PausedUntil(set.Annotations)
	}
	ready := min(set.Status.UpdatedReplicas, set.Status.ReadyReplicas)
	z.Counting = z.UpdateRevision != z.CurrentRevision && int(ready) < z.Replicas
	return z
}

const noService = "spec.serviceName is empty, so the pods have no names"

// withService adds the Service by which lockstep notifies the pods of a StatefulSet that they
// leave.
func withService(d group.Delay, set *appsv1.StatefulSet) group.Delay {
	if set.Spec.ServiceName == "" {
		return group.Delay{Invalid: noService}
	}
	d.Call.Service = set.Spec.ServiceName
	return d
}

// callOf converts the annotations that configure how lockstep asks the pods of a StatefulSet to
// prepare.
func callOf(set *appsv1.StatefulSet) group.Call {
	missing := contract.MissingForPrepareCall(set.Annotations)
	if set.Spec.ServiceName == "" {
		return group.Call{Invalid: noService, Missing: cmp.Or(missing, "serviceName")}
	}
	call, err := contract.PrepareCall(set.Annotations)
	if err != nil {
		return group.Call{Invalid: err.Error(), Missing: missing}
	}
	return group.Call{Port: call.Port, Path: call.RequestURI(), Service: set.Spec.ServiceName}
}

// memberOf returns the UID of the StatefulSet that a pod belongs to, and its ordinal. It uses the
// rule of the StatefulSet controller: the controlling owner and the name decide, labels do not.
func memberOf(pod *corev1.Pod) (set string, ordinal int, ok bool) {
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner == nil || owner.Kind != "StatefulSet" || owner.APIVersion != appsv1.SchemeGroupVersion.String() {
		return "", 0, false
	}
	ordinal, ok = plan.OrdinalOf(owner.Name, pod.Name)
	return string(owner.UID), ordinal, ok
}

// podNameLabel is on every pod of a StatefulSet. An orphaned pod keeps it.
const podNameLabel = "statefulset.kubernetes.io/pod-name"

// OrphanOf returns the ordinal of a pod that a StatefulSet created and that has no controller.
func OrphanOf(pod *corev1.Pod) (ordinal int, ok bool) {
	if pod.Labels[podNameLabel] != pod.Name || metav1.GetControllerOfNoCopy(pod) != nil {
		return 0, false
	}
	_, ordinal, ok = plan.ParentOf(pod.Name)
	return ordinal, ok
}

func versionOf(object interface{ GetResourceVersion() string }) plan.Version {
	return version(object.GetResourceVersion())
}

// version parses a resourceVersion. An invalid one is older than all others.
func version(text string) plan.Version {
	v, _ := plan.ParseVersion(text)
	return v
}
