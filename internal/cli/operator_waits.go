package cli

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/lockstep-dev/lockstep/internal/api/lockstep/v1alpha1"
	"github.com/lockstep-dev/lockstep/internal/lock/hold"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

var rolloutGroups = schema.GroupVersionResource{Group: "lockstep.dev", Version: "v1alpha1", Resource: "rolloutgroups"}

// itsOwn is what only the operator knows: what becomes of its requests and of what it
// writes, what it may read, and what its caches show.
var itsOwn = []reason.Code{
	reason.RequestFailing, reason.RequestForbidden, reason.CacheStale, reason.InvariantViolated, reason.ReferenceForbidden,
	reason.PodNotNotified, reason.ReportFailed, reason.ReportContested, reason.ReplicasContested,
}

// notOurs are what keeps whoever looks from seeing a resource, and perhaps nobody else.
var notOurs = []reason.Code{reason.ReferenceForbidden, reason.ReferenceNotRead}

// steps returns what the planner makes of a snapshot, with what the group's
// RolloutGroup says the operator waits for where nobody else can know that.
func (c *cluster) steps(ctx context.Context, s plan.Snapshot) []plan.Action {
	heard := c.heard(ctx, s)
	steps := slices.DeleteFunc(stepsFor(s), func(step plan.Action) bool {
		w, waits := step.(plan.Wait)
		_, known := heard[w.Zone]
		return waits && known
	})
	for _, z := range s.Zones {
		if because, known := heard[z.Name]; known && !because.None() {
			steps = append(steps, plan.Wait{Zone: z.Name, Because: because})
		}
	}
	return steps
}

// heard returns by zone what the operator waits for, where it knows better: none where
// it waits for nothing.
func (c *cluster) heard(ctx context.Context, s plan.Snapshot) map[string]plan.Refusal {
	object, err := c.dynamic.Resource(rolloutGroups).Namespace(s.Key.Namespace).Get(ctx, hold.StatusName(s.Key.Name), metav1.GetOptions{})
	if err != nil {
		return nil // the kind is optional, and so is the right to read it
	}
	var shown v1alpha1.RolloutGroup
	if runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &shown) != nil || shown.Spec.Group != s.Key.Name {
		return nil
	}
	heard := map[string]plan.Refusal{}
	for _, z := range shown.Status.Zones {
		seen, exists := s.Zone(z.Name)
		code := reason.Code(z.Reason)
		hidden := slices.Contains(notOurs, seen.Mirror.Scale.Trouble.Code)
		if exists && seen.Generation == z.ObservedGeneration && (hidden || slices.Contains(itsOwn, code)) {
			heard[z.Name] = waitIn(shown.Status, z)
		}
	}
	return heard
}

// waitIn returns what a zone waits for, as the object says it.
func waitIn(status v1alpha1.RolloutGroupStatus, z v1alpha1.RolloutGroupZone) plan.Refusal {
	if _, known := reason.Explain(reason.Code(z.Reason)); !known {
		return plan.Refusal{}
	}
	because := plan.Refusal{Code: reason.Code(z.Reason), Detail: "as the RolloutGroup says"}
	if w := status.Waiting; w != nil && w.Zone == z.Name && w.Reason == z.Reason {
		because.Pod = w.Pod
		if w.Until != nil {
			because.Until = w.Until.Time
		}
	}
	return because
}
