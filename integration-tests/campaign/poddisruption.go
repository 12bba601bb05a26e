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

// podUnready makes a ready pod not ready for a while.
func podUnready(random *rand.Rand) fault {
	return podUnreadyOf(random, ofGroups, "a pod", "pod lost Ready")
}

// ofGroups selects the pods of groups.
var ofGroups = metav1.ListOptions{LabelSelector: groupLabel}

// podUnreadyOf is podUnready for selected pods, counted as a kind.
func podUnreadyOf(random *rand.Rand, of metav1.ListOptions, what, kind string) fault {
	which, duration := random.Uint64(), between(random, 5*time.Second, 15*time.Second)
	f := fault{replica: -1, at: between(random, time.Second, 8*time.Second)}
	f.description = fmt.Sprintf("after %s %s loses Ready for %s", f.at, what, duration)
	f.run = func(ctx context.Context, t *trial, _ *replica) error {
		var pod *corev1.Pod
		if err := retry(ctx, "let a pod lose Ready", func(ctx context.Context) (err error) {
			if pod, err = t.readyPod(ctx, of, which); err != nil {
				return err
			}
			return t.setReady(ctx, pod, corev1.ConditionFalse)
		}); err != nil {
			return err
		}
		t.count(kind)
		wait(ctx, duration)
		return retry(ctx, "let a pod be Ready again", func(ctx context.Context) error {
			return ignoreMissing(t.setReady(ctx, pod, corev1.ConditionTrue))
		})
	}
	return f
}

// podDeleted deletes a ready pod without any check.
func podDeleted(random *rand.Rand) fault {
	return podDeletedOf(random, ofGroups, "a pod", "pod deleted by another client")
}

// podDeletedOf is podDeleted for selected pods, counted as a kind.
func podDeletedOf(random *rand.Rand, of metav1.ListOptions, what, kind string) fault {
	which := random.Uint64()
	f := fault{replica: -1, at: between(random, time.Second, 8*time.Second)}
	f.description = fmt.Sprintf("after %s another client deletes %s", f.at, what)
	f.run = func(ctx context.Context, t *trial, _ *replica) error {
		return t.deletePod(ctx, of, which, kind)
	}
	return f
}

// deletePod deletes one of the selected pods that are ready, and counts it as a kind of fault.
func (t *trial) deletePod(ctx context.Context, of metav1.ListOptions, which uint64, kind string) error {
	err := retry(ctx, "delete a pod", func(ctx context.Context) error {
		pod, err := t.readyPod(ctx, of, which)
		if err != nil {
			return err
		}
		return t.client.CoreV1().Pods(t.namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &pod.UID}})
	})
	return t.countUnless(err, kind)
}

// readyPod returns one of the selected pods that are ready.
func (t *trial) readyPod(ctx context.Context, of metav1.ListOptions, which uint64) (*corev1.Pod, error) {
	pods, err := t.client.CoreV1().Pods(t.namespace).List(ctx, of)
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

// setReady sets the Ready condition of a pod as its kubelet does. The simulated kubelet does not
// change it back.
func (t *trial) setReady(ctx context.Context, p *corev1.Pod, status corev1.ConditionStatus) error {
	now := time.Now().UTC().Format(time.RFC3339)
	patch := fmt.Appendf(nil, `{"metadata":{"uid":%q},"status":{"conditions":[`+
		`{"type":"Ready","status":%q,"lastTransitionTime":%q},{"type":"ContainersReady","status":%q,"lastTransitionTime":%q}]}}`,
		p.UID, status, now, status, now)
	_, err := t.client.CoreV1().Pods(t.namespace).Patch(ctx, p.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	if apierrors.IsInvalid(err) || apierrors.IsConflict(err) {
		return apierrors.NewNotFound(corev1.Resource("pods"), p.Name) // the name belongs to another pod
	}
	return err
}
