package kubectl

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lockstep-dev/lockstep/internal/budgets"
	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/plan"
)

// budgetList is the budgets for evictions as they were read once.
type budgetList struct {
	of map[string][]plan.DisruptionBudget // by namespace
}

// budgets reads those of one namespace or, where it is empty, of all. Without the
// kind there are none.
func (c *cluster) budgets(ctx context.Context, namespace string) *budgetList {
	known := &budgetList{of: map[string][]plan.DisruptionBudget{}}
	list, err := c.dynamic.Resource(budgets.Resource).Namespace(namespace).List(ctx, metav1.ListOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return known
	case err != nil:
		c.warn(fmt.Sprintf("the budgets for evictions could not be read, so they are left out: %v", err))
		return known
	}
	for i := range list.Items {
		object := &list.Items[i]
		budget, _ := contract.Budget(object.Object)
		known.of[object.GetNamespace()] = append(known.of[object.GetNamespace()], budget)
	}
	for _, some := range known.of {
		slices.SortFunc(some, func(a, b plan.DisruptionBudget) int { return cmp.Compare(a.Name, b.Name) })
	}
	return known
}

// Budgets implements observe.Budgets.
func (l *budgetList) Budgets(namespace string) []plan.DisruptionBudget { return l.of[namespace] }

// Known implements observe.Budgets.
func (*budgetList) Known() bool { return true }

// Answered implements observe.Budgets.
func (*budgetList) Answered() bool { return true }

// Listen implements observe.Budgets: what was read once does not change.
func (*budgetList) Listen(func(namespace string)) {}
