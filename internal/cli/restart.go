package cli

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"

	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

func (a *app) restart() *cobra.Command {
	var only string
	command := &cobra.Command{
		Use:   "restart GROUP|statefulcluster/NAME",
		Short: "Restart every pod of a group, zone by zone, or of a StatefulCluster",
		Long: `Restart every pod of a group, as kubectl rollout restart does: the pod templates get the
time as an annotation, and lockstep rolls out zone by zone.

If the update strategy of a zone is not OnDelete, no zone is restarted: the StatefulSet
controller would roll out that zone at once.

The pods of a StatefulCluster are deleted and created again, not more than maxUnavailable
at a time. They keep their names and claims, unless podUpdatePolicy is Recreate.`,
		Example: `  kubectl lockstep restart ingester
  kubectl lockstep restart ingester --zone ingester-zone-a
  kubectl lockstep restart stc/db`,
		Args:              one("restart GROUP, or restart statefulcluster/NAME"),
		ValidArgsFunction: a.completeGroups,
	}
	command.RunE = func(c *cobra.Command, args []string) error {
		kind, group, err := subject(args[0], groupKind, statefulClusterKind)
		if err != nil {
			return err
		}
		cluster, err := a.connect()
		if err != nil {
			return err
		}
		if kind == statefulClusterKind {
			return a.restartStatefulCluster(c.Context(), cluster, group, only)
		}
		zones, err := cluster.zonesOf(c.Context(), group)
		if err != nil {
			return err
		}
		if len(zones) == 0 {
			return cluster.unknownGroup(c.Context(), cluster.group(group))
		}
		if only != "" {
			all := namesOf(zones)
			zones = slices.DeleteFunc(zones, func(z appsv1.StatefulSet) bool { return z.Name != only })
			if len(zones) == 0 {
				return fmt.Errorf("group %q has no zone %q; accepted: %s", group, only, strings.Join(all, ", "))
			}
		}
		if err := checkUpdateStrategy(zones...); err != nil {
			return err
		}
		return a.changeZones(c.Context(), cluster, zones, func(z *appsv1.StatefulSet) (change, error) {
			return change{patch: restartPatch(a.now()), message: "restarted"}, checkUpdateStrategy(*z)
		})
	}
	command.Flags().StringVar(&only, "zone", "", "only this zone")
	return command
}

// checkUpdateStrategy returns an error if the StatefulSet controller would replace the pods of zones, in
// all zones at the same time.
func checkUpdateStrategy(zones ...appsv1.StatefulSet) error {
	zones = slices.DeleteFunc(slices.Clone(zones), func(z appsv1.StatefulSet) bool {
		return z.Spec.UpdateStrategy.Type == appsv1.OnDeleteStatefulSetStrategyType
	})
	if len(zones) == 0 {
		return nil
	}
	return fmt.Errorf("the StatefulSet controller would roll out %s at once: the update strategy must be OnDelete (%s)", few(namesOf(zones)), reason.WrongUpdateStrategy)
}

// restartPatch sets the time with fractions of a second, so that a second restart soon afterwards
// changes the template again.
func restartPatch(at time.Time) object {
	return object{"spec": object{"template": object{"metadata": object{"annotations": object{
		contract.RestartedAtAnnotation: at.Format(time.RFC3339Nano),
	}}}}}
}
