package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lockstep-dev/lockstep/internal/cli/screen"
	"github.com/lockstep-dev/lockstep/internal/lock/hold"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
	"github.com/lockstep-dev/lockstep/internal/proof/fixture"
)

// planView is the plan of the operator.
type planView struct {
	Namespace string `json:"namespace"`
	Group     string `json:"group"`
	stepsView
}

// stepsView is the plan of the operator for a group or a StatefulCluster.
type stepsView struct {
	Steps   []stepView `json:"steps"`
	Hold    string     `json:"hold"` // the planned write of the hold
	Remarks []waitView `json:"remarks,omitempty"`
}

type stepView struct {
	Step string `json:"step"`
	Code string `json:"code"`
	ID   string `json:"id"`
}

func (a *app) plan() *cobra.Command {
	var file string
	command := &cobra.Command{
		Use:   "plan GROUP|statefulcluster/NAME",
		Short: "Show what the operator would do next",
		Long: `Show what the operator would do next, with the operator's own planner: from one read of
the cluster, or from a file. Nothing is changed.

A file contains a snapshot: JSON from the operator's /debug/groups/NAMESPACE/GROUP or from
kubectl lockstep snapshot -o json, or the notation of kubectl lockstep snapshot. - is the
standard input.

A read does not show the operator's calls to pods and their answers. A step that calls
pods may have been taken already. Of a StatefulCluster, a read does not show what the
operator knows from dry runs of its template.`,
		Example: `  kubectl lockstep plan ingester
  kubectl lockstep plan stc/db
  kubectl lockstep plan -f snapshot.txt
  kubectl lockstep snapshot ingester | kubectl lockstep plan -f -`,
		Args:              oneOrNone("plan GROUP, plan statefulcluster/NAME, or plan -f FILE"),
		ValidArgsFunction: a.completeGroups,
	}
	command.RunE = func(c *cobra.Command, args []string) error {
		if (len(args) == 1) == (file != "") {
			return fmt.Errorf("accepted: either plan GROUP, or plan -f FILE")
		}
		if file != "" {
			return a.planFile(file)
		}
		cluster, key, err := a.workloadAt(args[0])
		if err != nil {
			return err
		}
		if key.Kind == plan.KindStatefulCluster {
			return a.planPool(c.Context(), cluster, key.Name)
		}
		s, err := cluster.existing(c.Context(), key)
		if err != nil {
			return err
		}
		return a.planGroup(s)
	}
	command.Flags().StringVarP(&file, "filename", "f", "", "plan from a snapshot in this file, - for the standard input")
	return a.answers(command)
}

func (a *app) planGroup(s group.Snapshot) error {
	v := planOf(s)
	if a.form != formTable {
		return a.answer(v)
	}
	return a.printPlan(v.Namespace, v.Group, v.stepsView)
}

func planOf(s group.Snapshot) planView {
	steps := stepsFor(s)
	decision := hold.Decide(&s, steps)
	if decision.Need == hold.ReadLive { // the operator reads live first; assume that it sees the same
		s.Live = true
		steps = stepsFor(s)
		decision = hold.Decide(&s, steps)
	}
	v := planView{s.Key.Namespace, s.Key.Name, viewOfPlan(steps, decision)}
	v.Remarks = remarksOn(s)
	return v
}

func viewOfPlan(steps []plan.Action, decision hold.Decision) stepsView {
	return stepsView{Steps: viewsOfSteps(steps), Hold: fixture.Decision(decision)}
}

func viewsOfSteps(steps []plan.Action) []stepView {
	views := []stepView{}
	for _, step := range steps {
		entry, _ := reason.Explain(step.Reason())
		views = append(views, stepView{step.String(), string(entry.Code), entry.ID()})
	}
	return views
}

func (a *app) printPlan(namespace, name string, v stepsView) error {
	p := a.page()
	p.Line(screen.In(screen.Strong, namespace+"/"+name))
	switch {
	case len(v.Steps) == 0 && len(v.Remarks) > 0:
		p.Line(screen.Text("  nothing, as far as your permissions show"))
	case len(v.Steps) == 0:
		p.Line(screen.In(screen.Good, "  nothing: the goal is reached"))
	}
	addSteps(p, v.Steps)
	p.Line(screen.Text("  hold: " + v.Hold))
	addRemarks(p, v.Remarks)
	return a.print(p)
}

func addSteps(p *screen.Page, steps []stepView) {
	for _, step := range steps {
		colour := screen.Busy
		if strings.HasPrefix(step.Step, "wait ") {
			colour = screen.Plain
		}
		p.Line(screen.Text(" "), screen.In(colour, step.Step), screen.In(screen.Faint, step.ID))
	}
}
