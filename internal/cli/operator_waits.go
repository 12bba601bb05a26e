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
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

var rolloutGroups = schema.GroupVersionResource{Group: "lockstep.dev", Version: "v1alpha1", Resource: "rolloutgroups"}

// knownToOperatorOnly are the reasons that only the operator knows: from its requests and writes, its permissions
// and its caches.
var knownToOperatorOnly = []reason.Code{
	reason.RequestFailing, reason.RequestForbidden, reason.CacheStale, reason.InvariantViolated, reason.ReferenceForbidden,
	reason.PodNotNotified, reason.ReportFailed, reason.ReportContested, reason.ReplicasContested,
}

// unreadableForUser are failures to read a resource that may affect only the user of this command.
var unreadableForUser = []reason.Code{reason.ReferenceForbidden, reason.ReferenceNotRead}

// steps returns the plan for a snapshot. If the group's RolloutGroup contains waits that only the
// operator can know, they replace the planner's waits.
func (c *cluster) steps(ctx context.Context, s group.Snapshot) []plan.Action {
	operatorWaits := c.operatorWaits(ctx, s)
	steps := slices.DeleteFunc(stepsFor(s), func(step plan.Action) bool {
		w, waits := step.(plan.Wait)
		_, known := operatorWaits[w.Zone]
		return waits && known
	})
	for _, z := range s.Zones {
		if because, known := operatorWaits[z.Name]; known && !because.None() {
			steps = append(steps, plan.Wait{Zone: z.Name, Because: because})
		}
	}
	return steps
}

// operatorWaits returns, by zone, the waits that only the operator can know. A wait without reason means
// that the zone does not wait.
func (c *cluster) operatorWaits(ctx context.Context, s group.Snapshot) map[string]plan.Refusal {
	object, err := c.dynamic.Resource(rolloutGroups).Namespace(s.Key.Namespace).Get(ctx, hold.StatusName(s.Key.Name), metav1.GetOptions{})
	if err != nil {
		return nil // the kind and the permission to read it are optional
	}
	var shown v1alpha1.RolloutGroup
	if runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &shown) != nil || shown.Spec.Group != s.Key.Name {
		return nil
	}
	operatorWaits := map[string]plan.Refusal{}
	for _, z := range shown.Status.Zones {
		seen, exists := s.Zone(z.Name)
		code := reason.Code(z.Reason)
		hidden := slices.Contains(unreadableForUser, seen.Mirror.Scale.Trouble.Code)
		if exists && seen.Generation == z.ObservedGeneration && (hidden || slices.Contains(knownToOperatorOnly, code)) {
			operatorWaits[z.Name] = waitIn(shown.Status, z)
		}
	}
	return operatorWaits
}

// waitIn returns the wait of a zone from a RolloutGroup.
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
