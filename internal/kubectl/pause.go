package kubectl

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"

	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/kubectl/screen"
)

// annotations are changes of annotations: nil removes one.
type annotations map[string]*string

func (a *app) pause() *cobra.Command {
	var why string
	var lasts time.Duration
	command := &cobra.Command{
		Use:   "pause GROUP|ZONE",
		Short: "Let the rollout of a group or a zone stand still",
		Long: `Let the rollout of a group, or of one of its zones, stand still: the StatefulSets get
the annotation grafana.com/rollout-paused=true. Scaling and evictions go on. With --for
the pause ends by itself.`,
		Example: `  kubectl lockstep pause ingester --for 2h --reason "INC-123"
  kubectl lockstep pause zone/ingester-zone-b`,
		Args:              one("pause GROUP, or pause ZONE"),
		ValidArgsFunction: a.completeGroups,
	}
	command.RunE = func(c *cobra.Command, args []string) error {
		if c.Flags().Changed("for") && lasts <= 0 {
			return fmt.Errorf("--for %s has passed already; accepted: 30m, 2h and the like", lasts)
		}
		change := annotations{contract.PausedAnnotation: new("true"), contract.PausedReasonAnnotation: nil, contract.PausedUntilAnnotation: nil}
		said := "paused"
		if why != "" {
			change[contract.PausedReasonAnnotation] = &why
		}
		if lasts > 0 {
			until := a.now().Add(lasts)
			change[contract.PausedUntilAnnotation] = new(contract.FormatPausedUntil(until))
			said += " until " + screen.Clock(until)
		}
		return a.annotate(c.Context(), args[0], change, said)
	}
	command.Flags().StringVar(&why, "reason", "", "why, for others to read: it becomes an annotation")
	command.Flags().DurationVar(&lasts, "for", 0, "how long, like 2h; without it until resume")
	return command
}

func (a *app) resume() *cobra.Command {
	return &cobra.Command{
		Use:   "resume GROUP|ZONE",
		Short: "Let the rollout of a group or a zone go on",
		Example: `  kubectl lockstep resume ingester
  kubectl lockstep resume zone/ingester-zone-b`,
		Args:              one("resume GROUP, or resume ZONE"),
		ValidArgsFunction: a.completeGroups,
		RunE: func(c *cobra.Command, args []string) error {
			return a.annotate(c.Context(), args[0], annotations{
				contract.PausedAnnotation: nil, contract.PausedReasonAnnotation: nil, contract.PausedUntilAnnotation: nil,
			}, "resumed")
		},
	}
}

// annotate changes annotations of every zone that an argument names, and says so.
func (a *app) annotate(ctx context.Context, argument string, notes annotations, said string) error {
	c, err := a.connect()
	if err != nil {
		return err
	}
	zones, err := c.zones(ctx, argument)
	if err != nil {
		return err
	}
	return a.changeZones(ctx, c, zones, func(*appsv1.StatefulSet) (change, error) {
		return change{patch: object{"metadata": object{"annotations": notes}}, said: said}, nil
	})
}
