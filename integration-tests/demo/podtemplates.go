package main

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/lockstep-dev/lockstep/integration-tests/localcluster"
)

// podTemplates are the pods of the zones, and how the demo changes them.
type podTemplates struct {
	template           corev1.PodTemplateSpec // without labels
	change             []byte                 // strategic merge patch of the StatefulSet
	readyTime, changes string                 // for people: the time until a pod is ready, and what changes
	setUpTimeout       time.Duration          // for the first pods to become ready
	rolloutTimeout     time.Duration          // for the rollout
}

// These are the settings of simulated pods.
const (
	imageBefore      = "ingester:1.0"
	imageAfter       = "ingester:2.0"
	terminationDelay = "400ms" // so that a terminating pod is visible
	readyAfter       = "2s"    // the minimum and the maximum time until a new pod is ready
	readyWithin      = "4s"
)

// simulatedPods returns pods for the simulated node of a local cluster.
func simulatedPods() podTemplates {
	return podTemplates{
		template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{
				localcluster.GoneAfter:   terminationDelay,
				localcluster.ReadyAfter:  readyAfter,
				localcluster.ReadyWithin: readyWithin,
			}},
			Spec: corev1.PodSpec{
				NodeName:   localcluster.NodeName(0),
				Containers: []corev1.Container{{Name: containerOne, Image: imageBefore}},
			},
		},
		change:         changeOf(`"image":"` + imageAfter + `"`),
		readyTime:      readyAfter + " to " + readyWithin,
		changes:        "the image changes to " + imageAfter,
		setUpTimeout:   time.Minute,
		rolloutTimeout: rolloutTimeout,
	}
}

const (
	memberPort         = 8080
	memberStart        = "2s"
	realRolloutTimeout = 15 * time.Minute
	imageTimeout       = 5 * time.Minute
)

// realPods returns members (integration-tests/member) for nodes that run containers.
func realPods(image string) podTemplates {
	member := corev1.Container{
		Name: containerOne, Image: image, ImagePullPolicy: corev1.PullIfNotPresent,
		Env: []corev1.EnvVar{{Name: "MEMBER_START", Value: memberStart}},
		ReadinessProbe: &corev1.Probe{
			ProbeHandler:  corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/ready", Port: intstr.FromInt32(memberPort)}},
			PeriodSeconds: 1, TimeoutSeconds: 10, // a busy machine must not fail the probe
		},
	}
	return podTemplates{
		template: corev1.PodTemplateSpec{
			Spec: corev1.PodSpec{TerminationGracePeriodSeconds: new(int64(10)), Containers: []corev1.Container{member}},
		},
		change:         changeOf(`"env":[{"name":"VERSION","value":"2.0"}]`),
		readyTime:      "somewhat more than " + memberStart,
		changes:        "a variable changes",
		setUpTimeout:   imageTimeout,
		rolloutTimeout: realRolloutTimeout,
	}
}

// changeOf returns a patch of one field of the container, which is given as JSON.
func changeOf(field string) []byte {
	return fmt.Appendf(nil, `{"spec":{"template":{"spec":{"containers":[{"name":%q,%s}]}}}}`, containerOne, field)
}
