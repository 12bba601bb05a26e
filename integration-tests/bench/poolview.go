package main

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// poolView is what a watch has shown of the pods of a pool.
type poolView struct {
	pods  map[string]poolPod
	ended map[types.UID]time.Time // when the watch showed that a pod terminates or is gone
	most  int                     // pods at the same time
}

// poolPod is the state of a pod.
type poolPod struct {
	uid                types.UID
	terminating, ready bool
	image, setting     string // image is empty while the containers run another one than the pod names
}

func newPoolView() *poolView {
	return &poolView{pods: map[string]poolPod{}, ended: map[types.UID]time.Time{}}
}

// observe records an event.
func (v *poolView) observe(e podEvent) {
	pod := poolPodOf(e.pod)
	if _, known := v.ended[pod.uid]; !known && (pod.terminating || e.kind == watch.Deleted) {
		v.ended[pod.uid] = e.at
	}
	if e.kind != watch.Deleted {
		v.pods[e.pod.Name] = pod
		v.most = max(v.most, len(v.pods))
	} else if v.pods[e.pod.Name].uid == pod.uid {
		delete(v.pods, e.pod.Name)
	}
}

func poolPodOf(p *corev1.Pod) poolPod {
	container := p.Spec.Containers[0]
	pod := poolPod{uid: p.UID, terminating: p.DeletionTimestamp != nil}
	pod.ready = !pod.terminating && slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
	if len(p.Status.ContainerStatuses) > 0 && p.Status.ContainerStatuses[0].Image == container.Image {
		pod.image = container.Image
	}
	for _, variable := range container.Env {
		if variable.Name == settingName {
			pod.setting = variable.Value
		}
	}
	return pod
}

// isUpdated reports whether the pod is ready and as the template of its pool.
func (p poolPod) isUpdated(of *pool) bool {
	return p.ready && p.image == of.imageName() && p.setting == of.settingValue()
}

// count returns how many pods satisfy a condition.
func (v *poolView) count(is func(poolPod) bool) int {
	count := 0
	for _, pod := range v.pods {
		if is(pod) {
			count++
		}
	}
	return count
}

// down returns how many pods are missing, compared with the most there have been, or do not serve.
func (v *poolView) down() int {
	return v.most - v.count(func(p poolPod) bool { return p.ready && p.image != "" })
}

// ready reports whether the pool has exactly that many pods, and all are ready.
func (v *poolView) ready(replicas int) bool {
	return len(v.pods) == replicas && v.count(func(p poolPod) bool { return p.ready }) == replicas
}

// updated reports whether the pool has exactly that many pods, and all are as its template.
func (v *poolView) updated(p *pool, replicas int) bool {
	return len(v.pods) == replicas && v.count(func(pod poolPod) bool { return pod.isUpdated(p) }) == replicas
}
