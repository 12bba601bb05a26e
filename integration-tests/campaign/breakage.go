package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lockstep-dev/lockstep/integration-tests/judge"
)

// podLosesReady lets a pod that serves be not Ready for a while.
func podLosesReady(random *rand.Rand) fault {
	which, long := random.Uint64(), between(random, 5*time.Second, 15*time.Second)
	f := fault{replica: -1, at: between(random, time.Second, 8*time.Second)}
	f.words = fmt.Sprintf("after %s a pod loses Ready for %s", f.at, long)
	f.deed = func(ctx context.Context, t *trial, _ *replica) error {
		var pod *corev1.Pod
		if err := insist(ctx, "let a pod lose Ready", func(ctx context.Context) (err error) {
			if pod, err = t.serving(ctx, which); err != nil {
				return err
			}
			return t.setReady(ctx, pod, corev1.ConditionFalse)
		}); err != nil {
			return err
		}
		t.count("pod lost Ready")
		wait(ctx, long)
		return insist(ctx, "let a pod be Ready again", func(ctx context.Context) error {
			return unlessGone(t.setReady(ctx, pod, corev1.ConditionTrue))
		})
	}
	return f
}

// podDeleted lets a pod that serves be deleted by somebody who asks nobody.
func podDeleted(random *rand.Rand) fault {
	which := random.Uint64()
	f := fault{replica: -1, at: between(random, time.Second, 8*time.Second)}
	f.words = fmt.Sprintf("after %s a pod is deleted by somebody", f.at)
	f.deed = func(ctx context.Context, t *trial, _ *replica) error {
		err := insist(ctx, "delete a pod", func(ctx context.Context) error {
			pod, err := t.serving(ctx, which)
			if err != nil {
				return err
			}
			return t.client.CoreV1().Pods(t.namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &pod.UID}})
		})
		return t.countUnless(err, "pod deleted by somebody")
	}
	return f
}

// serving returns one of the pods that serve.
func (t *trial) serving(ctx context.Context, which uint64) (*corev1.Pod, error) {
	pods, err := t.client.CoreV1().Pods(t.namespace).List(ctx, metav1.ListOptions{LabelSelector: groupLabel})
	if err != nil {
		return nil, err
	}
	for i := range pods.Items {
		p := &pods.Items[(which+uint64(i))%uint64(len(pods.Items))]
		if judge.PodOf(p).Serving() {
			return p, nil
		}
	}
	return nil, errors.New("no pod serves")
}

// setReady says whether a pod's containers are Ready, as its kubelet does. The
// simulated one leaves it at that.
func (t *trial) setReady(ctx context.Context, p *corev1.Pod, status corev1.ConditionStatus) error {
	now := time.Now().UTC().Format(time.RFC3339)
	patch := fmt.Appendf(nil, `{"metadata":{"uid":%q},"status":{"conditions":[`+
		`{"type":"Ready","status":%q,"lastTransitionTime":%q},{"type":"ContainersReady","status":%q,"lastTransitionTime":%q}]}}`,
		p.UID, status, now, status, now)
	_, err := t.client.CoreV1().Pods(t.namespace).Patch(ctx, p.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	if apierrors.IsInvalid(err) || apierrors.IsConflict(err) {
		return apierrors.NewNotFound(corev1.Resource("pods"), p.Name) // another one has its name
	}
	return err
}
