package cli

import (
	"context"
	"slices"

	"github.com/lockstep-dev/lockstep/internal/cli/screen"
	"github.com/lockstep-dev/lockstep/internal/lock/hold"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/pool"
)

// poolPlanView is the plan of the operator for a StatefulCluster.
type poolPlanView struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	stepsView
	Unknown string `json:"unknown,omitempty"` // what only the operator knows
}

func (a *app) planPool(ctx context.Context, c *cluster, name string) error {
	s, err := c.readForPlanner(ctx, name)
	if err != nil {
		return err
	}
	return a.showPlanOfPool(s.Snapshot)
}

func (a *app) showPlanOfPool(s pool.Snapshot) error {
	v := planOfPool(s)
	if a.form != formTable {
		return a.answer(v)
	}
	if err := a.printPlan(v.Namespace, v.Name, v.stepsView); err != nil || v.Unknown == "" {
		return err
	}
	p := a.page()
	p.Indented(2, screen.In(screen.Faint, "note: "+v.Unknown))
	return a.print(p)
}

func planOfPool(s pool.Snapshot) poolPlanView {
	steps := pool.Plan(s)
	v := poolPlanView{Namespace: s.Key.Namespace, Name: s.Key.Name, stepsView: viewOfPlan(steps, hold.Decide(&s, steps))}
	if slices.ContainsFunc(steps, isQuestion) {
		v.Unknown = "the operator may have taken the steps that only read or try, such as dry runs of the template. Only the operator knows what they showed, so later steps may be missing here."
	}
	return v
}

// isQuestion reports whether a step changes no object: only the process that takes it knows the result.
func isQuestion(step plan.Action) bool {
	switch step.(type) {
	case pool.CompareRevisions, pool.LookForOrphans, pool.RecordRevision:
		return true
	}
	return false
}
