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

// attempts is how often a write is retried after a conflict.
const attempts = 5

func (a *app) hold() *cobra.Command {
	var why string
	var lasts time.Duration
	var renew bool
	command := &cobra.Command{
		Use:   "hold GROUP|statefulcluster/NAME --reason TEXT",
		Short: "Hold a group or a StatefulCluster for maintenance, so that no other operation starts",
		Long: `Hold a group for maintenance: no rollout, downscale or eviction starts in it until the hold
is released or expires. An operation in progress is not interrupted: while another
operation holds the group, the exit code is 2 and nothing is changed. Outdated pods that
are not ready are still replaced.

While a StatefulCluster is held, lockstep creates missing pods and completes them. It
deletes and updates no pod, and refuses evictions of pods that are up.

A second hold with the same reason is refused too. --renew prolongs a hold and never
shortens it.`,
		Example: `  kubectl lockstep hold ingester --reason backup
  kubectl lockstep hold ingester --reason backup --for 4h --renew
  kubectl lockstep hold stc/db --reason backup
  until kubectl lockstep hold ingester --reason backup; do sleep 10; done`,
		Args:              one("hold GROUP --reason TEXT, or hold statefulcluster/NAME --reason TEXT"),
		ValidArgsFunction: a.completeGroups,
	}
	command.RunE = func(c *cobra.Command, args []string) error {
		holder, ok := hold.ManualFor(why)
		switch {
		case !ok:
			return invalidReason(why)
		case lasts < time.Second || lasts > longestHold:
			return fmt.Errorf("--for %s is out of range; accepted: 1s to %s", lasts, longestHold)
		}
		cluster, key, err := a.workloadAt(args[0])
		if err != nil {
			return err
		}
		return a.take(c.Context(), cluster, key, holder, lasts, renew)
	}
	command.Flags().StringVar(&why, "reason", "", "the reason; it becomes part of the holder")
	command.Flags().DurationVar(&lasts, "for", time.Hour, "the maximum duration")
	command.Flags().BoolVar(&renew, "renew", false, "prolong the hold with this reason")
	_ = command.MarkFlagRequired("reason")
	return command
}

func invalidReason(why string) error {
	return fmt.Errorf("--reason %q has no letter a-z and no digit; accepted: a few plain words, of which only those are kept", why)
}

// longestHold is the maximum duration of a manual hold, so that a forgotten one ends.
const longestHold = 7 * 24 * time.Hour

func (a *app) take(ctx context.Context, c *cluster, key plan.Key, holder plan.Holder, lasts time.Duration, renew bool) error {
	if err := c.missing(ctx, key); err != nil {
		return err
	}
	var taken plan.Record
	var refusal plan.Refusal
	now, err := c.atLeast.now()
	if err != nil {
		return err
	}
	err = c.change(ctx, key, func(h plan.Record) (plan.Record, bool) {
		taken, refusal = hold.Take(h, holder, now, lasts.Truncate(time.Second), renew)
		return taken, refusal.None()
	})
	switch {
	case err != nil:
		return err
	case !refusal.None():
		return a.printRefusal(key, refusal, taken.Holder == holder)
	}
	return a.say(fmt.Sprintf("%s/%s held by %s until %s", key.Namespace, key.Name, holder, untilOf(taken)))
}

// untilOf returns the end of a hold as text.
func untilOf(h plan.Record) string {
	if h.ExpiresAt().IsZero() {
		return "it is released"
	}
	return screen.Clock(h.ExpiresAt())
}

// printRefusal prints the holder and the possible actions.
func (a *app) printRefusal(key plan.Key, refusal plan.Refusal, same bool) error {
	p := a.page()
	w := waitViewOf("", refusal)
	p.Line(screen.In(screen.Strong, key.Namespace+"/"+key.Name), screen.Text("cannot be held now:"), screen.In(screen.Slow, w.short()), screen.In(screen.Faint, w.ID))
	addMeaning(p, w.Sentence, w.ToDo)
	switch {
	case same:
		p.Indented(2, screen.Text("The reason is the same. If this is your hold, prolong it with --renew. Otherwise use another reason, or retry after the hold has ended."))
	case refusal.Code == reason.GroupHeld:
		p.Indented(2, screen.Text("Retry when it has ended (kubectl lockstep status -w), or pause the rollout first (kubectl lockstep pause)."))
	}
	if err := a.print(p); err != nil {
		return err
	}
	return errWaits
}

// change writes the hold of a group or StatefulCluster by compare-and-swap. If the second result of decide is false,
// change writes nothing.
func (c *cluster) change(ctx context.Context, key plan.Key, decide func(plan.Record) (plan.Record, bool)) error {
	holds := lease.NewStore(c.client, key.Namespace, actor, plan.KindStatefulCluster)
	var err error
	for range attempts {
		record, failed := holds.Read(ctx, key)
		if failed != nil {
			return withPermissionHint(failed)
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
