package cli

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/lockstep-dev/lockstep/internal/cli/screen"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
)

func (a *app) status() *cobra.Command {
	var watch, all bool
	command := &cobra.Command{
		Use:   "status [GROUP|statefulcluster/NAME]",
		Short: "Show the state of groups, zone by zone, of all StatefulClusters, or of one, pod by pod",
		Example: `  kubectl lockstep status                # every group and StatefulCluster of the namespace
  kubectl lockstep status ingester -w    # one group, updated whenever it changes
  kubectl lockstep status -A -o json     # all namespaces, for a program
  kubectl lockstep status stc/db -w      # a StatefulCluster`,
		Args:              oneOrNone("status [GROUP], or status statefulcluster/NAME"),
		ValidArgsFunction: a.completeGroups,
	}
	command.RunE = func(c *cobra.Command, args []string) error {
		if all && len(args) > 0 {
			return fmt.Errorf("-A shows all groups and StatefulClusters; accepted: either -A, or GROUP with -n NAMESPACE")
		}
		if watch && a.form != formTable {
			return fmt.Errorf("-w cannot be combined with -o %s; accepted: one of them", a.form)
		}
		w, kind, name := wanted{all: all}, "", ""
		for _, argument := range args {
			var err error
			if kind, name, err = subject(argument, groupKind, statefulClusterKind); err != nil {
				return err
			}
			w.names = append(w.names, name)
		}
		cluster, err := a.connect()
		if err != nil {
			return err
		}
		if kind == statefulClusterKind {
			return a.statefulClusterStatus(c.Context(), cluster, name, watch)
		}
		return a.showStatus(c.Context(), cluster, w, watch)
	}
	command.Flags().BoolVarP(&watch, "watch", "w", false, "keep running and show changes")
	command.Flags().BoolVarP(&all, "all-namespaces", "A", false, "groups and StatefulClusters of all namespaces")
	return a.answers(command)
}

// wanted selects the groups to show.
type wanted struct {
	names []string // none: every group, and every StatefulCluster
	all   bool     // of every namespace
}

func (w wanted) includes(key plan.Key) bool {
	return key.Rolled() && (len(w.names) == 0 || slices.Contains(w.names, key.Name))
}

func (a *app) showStatus(ctx context.Context, c *cluster, w wanted, watch bool) error {
	if watch {
		return a.follow(ctx, c, w)
	}
	snapshots, err := c.groups(ctx, w)
	if err != nil {
		return err
	}
	views := []groupView{}
	for _, s := range snapshots {
		views = append(views, viewOf(s))
	}
	if len(w.names) == 1 && a.form != formTable {
		return a.answer(views[0])
	}
	pools := c.pools(ctx, w)
	listed := pools.views()
	switch {
	case a.form != formTable:
		return a.answer(allViews(views, listed))
	case len(views)+len(listed) == 0:
		return a.write(nothingShown(pools.readable, w.all, c.namespace))
	}
	p := a.page()
	addStatus(p, views, listed, a.now())
	return a.print(p)
}

// allViews returns groups and then StatefulClusters, as one list.
func allViews(groups []groupView, listed []listedView) []any {
	all := []any{}
	for _, v := range groups {
		all = append(all, v)
	}
	for _, v := range listed {
		all = append(all, v)
	}
	return all
}

// nothingShown says that there is nothing to show. StatefulClusters that cannot be read are not mentioned.
func nothingShown(readable, all bool, namespace string) string {
	text := "There are no groups"
	if readable {
		text += " and no StatefulClusters"
	}
	if !all {
		text += " in namespace " + screen.Clean(namespace)
	}
	return text + ".\n"
}

// addStatus prints groups and then StatefulClusters.
func addStatus(p *screen.Page, groups []groupView, listed []listedView, now time.Time) {
	for _, v := range groups {
		addGroup(p, v, now)
	}
	addPools(p, listed)
}

// groups reads the selected groups.
func (c *cluster) groups(ctx context.Context, w wanted) ([]group.Snapshot, error) {
	if len(w.names) == 1 {
		s, err := c.existing(ctx, c.group(w.names[0]))
		return []group.Snapshot{s}, err
	}
	seen, end, err := c.watch(ctx, w, nil)
	if err != nil {
		return nil, err
	}
	defer end()
	return seen.snapshots(w), nil
}

var colourOf = map[string]screen.Colour{
	string(group.Settled): screen.Good, string(group.Rolling): screen.Busy, string(group.Shrinking): screen.Busy,
	string(group.Evicting): screen.Busy, string(group.Held): screen.Slow, string(group.Recovering): screen.Slow,
	string(group.Blocked): screen.Slow,
}

// addGroup prints a group: a line about it, and one for each zone.
func addGroup(p *screen.Page, v groupView, now time.Time) {
	if len(p.Lines()) > 0 {
		p.Line()
	}
	p.Line(headline(v, now)...)
	var rows [][]screen.Piece
	for _, z := range v.Zones {
		waits := screen.Text("")
		if z.Waits != nil {
			waits = screen.In(urgency(*z.Waits), z.Waits.short())
		}
		rows = append(rows, []screen.Piece{
			screen.Text(z.Name), p.Style.Bar(z.Done, z.Replicas), screen.Text(fmt.Sprintf("%d/%d", z.Ready, z.Replicas)),
			screen.Text(fmt.Sprintf("%d/%d", z.Down, z.Budget)), screen.In(colourOf[z.Activity], z.Activity), waits,
		})
	}
	if len(rows) > 0 {
		p.Table(2, []string{"ZONE", "UPDATED", "READY", "DOWN/MAX", "ACTIVITY", "WAITS FOR"}, rows)
	}
	addRemarks(p, v.Remarks)
}

func addRemarks(p *screen.Page, remarks []waitView) {
	for _, r := range remarks {
		p.Line(screen.Text("  note:"), screen.In(urgency(r), r.Zone+" "+r.short()))
	}
}

// headline returns the activity of a group, its holder, and since when it holds the group.
func headline(v groupView, now time.Time) []screen.Piece {
	line := []screen.Piece{screen.In(screen.Strong, v.Namespace+"/"+v.Group), screen.In(colourOf[v.Activity], v.Activity)}
	if v.Holder != "" {
		line = append(line, screen.Text("held by "+v.Holder))
		if v.Since != nil {
			line = append(line, screen.Text("for "+screen.Span(now.Sub(*v.Since))))
		}
		if v.Until != nil {
			line = append(line, screen.Text("until "+screen.Clock(*v.Until)))
		}
	}
	if v.TraceID != "" {
		line = append(line, screen.In(screen.Faint, "trace "+v.TraceID))
	}
	return line
}

func urgency(w waitView) screen.Colour {
	if w.Person {
		return screen.Bad
	}
	return screen.Plain
}
