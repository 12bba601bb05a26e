package act

import (
	"context"
	"errors"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/plan/pool"
)

// requirement are the resources of a container in a patch.
type requirement struct {
	Requests map[string]string `json:"requests,omitempty"`
	Limits   map[string]string `json:"limits,omitempty"`
}

func requirementOf(r pool.Resources) *requirement {
	of := func(cpu, memory string) map[string]string {
		texts := map[string]string{}
		for name, text := range map[corev1.ResourceName]string{corev1.ResourceCPU: cpu, corev1.ResourceMemory: memory} {
			if text != "" {
				texts[string(name)] = text
			}
		}
		return texts
	}
	return &requirement{Requests: of(r.CPURequest, r.MemoryRequest), Limits: of(r.CPULimit, r.MemoryLimit)}
}

// changedStatus is a change of one condition of a pod.
type changedStatus struct {
	Conditions []condition `json:"conditions"`
}

type condition struct {
	Type   string    `json:"type"`
	Status string    `json:"status"`
	Since  time.Time `json:"lastTransitionTime"`
}

// beginUpdate lets exactly the pod that was evaluated say that its update in place has begun.
func (e *Executor) beginUpdate(ctx context.Context, s *pool.Snapshot, a pool.BeginUpdate) error {
	begun := contract.InPlaceUpdate{Revision: a.Revision, Version: a.Of.Version.String(), Since: e.now(), Begun: true, Before: map[string]contract.Resources{}}
	for name, former := range a.Before {
		begun.Before[name] = contract.Resources(former)
	}
	return e.changePod(ctx, s, a.Of.Pod, "update", change{Metadata: changedMetadata{
		UID: a.Of.UID, ResourceVersion: a.Of.Version.String(), Annotations: with(nil, contract.InPlaceUpdateAnnotation, string(jsonOf(begun))),
	}})
}

// endUpdate takes the mark of an update in place off exactly the pod that was evaluated.
func (e *Executor) endUpdate(ctx context.Context, s *pool.Snapshot, a pool.EndUpdate) error {
	return e.changePod(ctx, s, a.Pod, "end the update of", change{Metadata: changedMetadata{
		UID: a.UID, ResourceVersion: a.Version.String(), Annotations: map[string]*string{contract.InPlaceUpdateAnnotation: nil},
	}})
}

// setGate changes the condition of the readiness gate of a pod. Times of objects have whole seconds, and the grace period begins
// with this one, so it is rounded up.
func (e *Executor) setGate(ctx context.Context, s *pool.Snapshot, a pool.SetGate) error {
	status := corev1.ConditionFalse
	if a.Open {
		status = corev1.ConditionTrue
	}
	return e.changePod(ctx, s, a.Pod, "set the gate of", change{
		Metadata: changedMetadata{UID: a.UID, ResourceVersion: a.Version.String()},
		Status:   &changedStatus{[]condition{{contract.UpdateGate, string(status), e.now().Add(time.Second)}}},
	}, "status")
}

// resizePod changes resources of exactly the pod that was evaluated. If the API server refuses that, or cannot do it, the
// change is impossible in place.
func (e *Executor) resizePod(ctx context.Context, s *pool.Snapshot, a pool.ResizePod) error {
	c := change{Metadata: changedMetadata{UID: a.UID, ResourceVersion: a.Version.String()}, Spec: &changedSpec{}}
	for _, name := range containersOf(s, a.Pod) {
		if resources, changes := a.Resources[name]; changes {
			c.Spec.Containers = append(c.Spec.Containers, changedContainer{Name: name, Resources: requirementOf(resources)})
		}
	}
	err := e.changePod(ctx, s, a.Pod, "resize", c, "resize")
	if apierrors.IsInvalid(err) || isForbiddenForGood(err) || apierrors.IsMethodNotSupported(err) || isUnknownResource(err) {
		e.Checks.Compared(s.Key, a.Revision, a.From, pool.Change{})
	}
	return err
}

// isForbiddenForGood reports whether something forbids a request that does not change by itself, unlike a quota.
func isForbiddenForGood(err error) bool {
	return apierrors.IsForbidden(err) && !strings.Contains(err.Error(), "exceeded quota")
}

// isUnknownResource reports whether the API server does not know the resource of a request, or its subresource.
func isUnknownResource(err error) bool {
	var status apierrors.APIStatus
	return apierrors.IsNotFound(err) && errors.As(err, &status) && (status.Status().Details == nil || status.Status().Details.Name == "")
}

// now returns the time as objects show it.
func (e *Executor) now() time.Time { return e.Clock.Now().UTC().Truncate(time.Second) }
