package act

import (
	"context"
	"fmt"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// References knows the resources from which zones take their replicas.
type References interface {
	// Resource returns the resource that currently serves the kind of a reference.
	Resource(r group.Reference) (schema.GroupVersionResource, bool)
	// Reported receives the report that was written into the status of a resource, or that was rejected.
	Reported(namespace string, report group.ReportReplicas, written group.Report)
}

// methodsOfGroups are the methods for the actions that only rollout groups have.
var methodsOfGroups = []method{
	sends("adopt revision", (*Executor).adoptRevision),
	sends("cancel downscale", (*Executor).cancelDownscale),
	sends("stamp downscale", (*Executor).stampDownscale),
	sends("set replicas", (*Executor).setReplicas),
	sends("report replicas", (*Executor).reportReplicas),
	delegates((*Executor).rememberDownscale),
	delegates((*Executor).preparePods),
	delegates((*Executor).cancelPreparation),
	delegates((*Executor).notifyPods),
}

// delegates returns the method that passes on an action of a rollout group of type A. It cannot fail.
func delegates[A plan.Action](pass func(*Executor, *group.Snapshot, A)) method {
	return method{of: reflect.TypeFor[A](), do: func(e *Executor, _ context.Context, w plan.Workload, step plan.Action) error {
		pass(e, w.(*group.Snapshot), step.(A)) //nolint:errcheck // only plans of groups have the action, and it is found by this type
		return nil
	}}
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
	return e.patchZone(ctx, "cancel downscale", key, d.Zone, touch)
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
