package budget

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/sirupsen/logrus"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	rolloutoperatorv1 "github.com/lockstep-dev/lockstep/internal/api/rolloutoperator/v1"
	"github.com/lockstep-dev/lockstep/internal/cluster/budgets"
	"github.com/lockstep-dev/lockstep/internal/cluster/clock"
	"github.com/lockstep-dev/lockstep/internal/control/loop"
	"github.com/lockstep-dev/lockstep/internal/plan"
)

const (
	// Pace is the least time between two looks at a namespace: what changes all the
	// time is not told all the time.
	Pace = 2 * time.Second
	// requestTimeout bounds every write.
	requestTimeout = 10 * time.Second
	// quietFor is for how long nothing is written to a budget that takes no status: its
	// CRD has none, or a permission is missing.
	quietFor = 10 * time.Minute
	// lagging is when a budget is looked at again that has changed unseen, if no event
	// comes first: what is known of budgets may be behind for a while.
	lagging = 30 * time.Second
)

type cache interface {
	Objects(namespace string) []budgets.Object
}

type observer interface {
	Managed(namespace string) bool
	GroupsIn(namespace string) []plan.Key
	Cached(plan.Key) plan.Snapshot
}

// Controller writes the status of all budgets of one namespace per call; calls for
// different namespaces may run concurrently. All fields are required.
type Controller struct {
	Cache    cache
	Observer observer
	Client   dynamic.Interface
	Clock    *clock.Clock
	Log      logrus.FieldLogger

	mu    sync.Mutex
	quiet map[string]silence // by UID of a budget that takes no status
}

// silence is for how long nothing is written to a budget, and whether a line says why.
type silence struct {
	until time.Time
	said  bool
}

// Reconcile brings the status of the budgets of a namespace up to date, and says when
// it may be another one without an event.
func (c *Controller) Reconcile(ctx context.Context, namespace string) (loop.Outcome, error) {
	objects := c.Cache.Objects(namespace)
	if len(objects) == 0 || !c.Observer.Managed(namespace) {
		return loop.Gone(), nil
	}
	outcome, errs := loop.Done(), []error(nil)
	for i, report := range c.reports(namespace, objects) {
		o := objects[i]
		if !report.Until.IsZero() {
			outcome = outcome.Earlier(loop.After(max(Pace, report.Until.Sub(c.Clock.Now()))))
		}
		now := time.Now()
		status := statusOf(o, report, c.Clock.Now())
		if equality.Semantic.DeepEqual(o.Status, status) {
			continue
		}
		if !c.Observer.Managed(namespace) { // any more
			return loop.Gone(), errors.Join(errs...)
		}
		if c.rest(o.UID, now) <= 0 {
			switch err := c.write(ctx, namespace, o, status); {
			case apierrors.IsConflict(err):
				outcome = outcome.Earlier(loop.After(lagging))
			default:
				errs = append(errs, err)
			}
		}
		if rest := c.rest(o.UID, now); rest > 0 {
			outcome = outcome.Earlier(loop.After(rest))
		}
	}
	return outcome, errors.Join(errs...)
}

func (c *Controller) reports(namespace string, objects []budgets.Object) []plan.BudgetReport {
	all := make([]plan.DisruptionBudget, len(objects))
	for i, o := range objects {
		all[i] = o.Budget
	}
	var groups []plan.Snapshot
	for _, key := range c.Observer.GroupsIn(namespace) {
		groups = append(groups, c.Observer.Cached(key))
	}
	return plan.ReportBudgets(all, groups)
}

// write says everything anew but for what is not this package's: the last decision.
func (c *Controller) write(ctx context.Context, namespace string, o budgets.Object, status rolloutoperatorv1.ZoneAwarePodDisruptionBudgetStatus) error {
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": o.UID, "resourceVersion": o.Version},
		"status": map[string]any{ // a field that is null is taken away
			"observedGeneration": status.ObservedGeneration, "disruptionsAllowed": status.DisruptionsAllowed,
			"zones": status.Zones, "partitions": status.Partitions, "partitionsOmitted": status.PartitionsOmitted,
			"conditions": status.Conditions,
		},
	})
	if err != nil {
		return fmt.Errorf("write down status of budget %s/%s: %w", namespace, o.Budget.Name, err)
	}
	ctx, stop := context.WithTimeout(ctx, requestTimeout)
	defer stop()
	answer, err := c.Client.Resource(budgets.Resource).Namespace(namespace).Patch(ctx, o.Budget.Name, types.MergePatchType, patch, ignoringUnknown, "status")
	switch {
	case err == nil && stands(answer, status):
		c.speak(o)
		return nil
	case err == nil, withoutPath(err):
		c.hush(ctx, o, namespace, errDropped)
		return nil
	case apierrors.IsNotFound(err), apierrors.IsForbidden(err):
		c.hush(ctx, o, namespace, err)
		return nil
	}
	return fmt.Errorf("write status of budget %s/%s: %w", namespace, o.Budget.Name, err)
}

var errDropped = errors.New("the CustomResourceDefinition has no status")

// ignoringUnknown keeps the API server from a warning about each field that the
// predecessor's CRD does not have. The answer shows whether the status was kept.
var ignoringUnknown = metav1.PatchOptions{FieldValidation: metav1.FieldValidationIgnore}

// withoutPath reports whether the API server has no status of these objects at all; that
// an object is gone it says in its own words.
func withoutPath(err error) bool {
	return apierrors.IsNotFound(err) && apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}

// stands reports whether a status was kept: the predecessor's CRD has none.
func stands(answer *unstructured.Unstructured, status rolloutoperatorv1.ZoneAwarePodDisruptionBudgetStatus) bool {
	generation, _, err := unstructured.NestedInt64(answer.Object, "status", "observedGeneration")
	return err == nil && generation == status.ObservedGeneration
}

// rest returns for how long nothing is to be written to a budget.
func (c *Controller) rest(uid string, now time.Time) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.quiet[uid].until.Sub(now)
}

// speak notes that a budget takes a status: its CRD has one now.
func (c *Controller) speak(o budgets.Object) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.quiet, o.UID)
}

// hush lets a budget be for a while that takes no status, or is gone. If its CRD has no
// status, one line says what to do, until a CRD has had one.
func (c *Controller) hush(ctx context.Context, o budgets.Object, namespace string, because error) {
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.quiet == nil {
		c.quiet = map[string]silence{}
	}
	for uid, s := range c.quiet {
		if now.Sub(s.until) > quietFor { // the budget is gone, or is not managed any more
			delete(c.quiet, uid)
		}
	}
	line := c.Log.WithError(because).WithFields(logrus.Fields{"namespace": namespace, "budget": o.Budget.Name}).WithContext(ctx)
	said := c.quiet[o.UID].said
	switch dropped := errors.Is(because, errDropped); {
	case dropped && !said:
		said = true
		line.Info("the budget has no status to write to: apply lockstep's CustomResourceDefinition (manifests/crds) to see in it what evictions are told")
	default:
		line.Debug("a budget takes no status")
	}
	c.quiet[o.UID] = silence{now.Add(quietFor), said}
}
