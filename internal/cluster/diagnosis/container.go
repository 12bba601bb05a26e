package diagnosis

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/lockstep-dev/lockstep/internal/plan"
)

// containers returns the containers that keep a pod from being Ready.
func containers(pod *corev1.Pod) []Fact {
	var facts []Fact
	for i, s := range statuses(pod) {
		if f, tells := container(s, i < len(pod.Status.InitContainerStatuses)); tells && len(facts) < most {
			facts = append(facts, f)
		}
	}
	return facts
}

// statuses returns the statuses of init containers, then those of the others.
func statuses(pod *corev1.Pod) []corev1.ContainerStatus {
	return slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses)
}

// passing are the waiting reasons of a container that has not been started yet.
var passing = []string{"", "ContainerCreating", "PodInitializing"}

// container returns the state of a container. It returns false if the container works or its
// turn has not come.
func container(s corev1.ContainerStatus, init bool) (Fact, bool) {
	f := Fact{About: Container, Name: name(s.Name), Says: "container " + name(s.Name)}
	if init {
		f.Says = "init " + f.Says
	}
	switch state, last := s.State, s.LastTerminationState.Terminated; {
	case state.Terminated != nil && init && state.Terminated.ExitCode == 0:
		return f, false
	case state.Terminated != nil:
		f.Says += " " + exit(state.Terminated, s.RestartCount)
		f.ToDo = "Look at its log: kubectl logs."
	case state.Running != nil && (s.Ready || init && s.Started != nil && *s.Started):
		return f, false
	case state.Running != nil:
		f.Says += " runs since " + at(state.Running.StartedAt.Time) + stage(s, init) + before("before that it ", last, s.RestartCount)
		f.ToDo = "Look at its log and at its probes."
	case state.Waiting != nil && (last != nil || !slices.Contains(passing, state.Waiting.Reason)):
		f.Says += " waits" + because(state.Waiting.Reason, state.Waiting.Message) + before("it ", last, s.RestartCount)
		if last != nil {
			f.ToDo = "Look at the log of the container that ended: kubectl logs --previous."
		}
	default:
		return f, false
	}
	return f, true
}

// before returns how the last run of a container ended, or "".
func before(intro string, last *corev1.ContainerStateTerminated, restarts int32) string {
	if last == nil {
		return ""
	}
	return "; " + intro + exit(last, restarts)
}

// stage returns what a running container has not reached yet.
func stage(s corev1.ContainerStatus, init bool) string {
	switch {
	case init:
		return " and has not ended"
	case s.Started != nil && !*s.Started:
		return " and has not passed its startup probe"
	}
	return " and is not ready"
}

// exit returns how a container ended, with the last line of its termination message.
func exit(t *corev1.ContainerStateTerminated, restarts int32) string {
	says := fmt.Sprintf("ended with exit code %d", t.ExitCode)
	if t.Reason != "" {
		says += " (" + plan.Plain(t.Reason, longestReason) + ")"
	}
	if !t.FinishedAt.IsZero() {
		says += " at " + at(t.FinishedAt.Time)
	}
	if restarts > 0 {
		says += fmt.Sprintf(", restart count %d", restarts)
	}
	if line := lastLine(t.Message); line != "" {
		says += ", and its termination message ends with " + quoted(line)
	}
	return says
}
