package main

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/lockstep-dev/lockstep/integration-tests/localcluster"
)

// actors are the pods of the zones, and what changes about them.
type actors struct {
	before        corev1.PodTemplateSpec // but the labels
	change        []byte                 // strategic merge patch of the StatefulSet
	need, changes string                 // for people: the time until Ready, and what changes
	setUpPatience time.Duration          // for the first pods to be Ready
	patience      time.Duration          // for the rollout
}

// What simulated pods do.
const (
	imageBefore = "ingester:1.0"
	imageAfter  = "ingester:2.0"
	goneAfter   = "400ms" // a deleted pod is seen leaving
	readyAfter  = "2s"    // a new pod is Ready, and at the latest
	readyWithin = "4s"
)

// simulatedActors play on the simulated node of a local cluster.
func simulatedActors() actors {
	return actors{
		before: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{
				localcluster.GoneAfter:   goneAfter,
				localcluster.ReadyAfter:  readyAfter,
				localcluster.ReadyWithin: readyWithin,
			}},
			Spec: corev1.PodSpec{
				NodeName:   localcluster.NodeName(0),
				Containers: []corev1.Container{{Name: containerOne, Image: imageBefore}},
			},
		},
		change:        changeOf(`"image":"` + imageAfter + `"`),
		need:          readyAfter + " to " + readyWithin,
		changes:       "the image changes to " + imageAfter,
		setUpPatience: time.Minute,
		patience:      patience,
	}
}

const (
	memberPort    = 8080
	memberStart   = "2s"
	realPatience  = 15 * time.Minute
	imagePatience = 5 * time.Minute
)

// realActors are members (integration-tests/member) on nodes that run containers.
func realActors(image string) actors {
	member := corev1.Container{
		Name: containerOne, Image: image, ImagePullPolicy: corev1.PullIfNotPresent,
		Env: []corev1.EnvVar{{Name: "MEMBER_START", Value: memberStart}},
		ReadinessProbe: &corev1.Probe{
			ProbeHandler:  corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/ready", Port: intstr.FromInt32(memberPort)}},
			PeriodSeconds: 1, TimeoutSeconds: 10, // a busy machine is no broken pod
		},
	}
	return actors{
		before: corev1.PodTemplateSpec{
			Spec: corev1.PodSpec{TerminationGracePeriodSeconds: new(int64(10)), Containers: []corev1.Container{member}},
		},
		change:        changeOf(`"env":[{"name":"VERSION","value":"2.0"}]`),
		need:          "somewhat more than " + memberStart,
		changes:       "a variable changes",
		setUpPatience: imagePatience,
		patience:      realPatience,
	}
}

// changeOf changes one field of the container, given as JSON.
func changeOf(field string) []byte {
	return fmt.Appendf(nil, `{"spec":{"template":{"spec":{"containers":[{"name":%q,%s}]}}}}`, containerOne, field)
}
