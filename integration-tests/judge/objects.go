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

// These are the labels and annotations of docs/contract.md.
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
	minBetweenDownscalesName = "grafana.com/min-time-between-zones-downscale"
	lastDownscaleAnnotation  = "grafana.com/last-downscale"
)

// PodOf converts a pod.
func PodOf(p *corev1.Pod) *Pod {
	state := &Pod{
		Name: p.Name, UID: string(p.UID), Labels: p.Labels, Revision: p.Labels[appsv1.ControllerRevisionHashLabelKey],
		Terminating: p.DeletionTimestamp != nil, Update: p.Annotations[updateAnnotation],
	}
	state.Ready, state.ReadySince = readiness(p)
	state.TerminatedAt = terminatedAt(p)
	for i := range p.Spec.Containers {
		state.Images += p.Spec.Containers[i].Image + " "
	}
	for i := range p.Status.ContainerStatuses {
		state.Containers += p.Status.ContainerStatuses[i].ContainerID + " "
	}
	for i := range p.Spec.Volumes {
		if c := p.Spec.Volumes[i].PersistentVolumeClaim; c != nil {
			state.Claims = append(state.Claims, c.ClaimName)
		}
	}
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

// terminatedAt returns the second in which the API server began to terminate a pod. It stores when the grace period ends,
// also if a later deletion makes that period shorter.
func terminatedAt(p *corev1.Pod) time.Time {
	if p.DeletionTimestamp == nil || p.DeletionGracePeriodSeconds == nil {
		return time.Time{}
	}
	return p.DeletionTimestamp.Add(-time.Duration(*p.DeletionGracePeriodSeconds) * time.Second)
}

// ZoneOf converts a StatefulSet.
func ZoneOf(s *appsv1.StatefulSet) *Zone {
	group, grouped := groupOf(s)
	state := &Zone{
		Name: s.Name, UID: string(s.UID), Group: group, Grouped: grouped,
		Replicas: replicasOf(s), MaxUnavailable: maxUnavailableOf(s),
		MinReady:             time.Duration(s.Spec.MinReadySeconds) * time.Second,
		MinBetweenDownscales: minBetweenDownscalesOf(s),
		Paused:               s.Annotations[pausedAnnotation] == "true",
		OnDelete:             s.Spec.UpdateStrategy.Type == appsv1.OnDeleteStatefulSetStrategyType,
		Revision:             s.Status.UpdateRevision,
	}
	if until, err := time.Parse(time.RFC3339, s.Annotations[pausedUntilAnnotation]); err == nil && state.Paused {
		state.PausedUntil = until.UTC()
	}
	if at, err := time.Parse(time.RFC3339, s.Annotations[lastDownscaleAnnotation]); err == nil {
		state.LastDownscale = at.UTC()
	}
	if selector, err := metav1.LabelSelectorAsSelector(s.Spec.Selector); err == nil {
		state.Selector = selector.String()
	}
	if s.Spec.Ordinals != nil {
		state.Start = int(s.Spec.Ordinals.Start)
	}
	return state
}

// groupOf returns the group of a StatefulSet as docs/contract.md defines it.
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
		return 1 // the default of Kubernetes
	}
	return int(*s.Spec.Replicas)
}

// maxUnavailableOf parses rollout-max-unavailable as docs/contract.md defines it.
func maxUnavailableOf(s *appsv1.StatefulSet) int {
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

// minBetweenDownscalesOf parses the minimum time between downscales as docs/contract.md defines it.
func minBetweenDownscalesOf(s *appsv1.StatefulSet) time.Duration {
	text, annotated := s.Annotations[minBetweenDownscalesName]
	if !annotated {
		text = s.Labels[minBetweenDownscalesName]
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0
	}
	return d
}

// HoldOf converts the Lease of a group. It returns nil for any other Lease.
func HoldOf(l *coordinationv1.Lease) *Hold {
	if l.Labels[holdLabel] != "group" {
		return nil
	}
	state := &Hold{Group: l.Annotations[groupAnnotation]}
	state.Intents, state.Downscale = intentsOf(l)
	if l.Spec.HolderIdentity != nil {
		state.Holder = *l.Spec.HolderIdentity
	}
	return state
}

// intentsOf returns the pod intents and the downscale intent of a Lease.
func intentsOf(l *coordinationv1.Lease) (pods []PodIntent, downscale DownscaleIntent) {
	text := l.Annotations[intentsAnnotation]
	if text == "" {
		return nil, DownscaleIntent{}
	}
	var record struct {
		Pods     []struct{ Pod, UID, ResourceVersion string }
		Decrease struct {
			Zone, UID, ResourceVersion string
			To                         int
		}
	}
	if err := json.Unmarshal([]byte(text), &record); err != nil {
		return []PodIntent{{Pod: "unreadable: " + text}}, DownscaleIntent{}
	}
	for _, p := range record.Pods {
		pods = append(pods, PodIntent{Pod: p.Pod, UID: p.UID, Version: parseVersion(p.ResourceVersion)})
	}
	d := record.Decrease
	return pods, DownscaleIntent{Zone: d.Zone, UID: d.UID, Version: parseVersion(d.ResourceVersion), To: d.To}
}

// Version returns the resourceVersion of an object as a number, and 0 if it is not a number.
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

// ordinalOf splits a pod's name into the name of its StatefulSet and its ordinal.
func ordinalOf(pod string) (zone string, ordinal int, ok bool) {
	dash := strings.LastIndex(pod, "-")
	n, err := strconv.Atoi(pod[dash+1:])
	return pod[:max(dash, 0)], n, err == nil
}

func last[T any](all []T) T { return all[len(all)-1] }
