package apiserver_test

import (
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lockstep-dev/lockstep/integration-tests/localcluster"
)

// The labels and annotations of the contract, as users write them.
const (
	groupLabel               = "rollout-group"
	maxUnavailableAnnotation = "rollout-max-unavailable"
	pausedAnnotation         = "grafana.com/rollout-paused"
	holdLabel                = "lockstep.dev/hold"
	groupAnnotation          = "lockstep.dev/group"
	intentsAnnotation        = "lockstep.dev/intents"
	downscaledAnnotation     = "grafana.com/last-downscale"
)

// defaultGroup is the group of zones without another one.
const defaultGroup = "store"

// gateCondition is the condition of the readiness gate.
const gateCondition corev1.PodConditionType = "example.com/open"

// option changes one property of a zone, at its creation or later.
type option func(*appsv1.StatefulSet)

// zone returns a StatefulSet of the default group at version 1. Its pods are Ready at once, start
// together, and have only a label of their own.
func zone(name string, replicas int32, options ...option) *appsv1.StatefulSet {
	labels := map[string]string{"zone": name}
	s := &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Labels: map[string]string{groupLabel: defaultGroup},
		},
		Spec: appsv1.StatefulSetSpec{
			Replicas:            &replicas,
			PodManagementPolicy: appsv1.ParallelPodManagement,
			UpdateStrategy:      appsv1.StatefulSetUpdateStrategy{Type: appsv1.OnDeleteStatefulSetStrategyType},
			Selector:            &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					NodeName:   localcluster.NodeName(0),
					Containers: []corev1.Container{{Name: "main"}},
				},
			},
		},
	}
	version(1)(s)
	for _, change := range options {
		change(s)
	}
	return s
}

// version sets a revision of the template.
func version(n int) option {
	return func(s *appsv1.StatefulSet) {
		s.Spec.Template.Spec.Containers[0].Image = "example.com/main:" + strconv.Itoa(n)
	}
}

func replicas(n int32) option { return func(s *appsv1.StatefulSet) { s.Spec.Replicas = &n } }

func inGroup(name string) option {
	return func(s *appsv1.StatefulSet) { s.Labels[groupLabel] = name }
}

func maxUnavailable(text string) option {
	return func(s *appsv1.StatefulSet) { set(&s.Annotations, maxUnavailableAnnotation, text) }
}

func paused(yes bool) option {
	return func(s *appsv1.StatefulSet) { set(&s.Annotations, pausedAnnotation, strconv.FormatBool(yes)) }
}

func strategy(kind appsv1.StatefulSetUpdateStrategyType) option {
	return func(s *appsv1.StatefulSet) { s.Spec.UpdateStrategy.Type = kind }
}

func ordinalsFrom(n int32) option {
	return func(s *appsv1.StatefulSet) { s.Spec.Ordinals = &appsv1.StatefulSetOrdinals{Start: n} }
}

func minReady(seconds int32) option {
	return func(s *appsv1.StatefulSet) { s.Spec.MinReadySeconds = seconds }
}

// podLabels replaces the labels of pods and of the selector.
func podLabels(labels map[string]string) option {
	return func(s *appsv1.StatefulSet) {
		s.Spec.Selector.MatchLabels, s.Spec.Template.Labels = labels, labels
	}
}

// serviceAccount makes pods need an account that may not exist.
func serviceAccount(name string) option {
	return func(s *appsv1.StatefulSet) { s.Spec.Template.Spec.ServiceAccountName = name }
}

// sidecar adds a container that runs together with the others.
func sidecar() option {
	return func(s *appsv1.StatefulSet) {
		s.Spec.Template.Spec.InitContainers = []corev1.Container{{
			Name: "side", Image: "example.com/side:1", RestartPolicy: new(corev1.ContainerRestartPolicyAlways),
		}}
	}
}

// gated makes pods Ready only after a test has opened their gate.
func gated() option {
	return func(s *appsv1.StatefulSet) {
		s.Spec.Template.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: gateCondition}}
	}
}

// gateless removes the gate of pods.
func gateless() option {
	return func(s *appsv1.StatefulSet) { s.Spec.Template.Spec.ReadinessGates = nil }
}

// plays sets how the simulated kubelet runs the pods: one of localcluster's values, or nothing for
// pods that become Ready.
func plays(what string) option { return annotated(localcluster.Play, what) }

func readyAfter(d time.Duration) option { return annotated(localcluster.ReadyAfter, d.String()) }

func removedAfter(d time.Duration) option { return annotated(localcluster.GoneAfter, d.String()) }

func annotated(key, value string) option {
	return func(s *appsv1.StatefulSet) { set(&s.Spec.Template.Annotations, key, value) }
}

// set sets a label or an annotation, or removes it if the value is empty.
func set(m *map[string]string, key, value string) {
	if *m == nil {
		*m = map[string]string{}
	}
	(*m)[key] = value
	if value == "" {
		delete(*m, key)
	}
}
