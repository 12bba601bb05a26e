package cli

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lockstep-dev/lockstep/internal/cluster/budgets"
	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
)

// budgetList contains the budgets for evictions of the last read.
type budgetList struct {
	namespace string // the only namespace; empty: all

	mu sync.Mutex
	of map[string][]group.DisruptionBudget // by namespace
}

// budgets reads the budgets of one namespace or, if namespace is empty, of all. If the kind does
// not exist, there are none.
func (c *cluster) budgets(ctx context.Context, namespace string) *budgetList {
	known, err := c.readBudgets(ctx, namespace)
	if err != nil {
		c.warn(fmt.Sprintf("the budgets for evictions could not be read, so they are left out: %v", err))
	}
	return &budgetList{namespace: namespace, of: known}
}

func (c *cluster) readBudgets(ctx context.Context, namespace string) (map[string][]group.DisruptionBudget, error) {
	known := map[string][]group.DisruptionBudget{}
	list, err := c.dynamic.Resource(budgets.Resource).Namespace(namespace).List(ctx, metav1.ListOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return known, nil
	case err != nil:
		return known, err
	}
	for i := range list.Items {
		object := &list.Items[i]
		budget, _ := contract.Budget(object.Object)
		known[object.GetNamespace()] = append(known[object.GetNamespace()], budget)
	}
	for _, some := range known {
		slices.SortFunc(some, func(a, b group.DisruptionBudget) int { return cmp.Compare(a.Name, b.Name) })
	}
	return known, nil
}

// budgetsInterval is the interval at which budgets are read while groups are watched. Listing needs
// fewer permissions than watching.
const budgetsInterval = 10 * time.Second

// rereadBudgets refreshes the budgets until ctx ends. A failed read keeps the last ones.
func (c *cluster) rereadBudgets(ctx context.Context, l *budgetList, news func()) {
	tick := time.NewTicker(budgetsInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if known, err := c.readBudgets(ctx, l.namespace); err == nil && l.replace(known) {
			news()
		}
	}
}

// replace stores the budgets and reports whether they have changed.
func (l *budgetList) replace(known map[string][]group.DisruptionBudget) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if reflect.DeepEqual(l.of, known) {
		return false
	}
	l.of = known
	return true
}

// Budgets implements observe.Budgets.
func (l *budgetList) Budgets(namespace string) []group.DisruptionBudget {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.of[namespace]
}

// Known implements observe.Budgets.
func (*budgetList) Known() bool { return true }

// Answered implements observe.Budgets.
func (*budgetList) Answered() bool { return true }

// Listen implements observe.Budgets. It does nothing, because rereadBudgets reports changes.
func (*budgetList) Listen(func(namespace string)) {}
