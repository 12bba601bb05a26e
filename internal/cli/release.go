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
		Use:   "release GROUP",
		Short: "Give back a group that was held for maintenance",
		Long: `Give back a group that was held for maintenance: by whoever holds it now or, with --reason,
for that reason alone. Who takes it meanwhile keeps it. What lockstep holds for an
operation of its own is never given back by this: it ends when the operation does.`,
		Example: `  kubectl lockstep release ingester --reason "node upgrade"
  kubectl lockstep release ingester           # whoever holds it as manual/...
  kubectl lockstep release ingester --force   # whoever from outside lockstep holds it`,
		Args:              one("release GROUP"),
		ValidArgsFunction: a.completeGroups,
	}
	command.RunE = func(c *cobra.Command, args []string) error {
		var holder plan.Holder
		if c.Flags().Changed("reason") {
			var ok bool
			if holder, ok = hold.ManualFor(why); !ok {
				return unfitReason(why)
			}
			if force {
				return errors.New("--reason does not go with --force; accepted: one of them")
			}
		}
		cluster, key, err := a.groupAt(args[0])
		if err != nil {
			return err
		}
		return a.giveBack(c.Context(), cluster, key, holder, force)
	}
	command.Flags().StringVar(&why, "reason", "", "only where the group is held for this reason")
	command.Flags().BoolVar(&force, "force", false, "also where the holder is neither manual/... nor an operation of lockstep's")
	return command
}

// giveBack releases a group from whoever holds it when it is read first. If a holder is
// named, it has to be him.
func (a *app) giveBack(ctx context.Context, c *cluster, key plan.Key, named plan.Holder, force bool) error {
	var first, last plan.Hold
	var refused error
	reads := 0
	err := c.change(ctx, key, func(h plan.Hold) (plan.Hold, bool) {
		if reads++; reads == 1 {
			first = h
		}
		last = h
		if refused = keeps(first, h, named, force); refused != nil || h.Holder.Free() {
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
		return errors.Join(fmt.Errorf("group %q has no hold", key.Name), c.missing(ctx, key))
	case last.Holder.Free():
		return a.say(fmt.Sprintf("%s/%s is not held", key.Namespace, key.Name))
	}
	return a.say(fmt.Sprintf("%s/%s released, which %s held", key.Namespace, key.Name, last.Holder))
}

// keeps objects to taking a hold from whoever has it now: it was somebody else's when
// it was read first, or is not of the holder that was named, or not of people.
func keeps(first, h plan.Hold, named plan.Holder, force bool) error {
	switch {
	case h.Holder.Free():
		return nil
	case h.Holder != first.Holder || h.Transitions != first.Transitions:
		return fmt.Errorf("%s has taken the group meanwhile; accepted: release once more, if that is to be released", h.Holder)
	case named != "" && h.Holder != named:
		return fmt.Errorf("%s holds the group, not %s; accepted: the reason for which it is held", h.Holder, named)
	case h.Unreadable != "":
		return fmt.Errorf("%s holds the group, with notes that cannot be read and would be lost: %s; accepted once they are repaired: kubectl lockstep explain %s",
			h.Holder, h.Unreadable, reason.HoldUnreadable)
	case !h.Holder.Foreign():
		return fmt.Errorf("%s holds the group, which is an operation of lockstep's own: it ends by itself; kubectl lockstep why says what it waits for", h.Holder)
	case h.Holder.Operation() != hold.Manual && !force:
		return fmt.Errorf("%s holds the group, which is not manual/...; accepted with --force", h.Holder)
	}
	return nil
}

// missing says that a group does not exist, or returns nil where it does.
func (c *cluster) missing(ctx context.Context, key plan.Key) error {
	zones, err := c.zonesOf(ctx, key.Name)
	if err != nil || len(zones) > 0 {
		return err
	}
	return c.unknownGroup(ctx, key)
}
