package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"

	"github.com/lockstep-dev/lockstep/internal/plan"
)

func (a *app) resume() *cobra.Command {
	var why string
	var all bool
	command := &cobra.Command{
		Use:   "resume GROUP|ZONE|statefulcluster/NAME",
		Short: "Resume the rollout of a group or a zone, or the updates of a StatefulCluster",
		Long: `Resume the rollout of a group or a zone.

If zones of a group are paused for several reasons, nothing is changed unless --reason
selects the pause to end, or --all selects all of them. If a zone stays paused, the exit
code is 2.`,
		Example: `  kubectl lockstep resume ingester
  kubectl lockstep resume ingester --reason INC-123
  kubectl lockstep resume zone/ingester-zone-b
  kubectl lockstep resume stc/db`,
		Args:              one("resume GROUP, resume ZONE, or resume statefulcluster/NAME"),
		ValidArgsFunction: a.completeGroups,
	}
	command.RunE = func(c *cobra.Command, args []string) error {
		if c.Flags().Changed("reason") && all {
			return errors.New("--reason cannot be combined with --all; accepted: one of them")
		}
		name, pool := isPool(args[0])
		if pool && all {
			return errors.New("--all has no effect on a StatefulCluster, which has one pause; accepted: resume statefulcluster/NAME")
		}
		cluster, err := a.connect()
		if err != nil {
			return err
		}
		if pool {
			return a.resumePool(c.Context(), cluster, name, why, c.Flags().Changed("reason"))
		}
		zones, _, err := cluster.zones(c.Context(), args[0])
		if err != nil {
			return err
		}
		now, err := cluster.atLeast.now()
		if err != nil {
			return err
		}
		ending := reasonsOf(zones, now)
		switch {
		case c.Flags().Changed("reason"):
			ending = []string{why}
		case len(ending) > 1 && !all:
			ending = nil
		}
		return a.changeZones(c.Context(), cluster, zones, func(z *appsv1.StatefulSet) (change, error) {
			return resumed(z, now, ending), nil
		})
	}
	command.Flags().StringVar(&why, "reason", "", "only what is paused for this reason, as why shows it")
	command.Flags().BoolVar(&all, "all", false, "all paused zones of a group")
	return command
}

// reasonsOf returns the reasons of the zones' pauses.
func reasonsOf(zones []appsv1.StatefulSet, now time.Time) []string {
	var reasons []string
	for i := range zones {
		if p, paused := pausingOf(&zones[i], now); paused {
			reasons = append(reasons, p.reason)
		}
	}
	slices.SortFunc(reasons, plan.CompareNatural)
	return slices.Compact(reasons)
}

// resumed returns the change for a zone when the pauses with these reasons end.
func resumed(z *appsv1.StatefulSet, now time.Time, ending []string) change {
	p, paused := pausingOf(z, now)
	switch {
	case paused && !slices.Contains(ending, p.reason):
		return p.goesOn()
	case !hasPauseAnnotation(z):
		return change{message: "was not paused"}
	}
	return change{patch: unpaused(), message: "resumed"}
}

// goesOn is the change of an object whose pause does not end because another one was named.
func (p pausing) goesOn() change {
	return change{unchanged: true, message: fmt.Sprintf("stays %s; accepted with --reason %s", p, quoted(p.reason))}
}

// quoted returns a text as one word for a shell.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
