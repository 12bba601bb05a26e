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
	// again is the annotation by which pods are touched.
	again = "lockstep.test/again"
	// reminding is how long after an interruption kubelets are reminded, and how often.
	reminding, reminder = 40 * time.Second, 4 * time.Second
)

// remindKubelets goes on until ctx ends: after each interruption it touches pods that
// do not serve, for a while. A kubelet tries again what did not get through; the
// simulated one forgets it, and begins anew with a pod only when it hears of it.
func (g *ground) remindKubelets(ctx context.Context) {
	for {
		select {
		case <-g.interrupted:
		case <-ctx.Done():
			return
		}
		for range reminding / reminder {
			if wait(ctx, reminder) {
				g.touchAll(ctx)
			}
		}
	}
}

func (g *ground) touchAll(ctx context.Context) {
	pods, err := g.client.CoreV1().Pods(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		return // away again; whoever does that reminds as well
	}
	for _, p := range pods.Items {
		if !judge.PodOf(&p).Serving() {
			g.touch(ctx, &p)
		}
	}
}

// touch changes nothing of a pod but its version.
func (g *ground) touch(ctx context.Context, p *corev1.Pod) {
	patch := fmt.Appendf(nil, `{"metadata":{"uid":%q,"annotations":{%q:%q}}}`, p.UID, again, time.Now().Format(time.RFC3339Nano))
	_, _ = g.client.CoreV1().Pods(p.Namespace).Patch(ctx, p.Name, types.MergePatchType, patch, metav1.PatchOptions{}) // it may be gone
}
