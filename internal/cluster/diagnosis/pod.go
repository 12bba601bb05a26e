package diagnosis

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// OfPod returns what a pod itself shows. It returns nothing if the pod is Ready and not terminating.
func OfPod(pod *corev1.Pod, now time.Time) []Fact {
	switch facts := disruption(pod); {
	case pod.DeletionTimestamp != nil:
		return append(facts, deletion(pod, now)...)
	case pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded:
		return slices.Concat(facts, []Fact{ended(pod)}, containers(pod))
	case holds(pod, corev1.PodReady):
		return nil
	case pod.Spec.NodeName == "":
		return append(facts, unscheduled(pod))
	default:
		return slices.Concat(facts, notReady(pod))
	}
}

// notReady returns what keeps a scheduled pod from being Ready.
func notReady(pod *corev1.Pod) []Fact {
	if facts := append(containers(pod), gates(pod)...); len(facts) > 0 {
		return facts
	}
	if NotStarted(pod) {
		return []Fact{{
			About: Pod, Says: "node " + name(pod.Spec.NodeName) + " has not started a container of the pod yet",
			ToDo: "If it lasts: look at the Events of the pod about volumes, network and images.",
		}}
	}
	c, _ := condition(pod, corev1.PodReady)
	return []Fact{{About: Pod, Says: "the pod is not Ready" + because(c.Reason, c.Message)}}
}

// NotStarted reports whether no container of a pod has started, so that its claims may be the
// cause.
func NotStarted(pod *corev1.Pod) bool {
	began := func(s corev1.ContainerStatus) bool {
		return s.State.Running != nil || s.State.Terminated != nil || s.LastTerminationState.Terminated != nil
	}
	return pod.DeletionTimestamp == nil && !slices.ContainsFunc(statuses(pod), began)
}

// Claims returns the names of a pod's claims, in order.
func Claims(pod *corev1.Pod) []string {
	var claims []string
	for _, v := range pod.Spec.Volumes {
		switch {
		case v.PersistentVolumeClaim != nil:
			claims = append(claims, v.PersistentVolumeClaim.ClaimName)
		case v.Ephemeral != nil:
			claims = append(claims, pod.Name+"-"+v.Name)
		}
	}
	return claims
}

// disruption returns why a pod is being deleted, if the pod has that condition.
func disruption(pod *corev1.Pod) []Fact {
	c, exists := condition(pod, corev1.DisruptionTarget)
	if !exists || c.Status != corev1.ConditionTrue {
		return nil
	}
	return []Fact{{About: Pod, Says: "the pod is being disrupted" + because(c.Reason, c.Message)}}
}

func deletion(pod *corev1.Pod, now time.Time) []Fact {
	var facts []Fact
	if len(pod.Finalizers) > 0 {
		all := names(pod.Finalizers)
		facts = append(facts, Fact{
			About: Finalizer, Name: all, Says: "the pod cannot be removed while it has finalizer " + all,
			ToDo: "Find out why the controller that owns the finalizer does not remove it. Remove it by hand only if that controller does not exist any more.",
		})
	}
	if pod.DeletionGracePeriodSeconds == nil || *pod.DeletionGracePeriodSeconds == 0 {
		return facts // the containers have ended
	}
	if until := pod.DeletionTimestamp.Time; now.Before(until) {
		return append(facts, Fact{About: Deletion, Says: "its containers have until " + at(until) + " to end"})
	}
	return append(facts, Fact{
		About: Deletion,
		Says:  fmt.Sprintf("its containers had until %s to end, and node %s has not confirmed that they have ended", at(pod.DeletionTimestamp.Time), name(pod.Spec.NodeName)),
		ToDo:  "Check whether the node is Ready, and read the log of its kubelet.",
	})
}

func ended(pod *corev1.Pod) Fact {
	return Fact{
		About: Pod, Says: "the pod has ended as " + name(string(pod.Status.Phase)) + because(pod.Status.Reason, pod.Status.Message),
		ToDo: "Usually no action is needed: the StatefulSet controller replaces it.",
	}
}

func unscheduled(pod *corev1.Pod) Fact {
	f := Fact{About: Scheduler, Name: name(pod.Spec.SchedulerName)}
	c, exists := condition(pod, corev1.PodScheduled)
	switch {
	case !exists || c.Status == corev1.ConditionTrue:
		f.Says = "no scheduler has handled the pod yet"
		f.ToDo = "If it lasts: check whether the scheduler works that spec.schedulerName names."
	case len(pod.Spec.SchedulingGates) > 0:
		var gates []string
		for _, g := range pod.Spec.SchedulingGates {
			gates = append(gates, g.Name)
		}
		f.Says = "the pod cannot be scheduled while it has scheduling gate " + names(gates)
		f.ToDo = "Find out why the controller that set the gate does not remove it."
	default:
		f.Says = "the pod cannot be scheduled" + because(c.Reason, c.Message)
		f.ToDo = "Free resources for it, or correct its requirements: resources, node selector, affinity, tolerations, volumes."
	}
	return f
}

func gates(pod *corev1.Pod) []Fact {
	var facts []Fact
	for _, g := range pod.Spec.ReadinessGates {
		if c, _ := condition(pod, g.ConditionType); c.Status != corev1.ConditionTrue && len(facts) < most {
			gate := name(string(g.ConditionType))
			facts = append(facts, Fact{
				About: ReadinessGate, Name: gate, Says: "readiness gate " + gate + " is not True" + because(c.Reason, c.Message),
				ToDo: "Check whether the controller that sets this condition works.",
			})
		}
	}
	return facts
}

func condition(pod *corev1.Pod, kind corev1.PodConditionType) (corev1.PodCondition, bool) {
	for _, c := range pod.Status.Conditions {
		if c.Type == kind {
			return c, true
		}
	}
	return corev1.PodCondition{}, false
}

func holds(pod *corev1.Pod, kind corev1.PodConditionType) bool {
	c, _ := condition(pod, kind)
	return c.Status == corev1.ConditionTrue
}
