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
	"github.com/lockstep-dev/lockstep/internal/plan/group"
)

const (
	// Pace is the least time between two reconciles of a namespace. It limits the writes of
	// numbers that change all the time.
	Pace = 2 * time.Second
	// requestTimeout limits every write.
	requestTimeout = 10 * time.Second
	// pauseFor is how long nothing is written to a budget after a write failed because its CRD
	// has no status, or because a permission is missing.
	pauseFor = 10 * time.Minute
	// lagging is when a budget is reconciled again after a conflict, if no event comes first.
	// The cache of budgets may be behind for a while.
	lagging = 30 * time.Second
)

type cache interface {
	Objects(namespace string) []budgets.Object
}

type observer interface {
	Managed(namespace string) bool
	GroupsIn(namespace string) []plan.Key
	Cached(plan.Key) group.Snapshot
}

// Controller writes the status of all budgets of one namespace for each call. Calls for
// different namespaces may run concurrently. All fields are required.
type Controller struct {
	Cache    cache
	Observer observer
	Client   dynamic.Interface
	Clock    *clock.Clock
	Log      logrus.FieldLogger

	mu     sync.Mutex
	pauses map[string]pause // by UID of the budget
}

// pause is a pause in the writes to a budget.
type pause struct {
	until  time.Time
	logged bool // the reason was logged
}

// Reconcile writes the status of a namespace's budgets where it has changed. It returns when
// the status may change without an event.
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
		if !c.Observer.Managed(namespace) { // the namespace has opted out in the meantime
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

func (c *Controller) reports(namespace string, objects []budgets.Object) []group.BudgetReport {
	all := make([]group.DisruptionBudget, len(objects))
	for i, o := range objects {
		all[i] = o.Budget
	}
	var groups []group.Snapshot
	for _, key := range c.Observer.GroupsIn(namespace) {
		groups = append(groups, c.Observer.Cached(key))
	}
	return group.ReportBudgets(all, groups)
}

// write writes all of the status except lastDecision, which Decisions writes.
func (c *Controller) write(ctx context.Context, namespace string, o budgets.Object, status rolloutoperatorv1.ZoneAwarePodDisruptionBudgetStatus) error {
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": o.UID, "resourceVersion": o.Version},
		"status": map[string]any{ // null removes a field
			"observedGeneration": status.ObservedGeneration, "disruptionsAllowed": status.DisruptionsAllowed,
			"zones": status.Zones, "partitions": status.Partitions, "partitionsOmitted": status.PartitionsOmitted,
			"conditions": status.Conditions,
		},
	})
	if err != nil {
		return fmt.Errorf("encode status of budget %s/%s: %w", namespace, o.Budget.Name, err)
	}
	ctx, stop := context.WithTimeout(ctx, requestTimeout)
	defer stop()
	answer, err := c.Client.Resource(budgets.Resource).Namespace(namespace).Patch(ctx, o.Budget.Name, types.MergePatchType, patch, ignoringUnknown, "status")
	switch {
	case err == nil && stored(answer, status):
		c.resume(o)
		return nil
	case err == nil, lacksStatus(err):
		c.startPause(ctx, o, namespace, errDropped)
		return nil
	case apierrors.IsNotFound(err), apierrors.IsForbidden(err):
		c.startPause(ctx, o, namespace, err)
		return nil
	}
	return fmt.Errorf("write status of budget %s/%s: %w", namespace, o.Budget.Name, err)
}

var errDropped = errors.New("the CustomResourceDefinition has no status subresource")

// ignoringUnknown prevents warnings about fields that the predecessor's CRD does not have. The
// answer shows whether the status was stored.
var ignoringUnknown = metav1.PatchOptions{FieldValidation: metav1.FieldValidationIgnore}

// lacksStatus reports whether the error means that the CRD has no status subresource. If a budget does not exist, the
// error is different.
func lacksStatus(err error) bool {
	return apierrors.IsNotFound(err) && apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}

// stored reports whether the status was stored. The predecessor's CRD has none.
func stored(answer *unstructured.Unstructured, status rolloutoperatorv1.ZoneAwarePodDisruptionBudgetStatus) bool {
	generation, _, err := unstructured.NestedInt64(answer.Object, "status", "observedGeneration")
	return err == nil && generation == status.ObservedGeneration
}

// rest returns the remaining pause in the writes to a budget.
func (c *Controller) rest(uid string, now time.Time) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.pauses[uid].until.Sub(now)
}

// resume records that a write to a budget succeeded, so its CRD has a status.
func (c *Controller) resume(o budgets.Object) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.pauses, o.UID)
}

// startPause starts a pause in the writes to a budget. If its CRD has no status, startPause logs once what the user
// must do.
func (c *Controller) startPause(ctx context.Context, o budgets.Object, namespace string, because error) {
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pauses == nil {
		c.pauses = map[string]pause{}
	}
	for uid, s := range c.pauses {
		if now.Sub(s.until) > pauseFor { // the budget was deleted, or is no longer managed
			delete(c.pauses, uid)
		}
	}
	line := c.Log.WithError(because).WithFields(logrus.Fields{"namespace": namespace, "budget": o.Budget.Name}).WithContext(ctx)
	logged := c.pauses[o.UID].logged
	switch dropped := errors.Is(because, errDropped); {
	case dropped && !logged:
		logged = true
		line.Info("the status of the budget cannot be written: apply lockstep's CustomResourceDefinition (manifests/crds) to see in the status what evictions are answered")
	default:
		line.Debug("the status of a budget cannot be written")
	}
	c.pauses[o.UID] = pause{now.Add(pauseFor), logged}
}
