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

// decisionPace is how often at most a process writes into a budget what it has
// answered: a storm of evictions is told by its last one.
const decisionPace = 10 * time.Second

// Decision is what somebody was answered who wanted to evict a pod.
type Decision = rolloutoperatorv1.ZoneAwarePodDisruptionBudgetDecision

// Name is that of a budget in its namespace.
type Name struct{ Namespace, Budget string }

// String returns namespace/name.
func (n Name) String() string { return n.Namespace + "/" + n.Budget }

// Decisions write what this process answered last about each budget into its status.
// Every process that answers has some, whoever leads. All fields are required.
type Decisions struct {
	Cache   cache
	Managed func(namespace string) bool
	Client  dynamic.Interface
	Log     logrus.FieldLogger
	Now     func() time.Time // the API server's
	// Soon asks for a Reconcile after a while.
	Soon func(Name, time.Duration)

	mu      sync.Mutex
	last    map[Name]about     // not written yet
	written map[Name]time.Time // when, of late
}

// about is a decision, and the UID of the budget that had the name when the first one
// came that waits.
type about struct {
	Decision
	uid string
}

// Take keeps a decision until it is written, or until the next one comes. What waits for a
// budget that is made anew meanwhile is not told of the new one.
func (d *Decisions) Take(n Name, decision Decision) {
	now := time.Now()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.last == nil {
		d.last, d.written = map[Name]about{}, map[Name]time.Time{}
	}
	if former, waits := d.last[n]; waits {
		d.last[n] = about{decision, former.uid}
		return
	}
	o, exists := d.object(n)
	if !exists {
		return
	}
	d.last[n] = about{decision, o.UID}
	maps.DeleteFunc(d.written, func(_ Name, at time.Time) bool { return now.Sub(at) >= decisionPace })
	rest := time.Duration(0)
	if at, lately := d.written[n]; lately {
		rest = at.Add(decisionPace).Sub(now)
	}
	d.Soon(n, rest)
}

// Reconcile writes what was kept, unless another process has answered after that. It
// writes once: who wants to know why nothing happens sees the next decision soon. What
// is dated far ahead is from a clock that was wrong.
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
		d.Log.WithError(err).WithField("budget", n.String()).WithContext(ctx).Debug("the last decision about a budget is not told")
	}
	return loop.Done(), nil
}

func (d *Decisions) due(n Name) (about, bool) {
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
		return fmt.Errorf("write it down: %w", err)
	}
	ctx, stop := context.WithTimeout(ctx, requestTimeout)
	defer stop()
	_, err = d.Client.Resource(budgets.Resource).Namespace(n.Namespace).Patch(ctx, n.Budget, types.MergePatchType, patch, ignoringUnknown, "status")
	return err
}
