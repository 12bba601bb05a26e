package budget

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/sirupsen/logrus"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	rolloutoperatorv1 "github.com/lockstep-dev/lockstep/internal/api/rolloutoperator/v1"
	"github.com/lockstep-dev/lockstep/internal/cluster/budgets"
	"github.com/lockstep-dev/lockstep/internal/control/loop"
)

// decisionPace is the least time between two writes of a process to a budget's lastDecision. Of
// many evictions, only the last one is written.
const decisionPace = 10 * time.Second

// Decision is the answer to an eviction.
type Decision = rolloutoperatorv1.ZoneAwarePodDisruptionBudgetDecision

// Name is the name of a budget with its namespace.
type Name struct{ Namespace, Budget string }

// String returns namespace/name.
func (n Name) String() string { return n.Namespace + "/" + n.Budget }

// Decisions write the last answer of this process about each budget into its status. Every
// replica answers evictions, so every replica has Decisions. All fields are required.
type Decisions struct {
	Cache   cache
	Managed func(namespace string) bool
	Client  dynamic.Interface
	Log     logrus.FieldLogger
	Now     func() time.Time // the time of the API server
	// Soon requests a Reconcile after a duration.
	Soon func(Name, time.Duration)

	mu      sync.Mutex
	last    map[Name]pending   // not written yet
	written map[Name]time.Time // the times of recent writes
}

// pending is a decision that is not written yet, and the UID that the budget had when the first
// such decision was made.
type pending struct {
	Decision
	uid string
}

// Take stores a decision until it is written or the next one comes. If the budget is recreated
// before the write, the decision is dropped.
func (d *Decisions) Take(n Name, decision Decision) {
	now := time.Now()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.last == nil {
		d.last, d.written = map[Name]pending{}, map[Name]time.Time{}
	}
	if former, waits := d.last[n]; waits {
		d.last[n] = pending{decision, former.uid}
		return
	}
	o, exists := d.object(n)
	if !exists {
		return
	}
	d.last[n] = pending{decision, o.UID}
	maps.DeleteFunc(d.written, func(_ Name, at time.Time) bool { return now.Sub(at) >= decisionPace })
	rest := time.Duration(0)
	if at, lately := d.written[n]; lately {
		rest = at.Add(decisionPace).Sub(now)
	}
	d.Soon(n, rest)
}

// Reconcile writes the stored decision, unless another process has written a later one. It tries
// once, because the next decision may come soon. A time far in the future comes from a wrong
// clock and is overwritten.
func (d *Decisions) Reconcile(ctx context.Context, n Name) (loop.Outcome, error) {
	decision, waits := d.due(n)
	o, exists := d.object(n)
	if !waits || !exists || o.UID != decision.uid || !d.Managed(n.Namespace) {
		return loop.Gone(), nil
	}
	if shown := o.Status.LastDecision; shown != nil && decision.Time.Before(&shown.Time) && !shown.Time.After(d.Now().Add(decisionPace)) {
		return loop.Gone(), nil
	}
	if err := d.write(ctx, n, o, decision.Decision); err != nil {
		d.Log.WithError(err).WithField("budget", n.String()).WithContext(ctx).Debug("the last decision about a budget was not written")
	}
	return loop.Done(), nil
}

func (d *Decisions) due(n Name) (pending, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	decision, waits := d.last[n]
	if waits {
		delete(d.last, n)
		d.written[n] = time.Now()
	}
	return decision, waits
}

func (d *Decisions) object(n Name) (budgets.Object, bool) {
	for _, o := range d.Cache.Objects(n.Namespace) {
		if o.Budget.Name == n.Budget {
			return o, true
		}
	}
	return budgets.Object{}, false
}

func (d *Decisions) write(ctx context.Context, n Name, o budgets.Object, decision Decision) error {
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": o.UID},
		"status":   map[string]any{"lastDecision": decision},
	})
	if err != nil {
		return fmt.Errorf("encode decision about budget %s: %w", n, err)
	}
	ctx, stop := context.WithTimeout(ctx, requestTimeout)
	defer stop()
	_, err = d.Client.Resource(budgets.Resource).Namespace(n.Namespace).Patch(ctx, n.Budget, types.MergePatchType, patch, ignoringUnknown, "status")
	return err
}
