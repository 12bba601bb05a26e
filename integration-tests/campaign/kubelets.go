package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lockstep-dev/lockstep/integration-tests/judge"
)

const (
	// touchAnnotation is the annotation that changes the version of a pod.
	touchAnnotation = "lockstep.test/again"
	// touchDuration is how long after an interruption pods are touched, and touchInterval is the interval.
	touchDuration, touchInterval = 40 * time.Second, 4 * time.Second
)

// touchUnreadyPods touches pods that are not ready for a while after each interruption, until ctx
// ends. A real kubelet retries failed requests. The simulated kubelet does not, and continues with a
// pod only after an event.
func (e *environment) touchUnreadyPods(ctx context.Context) {
	for {
		select {
		case <-e.interrupted:
		case <-ctx.Done():
			return
		}
		for range touchDuration / touchInterval {
			if wait(ctx, touchInterval) {
				e.touchAll(ctx)
			}
		}
	}
}

func (e *environment) touchAll(ctx context.Context) {
	pods, err := e.client.CoreV1().Pods(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		return // the API server is away again, and another interruption follows
	}
	for _, p := range pods.Items {
		if !judge.PodOf(&p).Serving() {
			e.touch(ctx, &p)
		}
	}
}

// touch only changes the version of a pod.
func (e *environment) touch(ctx context.Context, p *corev1.Pod) {
	patch := fmt.Appendf(nil, `{"metadata":{"uid":%q,"annotations":{%q:%q}}}`, p.UID, touchAnnotation, time.Now().Format(time.RFC3339Nano))
	_, _ = e.client.CoreV1().Pods(p.Namespace).Patch(ctx, p.Name, types.MergePatchType, patch, metav1.PatchOptions{}) // the pod may be deleted
}
