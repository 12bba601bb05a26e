package cli

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/lockstep-dev/lockstep/internal/cli/screen"
	"github.com/lockstep-dev/lockstep/internal/lock/record"
	"github.com/lockstep-dev/lockstep/internal/plan"
)

// rolloutView is a rollout for -o json and -o yaml.
type rolloutView struct {
	Since   time.Time    `json:"since"`
	Until   *time.Time   `json:"until,omitempty"` // omitted while the rollout is in progress
	TraceID string       `json:"traceID,omitempty"`
	Zones   []rolledView `json:"zones"`
}

type rolledView struct {
	Zone     string     `json:"zone"`
	From     string     `json:"from"`
	To       string     `json:"to"`
	Since    time.Time  `json:"since"`
	Until    *time.Time `json:"until,omitempty"`
	Replaced int        `json:"replaced"`
}

func (a *app) history() *cobra.Command {
	command := &cobra.Command{
		Use:   "history GROUP|statefulcluster/NAME",
		Short: "Show the recent rollouts of a group or a StatefulCluster, and the one under way",
		Long: `Show the recent rollouts of a group or a StatefulCluster, and the one under way.

For a StatefulCluster also: the pods whose identities have ended, such as one on a node that
went away or one that a person deleted, as far as claims of them are left.`,
		Example: `  kubectl lockstep history ingester
  kubectl lockstep history ingester -o json
  kubectl lockstep history stc/db`,
		Args:              one("history GROUP, or history statefulcluster/NAME"),
		ValidArgsFunction: a.completeGroups,
	}
	command.RunE = func(c *cobra.Command, args []string) error {
		cluster, key, err := a.workloadAt(args[0])
		if err != nil {
			return err
		}
		if key.Kind == plan.KindStatefulCluster {
			return a.historyOfPool(c.Context(), cluster, key)
		}
		s, err := cluster.existing(c.Context(), key)
		if err != nil {
			return err
		}
		views := rolloutsOf(s.Hold.Rollouts)
		if a.form != formTable {
			return a.answer(views)
		}
		return a.printHistory(key, views)
	}
	return a.answers(command)
}

// rolloutsOf returns the rollouts, newest first.
func rolloutsOf(r plan.Rollouts) []rolloutView {
	all := r.Finished
	if !r.Current.Since.IsZero() {
		all = append([]plan.RolledGroup{r.Current}, all...)
	}
	views := []rolloutView{}
	for _, g := range all {
		v := rolloutView{Since: g.Since.UTC(), Until: moment(g.Until), TraceID: record.TraceID(g.Trace), Zones: []rolledView{}}
		for _, z := range g.Zones {
			v.Zones = append(v.Zones, rolledView{z.Name, z.From, z.To, z.Since.UTC(), moment(z.Until), z.Replaced})
		}
		views = append(views, v)
	}
	return views
}

func (a *app) printHistory(key plan.Key, rollouts []rolloutView) error {
	p := a.page()
	addRollouts(p, key, rollouts, a.now())
	return a.print(p)
}

func addRollouts(p *screen.Page, key plan.Key, rollouts []rolloutView, now time.Time) {
	if len(rollouts) == 0 {
		p.Line(screen.In(screen.Strong, key.Namespace+"/"+key.Name), screen.Text("has no rollout in its Lease"))
	}
	for i, r := range rollouts {
		if i > 0 {
			p.Line()
		}
		end, how := now, screen.In(screen.Busy, "under way")
		if r.Until != nil {
			end, how = *r.Until, screen.In(screen.Good, "done")
		}
		line := []screen.Piece{screen.In(screen.Strong, screen.Clock(r.Since)), how, screen.Text("in " + screen.Span(end.Sub(r.Since)))}
		if r.TraceID != "" {
			line = append(line, screen.In(screen.Faint, "trace "+r.TraceID))
		}
		p.Line(line...)
		addRolled(p, unitOf(key), r, end)
	}
}

// unitOf returns the heading of what is rolled out: the zones of a group, or a StatefulCluster as a whole.
func unitOf(key plan.Key) string {
	if key.Kind == plan.KindStatefulCluster {
		return "STATEFULCLUSTER"
	}
	return "ZONE"
}

// addRolled prints a line for each unit, with a bar from its beginning to its end within the rollout.
func addRolled(p *screen.Page, unit string, r rolloutView, end time.Time) {
	headings := []string{unit, "PODS", "TOOK", "FROM", "TO"}
	if p.Style.Bars {
		headings = []string{unit, "PODS", "TOOK", "WHEN", "FROM", "TO"}
	}
	var rows [][]screen.Piece
	for _, z := range r.Zones {
		last := end
		if z.Until != nil {
			last = *z.Until
		}
		row := []screen.Piece{screen.Text(z.Zone), screen.Text(fmt.Sprint(z.Replaced)), screen.Text(screen.Span(last.Sub(z.Since)))}
		if p.Style.Bars {
			row = append(row, screen.TimeBar(z.Since.Sub(r.Since), last.Sub(r.Since), end.Sub(r.Since)))
		}
		rows = append(rows, append(row, screen.Text(z.From), screen.Text(z.To)))
	}
	if len(rows) > 0 {
		p.Table(2, headings, rows)
	}
}
