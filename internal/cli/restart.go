package cli

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"

	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// restartedAt is what kubectl rollout restart writes on the template of pods.
const restartedAt = "kubectl.kubernetes.io/restartedAt"

func (a *app) restart() *cobra.Command {
	var only string
	command := &cobra.Command{
		Use:   "restart GROUP",
		Short: "Roll every pod of a group once, zone by zone",
		Long: `Roll every pod of a group once, as kubectl rollout restart does it: the template of the
pods gets the time as an annotation, and lockstep rolls zone by zone.

A zone whose update strategy is not OnDelete is refused, and the others with it: the
StatefulSet controller would roll it at once.`,
		Example: `  kubectl lockstep restart ingester
  kubectl lockstep restart ingester --zone ingester-zone-a`,
		Args:              one("restart GROUP"),
		ValidArgsFunction: a.completeGroups,
	}
	command.RunE = func(c *cobra.Command, args []string) error {
		group, err := groupOf(args[0])
		if err != nil {
			return err
		}
		cluster, err := a.connect()
		if err != nil {
			return err
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
		if err := rolledByOthers(zones...); err != nil {
			return err
		}
		return a.changeZones(c.Context(), cluster, zones, func(z *appsv1.StatefulSet) (change, error) {
			return change{patch: restartPatch(a.now()), said: "restarted"}, rolledByOthers(*z)
		})
	}
	command.Flags().StringVar(&only, "zone", "", "only this zone")
	return command
}

// rolledByOthers objects to zones whose pods the StatefulSet controller replaces, all
// zones at the same time.
func rolledByOthers(zones ...appsv1.StatefulSet) error {
	zones = slices.DeleteFunc(slices.Clone(zones), func(z appsv1.StatefulSet) bool {
		return z.Spec.UpdateStrategy.Type == appsv1.OnDeleteStatefulSetStrategyType
	})
	if len(zones) == 0 {
		return nil
	}
	return fmt.Errorf("the StatefulSet controller would roll %s at once, since the update strategy is not OnDelete (%s); accepted once it is", few(namesOf(zones)), reason.WrongUpdateStrategy)
}

// restartPatch has the time to more than a second: a restart soon after another one has
// to be another one.
func restartPatch(at time.Time) object {
	return object{"spec": object{"template": object{"metadata": object{"annotations": object{
		restartedAt: at.Format(time.RFC3339Nano),
	}}}}}
}
