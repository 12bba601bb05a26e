package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/lockstep-dev/lockstep/internal/lock/hold"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

func (a *app) release() *cobra.Command {
	var why string
	var force bool
	command := &cobra.Command{
		Use:   "release GROUP|statefulcluster/NAME",
		Short: "Release a group or a StatefulCluster that is held for maintenance",
		Long: `Release a group that is held for maintenance: from its current holder or, with --reason,
only from the holder with that reason. If the holder changes meanwhile, the group is not
released. An operation of lockstep is never released: its hold ends with the operation.`,
		Example: `  kubectl lockstep release ingester --reason backup
  kubectl lockstep release stc/db --reason backup
  kubectl lockstep release ingester           # any holder manual/...
  kubectl lockstep release ingester --force   # any holder but lockstep`,
		Args:              one("release GROUP, or release statefulcluster/NAME"),
		ValidArgsFunction: a.completeGroups,
	}
	command.RunE = func(c *cobra.Command, args []string) error {
		var holder plan.Holder
		if c.Flags().Changed("reason") {
			var ok bool
			if holder, ok = hold.ManualFor(why); !ok {
				return invalidReason(why)
			}
			if force {
				return errors.New("--reason cannot be combined with --force; accepted: one of them")
			}
		}
		cluster, key, err := a.workloadAt(args[0])
		if err != nil {
			return err
		}
		return a.releaseHold(c.Context(), cluster, key, holder, force)
	}
	command.Flags().StringVar(&why, "reason", "", "only if the group is held for this reason")
	command.Flags().BoolVar(&force, "force", false, "also if the holder is neither manual/... nor an operation of lockstep")
	return command
}

// releaseHold releases a group or StatefulCluster from the holder of the first read. If named is set, the holder must be
// named.
func (a *app) releaseHold(ctx context.Context, c *cluster, key plan.Key, named plan.Holder, force bool) error {
	var first, last plan.Record
	var refused error
	reads := 0
	err := c.change(ctx, key, func(h plan.Record) (plan.Record, bool) {
		if reads++; reads == 1 {
			first = h
		}
		last = h
		if refused = checkRelease(first, h, named, force); refused != nil || h.Holder.Free() {
			return h, false
		}
		return hold.GiveBack(h, force)
	})
	switch {
	case err != nil:
		return err
	case refused != nil:
		return refused
	case !last.Exists:
		return errors.Join(fmt.Errorf("%s %q has no hold", key.Kind.Word(), key.Name), c.missing(ctx, key))
	case last.Holder.Free():
		return a.say(fmt.Sprintf("%s/%s is not held", key.Namespace, key.Name))
	}
	return a.say(fmt.Sprintf("%s/%s released from %s", key.Namespace, key.Name, last.Holder))
}

// checkRelease returns an error if the hold must not be released: its holder has changed since the first
// read, differs from named, or is an operation of lockstep.
func checkRelease(first, h plan.Record, named plan.Holder, force bool) error {
	switch {
	case h.Holder.Free():
		return nil
	case h.Holder != first.Holder || h.Transitions != first.Transitions:
		return fmt.Errorf("%s has taken the hold meanwhile; accepted: release again, to release it from that holder", h.Holder)
	case named != "" && h.Holder != named:
		return fmt.Errorf("%s has the hold, not %s; accepted: the reason of that hold", h.Holder, named)
	case h.Unreadable != "":
		return fmt.Errorf("%s has the hold, with records that cannot be read and would be lost: %s; accepted once they are repaired: kubectl lockstep explain %s",
			h.Holder, h.Unreadable, reason.HoldUnreadable)
	case !h.Holder.Foreign():
		return fmt.Errorf("%s has the hold, which is lockstep's own operation and ends by itself; kubectl lockstep why shows what it waits for", h.Holder)
	case h.Holder.Operation() != hold.Manual && !force:
		return fmt.Errorf("%s has the hold, which is not manual/...; accepted with --force", h.Holder)
	}
	return nil
}

// missing returns an error if a group or StatefulCluster does not exist.
func (c *cluster) missing(ctx context.Context, key plan.Key) error {
	if key.Kind == plan.KindStatefulCluster {
		_, err := c.statefulCluster(ctx, key.Name)
		return err
	}
	zones, err := c.zonesOf(ctx, key.Name)
	if err != nil || len(zones) > 0 {
		return err
	}
	return c.unknownGroup(ctx, key)
}
