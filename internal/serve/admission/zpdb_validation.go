package admission

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/util/json"

	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

func budgets(ar *review) verdictFunc {
	v := judgeBudget(ar)
	return func(context.Context) Verdict { return v }
}

// judgeBudget decides on the new ZoneAwarePodDisruptionBudget of a review. It needs only the
// object, so it judges dry runs and all operations in the same way.
func judgeBudget(ar *review) Verdict {
	object, err := ar.object()
	if err != nil {
		return Deny(http.StatusBadRequest, reason.BudgetInvalid, "invalid value: "+err.Error())
	}
	budget, wrong := contract.Budget(object)
	if len(wrong) > 0 {
		return Deny(http.StatusBadRequest, reason.BudgetInvalid, strings.Join(wrong, "; "))
	}
	v := Allow(reason.BudgetValid)
	v.Warnings = budgetWarnings(budget)
	return v
}

func budgetWarnings(b group.DisruptionBudget) []string {
	if len(b.Selector) > 0 {
		return nil
	}
	return []string{warning("spec.selector is empty, so this budget covers every pod and every StatefulSet of its namespace; if a second budget covers the same pods, their evictions are refused")}
}

// object returns the new object of a review with all of its fields, or nil if there is none.
func (q *review) object() (map[string]any, error) {
	var entire struct {
		Request struct {
			Object any `json:"object"`
		} `json:"request"`
	}
	if err := json.Unmarshal(q.body, &entire); err != nil {
		return nil, fmt.Errorf("the object cannot be read: %w", err)
	}
	object, is := entire.Request.Object.(map[string]any)
	if !is && entire.Request.Object != nil {
		return nil, errors.New("the object is not a JSON object")
	}
	return object, nil
}
