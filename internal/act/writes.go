package act

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
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
	touch.Metadata.Annotations = map[string]string{contract.WithdrawnAnnotation: touchMark()}
	_, err := e.Client.CoreV1().Pods(key.Namespace).Patch(ctx, i.Pod, types.MergePatchType, touch.json(), metav1.PatchOptions{})
	if err != nil {
		return fmt.Errorf("withdraw delete of pod %s/%s: %w", key.Namespace, i.Pod, classify(err))
	}
	e.Fresh.PodMoved(key, i.Pod, i.Version)
	return nil
}

// adoptRevision writes the update revision into status.currentRevision.
func (e *Executor) adoptRevision(ctx context.Context, key plan.Key, a group.AdoptRevision) error {
	adoption := requiring(a.UID, a.Version)
	adoption.Status = map[string]any{"currentRevision": a.Revision}
	return e.patchZone(ctx, "adopt revision", key, a.Zone, adoption, "status")
}

// cancelDownscale changes an annotation of the StatefulSet at its evaluated version, so that an update in
// flight fails or is evaluated again. A conflict means that such an update already fails.
func (e *Executor) cancelDownscale(ctx context.Context, key plan.Key, a group.CancelDownscale) error {
	d := a.Downscale
	touch := requiring(d.UID, d.Version)
	touch.Metadata.Annotations = map[string]string{contract.VoidedAnnotation: touchMark()}
	return e.patchZone(ctx, "void downscale", key, d.Zone, touch)
}

// stampDownscale writes the time at which a zone was scaled down.
func (e *Executor) stampDownscale(ctx context.Context, key plan.Key, a group.StampDownscale) error {
	stamp := requiring(a.UID, a.Version)
	stamp.Metadata.Annotations = map[string]string{contract.DownscaledAnnotation: contract.FormatDownscaled(a.Time)}
	return e.patchZone(ctx, "stamp downscale", key, a.Zone, stamp)
}

// setReplicas changes spec.replicas of a zone at its evaluated version.
func (e *Executor) setReplicas(ctx context.Context, key plan.Key, a group.SetReplicas) error {
	change := requiring(a.UID, a.Version)
	change.Spec = map[string]int{"replicas": a.To}
	return e.patchZone(ctx, "set replicas", key, a.Zone, change)
}

func (e *Executor) patchZone(ctx context.Context, what string, key plan.Key, zone string, p patch, subresources ...string) error {
	set, err := e.Client.AppsV1().StatefulSets(key.Namespace).Patch(ctx, zone, types.MergePatchType, p.json(), metav1.PatchOptions{}, subresources...)
	if err != nil {
		return fmt.Errorf("%s of StatefulSet %s/%s: %w", what, key.Namespace, zone, classify(err))
	}
	if version, ok := plan.ParseVersion(set.ResourceVersion); ok {
		e.Fresh.ZoneWritten(key, zone, version)
	}
	return nil
}

// reportReplicas writes the replicas of the zones that follow a resource into the status of that resource, if
// the resource has not changed since it was evaluated.
func (e *Executor) reportReplicas(ctx context.Context, key plan.Key, a group.ReportReplicas) error {
	resource, known := e.References.Resource(a.Reference)
	if !known {
		return reason.WithClass(reason.Moved, fmt.Errorf("report replicas to %s: its kind is known no more", a.Reference))
	}
	report := patch{Metadata: metadata{UID: a.UID, ResourceVersion: a.Version}, Status: map[string]any{"replicas": a.To}}
	_, err := e.Metadata.Resource(resource).Namespace(key.Namespace).
		Patch(ctx, a.Reference.Name, types.MergePatchType, report.json(), metav1.PatchOptions{}, "status")
	if err != nil {
		err = fmt.Errorf("report replicas to %s in %s: %w", a.Reference, key.Namespace, classify(err))
	}
	if reason.ClassOf(err) != reason.Moved { // after a conflict it is evaluated again at once
		e.References.Reported(key.Namespace, a, group.Report{Replicas: a.To, At: e.Clock.Now(), Failed: err != nil})
	}
	return err
}

// classify returns an API error with its class: a conflict or a missing object is of class Moved. All other errors
// are tried again with back-off.
func classify(err error) error {
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return reason.WithClass(reason.Moved, err)
	}
	return err
}
