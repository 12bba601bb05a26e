package cli

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
)

func (a *app) pause() *cobra.Command {
	var why string
	var lasts time.Duration
	var overwrite bool
	command := &cobra.Command{
		Use:   "pause GROUP|ZONE|statefulcluster/NAME",
		Short: "Pause the rollout of a group or a zone, or the updates of a StatefulCluster",
		Long: `Pause the rollout of a group or of one of its zones. The StatefulSets get the annotation
grafana.com/rollout-paused=true. Scaling and evictions continue. With --for, the pause
ends by itself.

A zone or StatefulCluster that is paused already is not changed, unless the reason is the same or --overwrite
is given. If one is not changed, the exit code is 2.

For a StatefulCluster, spec.paused is set. Missing pods are created, scaling and evictions
continue.`,
		Example: `  kubectl lockstep pause ingester --for 2h --reason "INC-123"
  kubectl lockstep pause zone/ingester-zone-b
  kubectl lockstep pause stc/db --for 30m --reason "disk is full"`,
		Args:              one("pause GROUP, pause ZONE, or pause statefulcluster/NAME"),
		ValidArgsFunction: a.completeGroups,
	}
	command.RunE = func(c *cobra.Command, args []string) error {
		if c.Flags().Changed("for") && lasts <= 0 {
			return fmt.Errorf("--for %s is not positive; accepted: a duration like 30m or 2h", lasts)
		}
		cluster, err := a.connect()
		if err != nil {
			return err
		}
		if name, pool := isPool(args[0]); pool {
			return a.pausePool(c.Context(), cluster, name, why, lasts, overwrite)
		}
		zones, group, err := cluster.zones(c.Context(), args[0])
		if err != nil {
			return err
		}
		now, err := cluster.atLeast.now()
		if err != nil {
			return err
		}
		wanted := pausingFor(why, lasts, now)
		if why == "" && group != "" {
			wanted.reason = defaultReason(group)
		}
		return a.changeZones(c.Context(), cluster, zones, func(z *appsv1.StatefulSet) (change, error) {
			return wanted.pauseChange(z, now, why != "", overwrite), nil
		})
	}
	command.Flags().StringVar(&why, "reason", "", "the reason; it becomes an annotation")
	command.Flags().DurationVar(&lasts, "for", 0, "the duration, like 2h; without it, until resume")
	command.Flags().BoolVar(&overwrite, "overwrite", false, "also change zones that are paused already")
	return command
}

// pauseChange returns the change for a zone that is to be paused. An existing pause is kept unless both
// have the same reason, or overwrite is set.
func (p pausing) pauseChange(z *appsv1.StatefulSet, now time.Time, reasoned, overwrite bool) change {
	if before, paused := pausingOf(z, now); paused && !overwrite && !p.replaces(before, reasoned) {
		return before.stays()
	}
	return change{patch: p.patch(), message: p.span()}
}

// replaces reports whether the pause may take the place of another one: both are the same, or have the same given reason.
func (p pausing) replaces(before pausing, reasoned bool) bool {
	return before == p || reasoned && before.reason == p.reason
}

// stays is the change of an object whose pause is not replaced.
func (p pausing) stays() change {
	return change{unchanged: true, message: fmt.Sprintf("stays %s; accepted with --overwrite", p)}
}
