package cli

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"

	"github.com/lockstep-dev/lockstep/internal/cli/screen"
)

func (a *app) pause() *cobra.Command {
	var why string
	var lasts time.Duration
	var overwrite bool
	command := &cobra.Command{
		Use:   "pause GROUP|ZONE",
		Short: "Let the rollout of a group or a zone stand still",
		Long: `Let the rollout of a group, or of one of its zones, stand still: the StatefulSets get
the annotation grafana.com/rollout-paused=true. Scaling and evictions go on. With --for
the pause ends by itself.

A zone that is paused already stays as it is, unless it is for the same reason or
--overwrite is given. The exit code is 2 where a zone stays.`,
		Example: `  kubectl lockstep pause ingester --for 2h --reason "INC-123"
  kubectl lockstep pause zone/ingester-zone-b`,
		Args:              one("pause GROUP, or pause ZONE"),
		ValidArgsFunction: a.completeGroups,
	}
	command.RunE = func(c *cobra.Command, args []string) error {
		if c.Flags().Changed("for") && lasts <= 0 {
			return fmt.Errorf("--for %s has passed already; accepted: 30m, 2h and the like", lasts)
		}
		cluster, err := a.connect()
		if err != nil {
			return err
		}
		zones, group, err := cluster.zones(c.Context(), args[0])
		if err != nil {
			return err
		}
		now, err := cluster.atLeast.now()
		if err != nil {
			return err
		}
		wanted := pausing{reason: why}
		if why == "" && group != "" {
			wanted.reason = ofWholeGroup(group)
		}
		if lasts > 0 {
			wanted.until = now.Add(lasts)
		}
		return a.changeZones(c.Context(), cluster, zones, func(z *appsv1.StatefulSet) (change, error) {
			return wanted.instead(z, now, why != "", overwrite), nil
		})
	}
	command.Flags().StringVar(&why, "reason", "", "why, for others to read: it becomes an annotation")
	command.Flags().DurationVar(&lasts, "for", 0, "how long, like 2h; without it until resume")
	command.Flags().BoolVar(&overwrite, "overwrite", false, "also zones that are paused already, for whatever reason")
	return command
}

// instead returns what becomes of a zone that is to be paused. The pause that it has
// already is somebody else's unless both were given the same reason.
func (p pausing) instead(z *appsv1.StatefulSet, now time.Time, reasoned, overwrite bool) change {
	before, paused := pausingOf(z, now)
	same := before == p || (reasoned && before.reason == p.reason)
	if paused && !same && !overwrite {
		return change{stays: true, said: fmt.Sprintf("stays %s; accepted with --overwrite", before)}
	}
	said := "paused"
	if !p.until.IsZero() {
		said += " until " + screen.Clock(p.until)
	}
	return change{patch: p.patch(), said: said}
}
