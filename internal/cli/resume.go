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
		Use:   "resume GROUP|ZONE",
		Short: "Let the rollout of a group or a zone go on",
		Long: `Let the rollout of a group or a zone go on.

Where zones of a group are paused for several reasons, nothing is changed before --reason
says which pause is to end, or --all that each of them is. The exit code is 2 where a zone
stays paused.`,
		Example: `  kubectl lockstep resume ingester
  kubectl lockstep resume ingester --reason INC-123
  kubectl lockstep resume zone/ingester-zone-b`,
		Args:              one("resume GROUP, or resume ZONE"),
		ValidArgsFunction: a.completeGroups,
	}
	command.RunE = func(c *cobra.Command, args []string) error {
		if c.Flags().Changed("reason") && all {
			return errors.New("--reason does not go with --all; accepted: one of them")
		}
		cluster, err := a.connect()
		if err != nil {
			return err
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
	command.Flags().StringVar(&why, "reason", "", "only zones that are paused for this reason, as status and why show it")
	command.Flags().BoolVar(&all, "all", false, "zones of a group that are paused for whatever reason")
	return command
}

// reasonsOf returns for which reasons zones are paused.
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

// resumed returns what becomes of a zone when the pauses for some reasons end.
func resumed(z *appsv1.StatefulSet, now time.Time, ending []string) change {
	p, paused := pausingOf(z, now)
	switch {
	case paused && !slices.Contains(ending, p.reason):
		return change{stays: true, said: fmt.Sprintf("stays %s; accepted with --reason %s", p, quoted(p.reason))}
	case !speaksOfPause(z):
		return change{said: "was not paused"}
	}
	return change{patch: unpaused(), said: "resumed"}
}

// quoted returns a text as a shell takes it for one word.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
