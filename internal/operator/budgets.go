package operator

import (
	"context"
	"fmt"

	"github.com/lockstep-dev/lockstep/internal/control/budget"
	"github.com/lockstep-dev/lockstep/internal/control/loop"
	"github.com/lockstep-dev/lockstep/internal/serve/server"
	"github.com/lockstep-dev/lockstep/internal/show/telemetry"
)

// budgetLoop is the name of the loop over namespaces with budgets in logs, spans and metrics.
const budgetLoop = "budget"

// writeBudgetStatus writes the status of budgets until ctx ends and every worker has returned.
func (o *Operator) writeBudgetStatus(ctx context.Context) {
	if !o.waitForCaches(ctx) {
		return
	}
	c := &budget.Controller{Cache: o.budgets, Observer: o.observer, Client: o.clients.dynamic, Clock: o.clients.clock, Log: o.log}
	l := loop.New(loop.Options[string]{
		Name:      budgetLoop,
		Workers:   2,
		Reconcile: c.Reconcile,
		Namespace: func(namespace string) string { return namespace },
		Log:       o.log,
		Tracer:    o.tracer,
		Queues:    o.metrics.Queues(),
		Observe:   panics[string](o.metrics, budgetLoop),
	})
	o.telling.Store(l)
	defer o.telling.Store(nil)
	for _, namespace := range o.budgets.Namespaces() {
		l.Add(namespace)
	}
	l.Run(ctx)
}

// budgetsChanged schedules a new write of the status of a namespace's budgets.
func (o *Operator) budgetsChanged(namespace string) {
	if l := o.telling.Load(); l != nil && o.budgets.Any(namespace) {
		l.AddAfter(namespace, budget.Pace)
	}
}

// budgetsTold handles a change of the budgets of a namespace.
func (o *Operator) budgetsTold(namespace string) {
	o.showBudgets(namespace)
	o.budgetsChanged(namespace)
}

// showBudgets updates the metrics of the budgets of a namespace. An unmanaged namespace has none.
func (o *Operator) showBudgets(namespace string) {
	var now []telemetry.Budget
	if o.observer.Managed(namespace) {
		for _, b := range o.budgets.Objects(namespace) {
			version := fmt.Sprintf("%s/%d", b.UID, b.Generation)
			now = append(now, telemetry.Budget{Name: b.Budget.Name, Version: version, Invalid: b.Budget.Invalid != ""})
		}
	}
	o.metrics.Budgets(namespace, now)
}

// budgetsKnown returns why evictions cannot be judged. The process stays Ready, because
// everything else works.
func (o *Operator) budgetsKnown() error { return server.Tolerable(o.budgets.Trouble()) }
