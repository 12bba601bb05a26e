package act

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// deletePod deletes exactly the pod that was evaluated: another UID or another resourceVersion is a conflict.
// If the pod was deleted or has changed, the error is of class Moved. The pod's own grace period applies.
func (e *Executor) deletePod(ctx context.Context, key plan.Key, d plan.DeletePod) error {
	uid, version := types.UID(d.UID), d.Version.String()
	err := e.Client.CoreV1().Pods(key.Namespace).Delete(ctx, d.Pod, metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{UID: &uid, ResourceVersion: &version},
	})
	if err != nil {
		return fmt.Errorf("delete pod %s/%s: %w", key.Namespace, d.Pod, classify(err))
	}
	e.Fresh.PodMoved(key, d.Pod, d.Version)
	return nil
}

// cancelDeletion changes an annotation of the pod at its recorded version, so that a delete that requires that
// version fails. A conflict means that such a delete already fails.
func (e *Executor) cancelDeletion(ctx context.Context, key plan.Key, w plan.CancelDeletion) error {
	i := w.Intent
	touch := requiring(i.UID, i.Version)
	touch.Metadata.Annotations = map[string]string{contract.WithdrawnAnnotation: contract.FormatWithdrawn(i.Version, touchMark())}
	_, err := e.Client.CoreV1().Pods(key.Namespace).Patch(ctx, i.Pod, types.MergePatchType, touch.json(), metav1.PatchOptions{})
	if err != nil {
		return fmt.Errorf("cancel deletion of pod %s/%s: %w", key.Namespace, i.Pod, classify(err))
	}
	e.Fresh.PodMoved(key, i.Pod, i.Version)
	return nil
}

// classify returns an API error with its class: a conflict or a missing object is of class Moved. All other errors
// are tried again with back-off.
func classify(err error) error {
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return reason.WithClass(reason.Moved, err)
	}
	return err
}
