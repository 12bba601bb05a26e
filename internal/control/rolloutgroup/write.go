package rolloutgroup

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lockstep-dev/lockstep/internal/api/lockstep/v1alpha1"
	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/control/loop"
	"github.com/lockstep-dev/lockstep/internal/plan"
)

const (
	// requestTimeout limits every write.
	requestTimeout = 10 * time.Second
	// pauseFor is the pause after a failed request for an object. pauseForbidden is the pause if
	// the request was forbidden, or if another client owns the object.
	pauseFor, pauseForbidden = 10 * time.Second, 10 * time.Minute
)

// pause is a pause in the requests for an object.
type pause struct {
	uid   types.UID // empty: the object does not exist yet
	until time.Time
}

// rest returns the remaining pause. It does not apply to a recreated object.
func (q pause) rest(uid types.UID, now time.Time) time.Duration {
	if q.uid != uid {
		return 0
	}
	return q.until.Sub(now)
}

// startPause starts a pause after a failed request.
func (c *Controller) startPause(n Name, uid types.UID, err error) loop.Outcome {
	entry := c.Log.WithError(err).WithFields(map[string]any{"namespace": n.Namespace, "rolloutgroup": n.Object})
	rest := pauseFor
	switch {
	case apierrors.IsAlreadyExists(err):
		rest = pauseForbidden
		entry.Info("a group is not shown: an object of its name exists without lockstep's label; its content does not come from lockstep")
	case apierrors.IsForbidden(err):
		rest = pauseForbidden
		entry.Debug("a group is not shown")
	default:
		entry.Debug("a group is not shown")
	}
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	a := c.groupEntry(n)
	a.at, a.pause = now, pause{uid, now.Add(rest)}
	return loop.After(rest)
}

// create creates the object of a group, with an empty status.
func (c *Controller) create(ctx context.Context, n Name, group string) (object, error) {
	ctx, stop := context.WithTimeout(ctx, requestTimeout)
	defer stop()
	made, err := c.Client.Resource(Resource).Namespace(n.Namespace).Create(ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": Resource.GroupVersion().String(), "kind": "RolloutGroup",
		"metadata": map[string]any{"name": n.Object, "labels": map[string]any{contract.ManagedByLabel: contract.ManagedBy}},
		"spec":     map[string]any{"group": group},
	}}, metav1.CreateOptions{})
	if err != nil {
		return object{}, fmt.Errorf("create RolloutGroup %s: %w", n, err)
	}
	return objectOf(made), nil
}

// write replaces the status of the object with this UID.
func (c *Controller) write(ctx context.Context, n Name, uid types.UID, status v1alpha1.RolloutGroupStatus) (plan.Version, error) {
	patch, err := json.Marshal([]map[string]any{
		{"op": "test", "path": "/metadata/uid", "value": uid},
		{"op": "add", "path": "/status", "value": status},
	})
	if err != nil {
		return 0, fmt.Errorf("encode status of RolloutGroup %s: %w", n, err)
	}
	ctx, stop := context.WithTimeout(ctx, requestTimeout)
	defer stop()
	answer, err := c.Client.Resource(Resource).Namespace(n.Namespace).Patch(ctx, n.Object, types.JSONPatchType, patch, metav1.PatchOptions{}, "status")
	if err != nil {
		return 0, fmt.Errorf("write status of RolloutGroup %s: %w", n, err)
	}
	version, _ := plan.ParseVersion(answer.GetResourceVersion())
	return version, nil
}

// remove deletes the object of a group that does not exist any more.
func (c *Controller) remove(ctx context.Context, n Name, o object) loop.Outcome {
	done, taken := c.turns.take(ctx)
	if !taken {
		return loop.Done()
	}
	defer done()
	if !c.Observer.Managed(n.Namespace) {
		return loop.Now() // the state has changed in the meantime
	}
	return c.delete(ctx, n, o)
}

// delete deletes the object with this UID.
func (c *Controller) delete(ctx context.Context, n Name, o object) loop.Outcome {
	ctx, stop := context.WithTimeout(ctx, requestTimeout)
	defer stop()
	err := c.Client.Resource(Resource).Namespace(n.Namespace).Delete(ctx, n.Object, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &o.uid}})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return c.startPause(n, o.uid, fmt.Errorf("delete RolloutGroup %s: %w", n, err))
	}
	return loop.Done()
}
