package pools

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/plan/pool"
)

// gateOf returns the state of the readiness gate for updates in place, and since when. A gate without a condition is closed.
func gateOf(p *corev1.Pod) (pool.Gate, time.Time) {
	if !slices.ContainsFunc(p.Spec.ReadinessGates, func(g corev1.PodReadinessGate) bool { return g.ConditionType == contract.UpdateGate }) {
		return pool.NoGate, time.Time{}
	}
	for i := range p.Status.Conditions {
		switch c := &p.Status.Conditions[i]; {
		case c.Type != contract.UpdateGate:
		case c.Status == corev1.ConditionTrue:
			return pool.GateOpen, c.LastTransitionTime.Time
		default:
			return pool.GateClosed, c.LastTransitionTime.Time
		}
	}
	return pool.GateClosed, time.Time{}
}

// resizeOf returns how far the kubelet is with the resources of a pod, and since when.
func resizeOf(p *corev1.Pod) (pool.Resize, time.Time) {
	if p.Status.ObservedGeneration > 0 && p.Status.ObservedGeneration < p.Generation {
		return pool.ResizeUnderway, time.Time{} // its conditions are about former resources
	}
	for i := range p.Status.Conditions {
		switch c := &p.Status.Conditions[i]; {
		case c.Status != corev1.ConditionTrue:
		case c.Type == corev1.PodResizePending && c.Reason == corev1.PodReasonInfeasible:
			return pool.ResizeInfeasible, c.LastTransitionTime.Time
		case c.Type == corev1.PodResizePending:
			return pool.ResizeDeferred, c.LastTransitionTime.Time
		case c.Type == corev1.PodResizeInProgress:
			return pool.ResizeUnderway, c.LastTransitionTime.Time
		}
	}
	if !isResized(p) {
		return pool.ResizeUnderway, time.Time{}
	}
	return pool.Resized, time.Time{}
}

// isResized reports whether each container has the resources of the spec, as far as the kubelet reports them.
func isResized(p *corev1.Pod) bool {
	for i := range p.Spec.Containers {
		for j := range p.Status.ContainerStatuses {
			status := &p.Status.ContainerStatuses[j]
			if status.Name == p.Spec.Containers[i].Name && status.Resources != nil && resourcesOf(status.Resources) != resourcesOf(&p.Spec.Containers[i].Resources) {
				return false
			}
		}
	}
	return true
}

// resourcesOf returns the resources of a container that can be changed in place.
func resourcesOf(r *corev1.ResourceRequirements) pool.Resources {
	of := func(list corev1.ResourceList, name corev1.ResourceName) string {
		if quantity, has := list[name]; has {
			return quantity.String()
		}
		return ""
	}
	return pool.Resources{
		CPURequest: of(r.Requests, corev1.ResourceCPU), MemoryRequest: of(r.Requests, corev1.ResourceMemory),
		CPULimit: of(r.Limits, corev1.ResourceCPU), MemoryLimit: of(r.Limits, corev1.ResourceMemory),
	}
}
