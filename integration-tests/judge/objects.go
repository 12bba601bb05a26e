package judge

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
)

// The words of the contract, as docs/contract.md has them.
const (
	groupLabel               = "rollout-group"
	groupNameAnnotation      = "lockstep.dev/rollout-group"
	ignoreAnnotation         = "lockstep.dev/ignore"
	maxUnavailableAnnotation = "rollout-max-unavailable"
	pausedAnnotation         = "grafana.com/rollout-paused"
	pausedUntilAnnotation    = "lockstep.dev/paused-until"
	holdLabel                = "lockstep.dev/hold"
	groupAnnotation          = "lockstep.dev/group"
	intentsAnnotation        = "lockstep.dev/intents"
	minBetweenName           = "grafana.com/min-time-between-zones-downscale"
)

// PodOf reads a pod.
func PodOf(p *corev1.Pod) *Pod {
	state := &Pod{
		Name: p.Name, UID: string(p.UID), Revision: p.Labels[appsv1.ControllerRevisionHashLabelKey],
		Leaving: p.DeletionTimestamp != nil,
	}
	state.Ready, state.ReadySince = readiness(p)
	if owner := metav1.GetControllerOf(p); owner != nil {
		state.Owner = string(owner.UID)
	}
	return state
}

func readiness(p *corev1.Pod) (bool, time.Time) {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
			return true, c.LastTransitionTime.Time
		}
	}
	return false, time.Time{}
}

// ZoneOf reads a StatefulSet.
func ZoneOf(s *appsv1.StatefulSet) *Zone {
	group, grouped := groupOf(s)
	state := &Zone{
		Name: s.Name, UID: string(s.UID), Group: group, Grouped: grouped,
		Replicas: replicasOf(s), Budget: budgetOf(s),
		MinReady: time.Duration(s.Spec.MinReadySeconds) * time.Second,
		Apart:    apartOf(s),
		Paused:   s.Annotations[pausedAnnotation] == "true",
		OnDelete: s.Spec.UpdateStrategy.Type == appsv1.OnDeleteStatefulSetStrategyType,
		Revision: s.Status.UpdateRevision,
	}
	if until, err := time.Parse(time.RFC3339, s.Annotations[pausedUntilAnnotation]); err == nil && state.Paused {
		state.Until = until.UTC()
	}
	if s.Spec.Ordinals != nil {
		state.Start = int(s.Spec.Ordinals.Start)
	}
	return state
}

// groupOf reads to which group a StatefulSet belongs, as it is documented.
func groupOf(s *appsv1.StatefulSet) (name string, grouped bool) {
	if s.Annotations[ignoreAnnotation] == "true" {
		return "", false
	}
	if name := s.Annotations[groupNameAnnotation]; name != "" && len(validation.IsValidLabelValue(name)) == 0 {
		return name, true
	}
	name, grouped = s.Labels[groupLabel]
	return name, grouped
}

func replicasOf(s *appsv1.StatefulSet) int {
	if s.Spec.Replicas == nil {
		return 1 // as Kubernetes has it
	}
	return int(*s.Spec.Replicas)
}

// budgetOf reads rollout-max-unavailable as it is documented.
func budgetOf(s *appsv1.StatefulSet) int {
	text := strings.TrimSpace(s.Annotations[maxUnavailableAnnotation])
	digits, isPercentage := strings.CutSuffix(text, "%")
	n, err := strconv.Atoi(digits)
	switch {
	case err != nil || n < 1 || (isPercentage && n > 100):
		return 1
	case isPercentage:
		return max(1, n*replicasOf(s)/100)
	}
	return n
}

// apartOf reads the minimum time between downscales as it is documented.
func apartOf(s *appsv1.StatefulSet) time.Duration {
	text, annotated := s.Annotations[minBetweenName]
	if !annotated {
		text = s.Labels[minBetweenName]
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0
	}
	return d
}

// HoldOf reads the Lease of a group, and returns nil for any other Lease.
func HoldOf(l *coordinationv1.Lease) *Hold {
	if l.Labels[holdLabel] != "group" {
		return nil
	}
	state := &Hold{Group: l.Annotations[groupAnnotation]}
	state.Notes, state.Shrinks = notesOf(l)
	if l.Spec.HolderIdentity != nil {
		state.Holder = *l.Spec.HolderIdentity
	}
	return state
}

// notesOf returns the pods that a Lease notes, and the decrease that it notes.
func notesOf(l *coordinationv1.Lease) (notes []Note, shrinks Shrink) {
	text := l.Annotations[intentsAnnotation]
	if text == "" {
		return nil, Shrink{}
	}
	var noted struct {
		Pods     []struct{ Pod, UID, ResourceVersion string }
		Decrease struct {
			Zone, UID, ResourceVersion string
			To                         int
		}
	}
	if err := json.Unmarshal([]byte(text), &noted); err != nil {
		return []Note{{Pod: "unreadable: " + text}}, Shrink{}
	}
	for _, n := range noted.Pods {
		notes = append(notes, Note{Pod: n.Pod, UID: n.UID, Version: parseVersion(n.ResourceVersion)})
	}
	d := noted.Decrease
	return notes, Shrink{Zone: d.Zone, UID: d.UID, Version: parseVersion(d.ResourceVersion), To: d.To}
}

// Version returns an object's resourceVersion as a number, and 0 for what is none.
func Version(object runtime.Object) uint64 {
	m, err := meta.Accessor(object)
	if err != nil {
		return 0
	}
	return parseVersion(m.GetResourceVersion())
}

func parseVersion(text string) uint64 {
	version, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0
	}
	return version
}

func podName(zone string, ordinal int) string { return zone + "-" + strconv.Itoa(ordinal) }

// ordinalOf splits a pod's name into that of its StatefulSet and its ordinal.
func ordinalOf(pod string) (zone string, ordinal int, ok bool) {
	dash := strings.LastIndex(pod, "-")
	n, err := strconv.Atoi(pod[dash+1:])
	return pod[:max(dash, 0)], n, err == nil
}

func last[T any](all []T) T { return all[len(all)-1] }
