package e2e_test

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/lockstep-dev/lockstep/integration-tests/images"
)

const (
	group = "store"
	port  = 8080

	missingImage = "lockstep.test/member:missing" // no node has it
)

// option changes one property of a zone.
type option func(*appsv1.StatefulSet)

// zone returns a StatefulSet of members.
func zone(name string, replicas int32, options ...option) *appsv1.StatefulSet {
	labels := map[string]string{"app": group, "name": group + "-zone-" + name, "rollout-group": group}
	s := &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{
			Name: group + "-zone-" + name, Labels: map[string]string{"rollout-group": group}, Annotations: map[string]string{},
		},
		Spec: appsv1.StatefulSetSpec{
			ServiceName:         group,
			Replicas:            &replicas,
			PodManagementPolicy: appsv1.ParallelPodManagement,
			UpdateStrategy:      appsv1.StatefulSetUpdateStrategy{Type: appsv1.OnDeleteStatefulSetStrategyType},
			Selector:            &metav1.LabelSelector{MatchLabels: map[string]string{"name": labels["name"]}},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					TerminationGracePeriodSeconds: new(int64(10)),
					Containers:                    []corev1.Container{member()},
				},
			},
		},
	}
	for _, change := range options {
		change(s)
	}
	return s
}

func member() corev1.Container {
	return corev1.Container{
		Name: "member", Image: images.Member, ImagePullPolicy: corev1.PullIfNotPresent,
		Env:   []corev1.EnvVar{{Name: "REVISION", Value: "1"}},
		Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: port}},
		ReadinessProbe: &corev1.Probe{
			ProbeHandler:  corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/ready", Port: intstr.FromInt32(port)}},
			PeriodSeconds: 1, TimeoutSeconds: 10, // a busy machine is not a broken pod
		},
	}
}

// variable sets a variable of the members.
func variable(name, value string) option {
	return func(s *appsv1.StatefulSet) {
		variables := &s.Spec.Template.Spec.Containers[0].Env
		for i := range *variables {
			if (*variables)[i].Name == name {
				(*variables)[i].Value = value
				return
			}
		}
		*variables = append(*variables, corev1.EnvVar{Name: name, Value: value})
	}
}

// revision changes the template.
func revision(text string) option { return variable("REVISION", text) }

// runs replaces the image, which is never pulled.
func runs(image string) option {
	return func(s *appsv1.StatefulSet) {
		s.Spec.Template.Spec.Containers[0].Image = image
		s.Spec.Template.Spec.Containers[0].ImagePullPolicy = corev1.PullNever
	}
}

// prepared makes lockstep call members before a downscale deletes them.
func prepared(s *appsv1.StatefulSet) {
	s.Labels["grafana.com/prepare-downscale"] = "true"
	s.Annotations["grafana.com/prepare-downscale-http-port"] = "8080"
	s.Annotations["grafana.com/prepare-downscale-http-path"] = "prepare-shutdown"
}
