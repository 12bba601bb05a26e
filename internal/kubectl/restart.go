package kubectl

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"
)

// restartedAt is what kubectl rollout restart writes on the template of pods.
const restartedAt = "kubectl.kubernetes.io/restartedAt"

func (a *app) restart() *cobra.Command {
	var only string
	command := &cobra.Command{
		Use:   "restart GROUP",
		Short: "Roll every pod of a group once, zone by zone",
		Long: `Roll every pod of a group once, as kubectl rollout restart does it: the template of the
pods gets the time as an annotation, and lockstep rolls zone by zone.`,
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
		switch {
		case err != nil:
			return err
		case len(zones) == 0:
			return cluster.unknownGroup(c.Context(), cluster.group(group))
		case only != "" && !slices.Contains(zones, only):
			return fmt.Errorf("group %q has no zone %q; accepted: %s", group, only, strings.Join(zones, ", "))
		case only != "":
			zones = []string{only}
		}
		patch, err := restartPatch(a.now())
		if err != nil {
			return err
		}
		return a.patchZones(c.Context(), cluster, zones, types.StrategicMergePatchType, patch, "restarted")
	}
	command.Flags().StringVar(&only, "zone", "", "only this zone")
	return command
}

func restartPatch(at time.Time) ([]byte, error) {
	type object = map[string]any
	return json.Marshal(object{"spec": object{"template": object{"metadata": object{"annotations": object{
		restartedAt: at.Format(time.RFC3339),
	}}}}})
}
