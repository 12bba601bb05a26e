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
	// requestTimeout bounds every write.
	requestTimeout = 10 * time.Second
	// quietFor is for how long nothing is asked of the API server for an object that
	// it did not agree to, quietForbidden where it forbade it, or has one of somebody else.
	quietFor, quietForbidden = 10 * time.Second, 10 * time.Minute
)

// quiet says until when an object is let be.
type quiet struct {
	uid   types.UID // empty: of one that does not exist yet
	until time.Time
}

// rest returns for how long an object is let be; another one of that name is not.
func (q quiet) rest(uid types.UID, now time.Time) time.Duration {
	if q.uid != uid {
		return 0
	}
	return q.until.Sub(now)
}

// hush lets an object be for a while after a request in vain.
func (c *Controller) hush(n Name, uid types.UID, err error) loop.Outcome {
	entry := c.Log.WithError(err).WithFields(map[string]any{"namespace": n.Namespace, "rolloutgroup": n.Object})
	rest := quietFor
	switch {
	case apierrors.IsAlreadyExists(err):
		rest = quietForbidden
		entry.Info("a group is not shown, since an object of its name has no label of lockstep's: what that one says is nothing of lockstep's")
	case apierrors.IsForbidden(err):
		rest = quietForbidden
		entry.Debug("a group is not shown")
	default:
		entry.Debug("a group is not shown")
	}
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	a := c.account(n)
	a.at, a.quiet = now, quiet{uid, now.Add(rest)}
	return loop.After(rest)
}

// create makes the object of a group. It says nothing yet.
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

// write replaces the status of the very object that was judged.
func (c *Controller) write(ctx context.Context, n Name, uid types.UID, status v1alpha1.RolloutGroupStatus) (plan.Version, error) {
	patch, err := json.Marshal([]map[string]any{
		{"op": "test", "path": "/metadata/uid", "value": uid},
		{"op": "add", "path": "/status", "value": status},
	})
	if err != nil {
		return 0, fmt.Errorf("write down status of RolloutGroup %s: %w", n, err)
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

// remove deletes an object whose group is gone.
func (c *Controller) remove(ctx context.Context, n Name, o object) loop.Outcome {
	done, taken := c.turns.take(ctx)
	if !taken {
		return loop.Done()
	}
	defer done()
	if !c.Observer.Managed(n.Namespace) {
		return loop.Now() // it has changed meanwhile
	}
	return c.delete(ctx, n, o)
}

// delete deletes the very object that was judged.
func (c *Controller) delete(ctx context.Context, n Name, o object) loop.Outcome {
	ctx, stop := context.WithTimeout(ctx, requestTimeout)
	defer stop()
	err := c.Client.Resource(Resource).Namespace(n.Namespace).Delete(ctx, n.Object, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &o.uid}})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return c.hush(n, o.uid, fmt.Errorf("delete RolloutGroup %s: %w", n, err))
	}
	return loop.Done()
}
