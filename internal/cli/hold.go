package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/lockstep-dev/lockstep/internal/cli/screen"
	"github.com/lockstep-dev/lockstep/internal/lock/hold"
	"github.com/lockstep-dev/lockstep/internal/lock/lease"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// attempts is how often a Lease is read anew that somebody else has written meanwhile.
const attempts = 5

func (a *app) hold() *cobra.Command {
	var why string
	var lasts time.Duration
	var renew bool
	command := &cobra.Command{
		Use:   "hold GROUP --reason TEXT",
		Short: "Hold a group for maintenance, so that nothing else begins in it",
		Long: `Hold a group for maintenance: no rollout, downscale or eviction begins in it until it is
released, or until the time is over. What is under way is not interrupted: while another
operation holds the group, the exit code is 2 and nothing is changed. Pods that are down
and outdated are replaced all the same.

A reason has one holder at a time: for the same reason, too, somebody else holds the group.
Whoever holds it prolongs it with --renew, which never ends it sooner.`,
		Example: `  kubectl lockstep hold ingester --reason "node upgrade"
  kubectl lockstep hold ingester --reason "node upgrade" --for 4h --renew
  until kubectl lockstep hold ingester --reason backup; do sleep 10; done`,
		Args:              one("hold GROUP --reason TEXT"),
		ValidArgsFunction: a.completeGroups,
	}
	command.RunE = func(c *cobra.Command, args []string) error {
		holder, ok := hold.ManualFor(why)
		switch {
		case !ok:
			return unfitReason(why)
		case lasts < time.Second || lasts > longestHold:
			return fmt.Errorf("--for %s is out of range; accepted: 1s to %s", lasts, longestHold)
		}
		cluster, key, err := a.groupAt(args[0])
		if err != nil {
			return err
		}
		return a.take(c.Context(), cluster, key, holder, lasts, renew)
	}
	command.Flags().StringVar(&why, "reason", "", "why: it becomes part of the holder that everybody sees")
	command.Flags().DurationVar(&lasts, "for", time.Hour, "how long at most")
	command.Flags().BoolVar(&renew, "renew", false, "prolong the hold that has this reason")
	_ = command.MarkFlagRequired("reason")
	return command
}

func unfitReason(why string) error {
	return fmt.Errorf("--reason %q has no letter a-z and no digit; accepted: a few plain words, of which only those are kept", why)
}

// longestHold is how long people may hold: what is forgotten should end.
const longestHold = 7 * 24 * time.Hour

func (a *app) take(ctx context.Context, c *cluster, key plan.Key, holder plan.Holder, lasts time.Duration, renew bool) error {
	zones, err := c.zonesOf(ctx, key.Name)
	if err != nil {
		return err
	}
	if len(zones) == 0 {
		return c.unknownGroup(ctx, key)
	}
	var taken plan.Hold
	var refusal plan.Refusal
	now, err := c.atLeast.now()
	if err != nil {
		return err
	}
	err = c.change(ctx, key, func(h plan.Hold) (plan.Hold, bool) {
		taken, refusal = hold.Take(h, holder, now, lasts.Truncate(time.Second), renew)
		return taken, refusal.None()
	})
	switch {
	case err != nil:
		return err
	case !refusal.None():
		return a.cannotHold(key, refusal, taken.Holder == holder)
	}
	return a.say(fmt.Sprintf("%s/%s held by %s until %s", key.Namespace, key.Name, holder, untilOf(taken)))
}

// untilOf says when a hold is over.
func untilOf(h plan.Hold) string {
	if h.ExpiresAt().IsZero() {
		return "it is released"
	}
	return screen.Clock(h.ExpiresAt())
}

// cannotHold says who holds the group and what to do about it.
func (a *app) cannotHold(key plan.Key, refusal plan.Refusal, same bool) error {
	p := a.page()
	w := waitViewOf("", refusal)
	p.Line(screen.In(screen.Strong, key.Namespace+"/"+key.Name), screen.Text("cannot be held now:"), screen.In(screen.Slow, w.short()), screen.In(screen.Faint, w.ID))
	addMeaning(p, w.Sentence, w.ToDo)
	switch {
	case same:
		p.Indented(2, screen.Text("That is the same reason: if it is your hold, --renew prolongs it; if not, give another reason, or try again when it has ended."))
	case refusal.Code == reason.GroupHeld:
		p.Indented(2, screen.Text("Try again when it has ended (kubectl lockstep status -w), or let the rollout stand still first (kubectl lockstep pause)."))
	}
	if err := a.print(p); err != nil {
		return err
	}
	return errWaits
}

// change writes the hold of a group as it should be, by compare-and-swap. The second
// result of decide is false where it should stay as it is.
func (c *cluster) change(ctx context.Context, key plan.Key, decide func(plan.Hold) (plan.Hold, bool)) error {
	holds := lease.NewStore(c.client, key.Namespace, actor)
	var err error
	for range attempts {
		record, failed := holds.Read(ctx, key)
		if failed != nil {
			return allowed(failed)
		}
		next, wanted := decide(record)
		if !wanted {
			return nil
		}
		if err = holds.Write(ctx, key, next); reason.ClassOf(err) != reason.Moved || err == nil {
			return err
		}
	}
	return err
}
