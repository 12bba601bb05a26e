package cli

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/lockstep-dev/lockstep/internal/cluster/observe"
	"github.com/lockstep-dev/lockstep/internal/plan"
)

// unownedError returns an error about a pod that no StatefulSet controls. It names the group that waits for the pod,
// if there is one, and the possible actions.
func (c *cluster) unownedError(ctx context.Context, seen observer, pod *corev1.Pod) error {
	if _, orphan := observe.OrphanOf(pod); !orphan {
		return fmt.Errorf("pod %s/%s belongs to no StatefulSet, so lockstep has nothing to do with it", c.namespace, pod.Name)
	}
	name, _, _ := plan.ParentOf(pod.Name)
	set, err := seen.LiveSet(ctx, c.namespace, name)
	switch {
	case err == nil && set.Held:
		return fmt.Errorf("pod %s/%s is an orphan: StatefulSet %s of group %s has not adopted it; change the selector of the StatefulSet so that it matches the pod, or evict the pod, which counts as one of that zone",
			c.namespace, pod.Name, name, set.Key.Name)
	case err != nil && !apierrors.IsNotFound(err):
		return withPermissionHint(err)
	}
	claims, err := seen.holds.LiveRemembering(ctx, c.namespace, name)
	if err != nil {
		return withPermissionHint(err)
	}
	if len(claims) == 0 {
		return fmt.Errorf("pod %s/%s is an orphan of a StatefulSet %s that no group remembers, so lockstep has nothing to do with it", c.namespace, pod.Name, name)
	}
	if c := claims[0]; c.Unreadable {
		return fmt.Errorf("pod %s/%s is an orphan of a StatefulSet %s that a group may remember: Lease %s cannot be read; repair its annotations", pod.Namespace, pod.Name, name, c.Lease)
	}
	group := claims[0].Key.Name
	return fmt.Errorf("pod %s/%s is an orphan: StatefulSet %s is not in group %s any more, and the group waits for it; apply the StatefulSet again, or see kubectl lockstep why group/%s",
		c.namespace, pod.Name, name, group, group)
}
