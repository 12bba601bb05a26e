// Package group brings rollout groups of StatefulSets to their goal, one group
// at a time: observe, plan, cover by the hold, check, act, report.
//
// It contains no rule about pods; those are in internal/plan and
// internal/hold. Floor 5.
package group

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/lockstep-dev/lockstep/internal/freshness"
	"github.com/lockstep-dev/lockstep/internal/hold"
	"github.com/lockstep-dev/lockstep/internal/invariant"
	"github.com/lockstep-dev/lockstep/internal/loop"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/reason"
)

// lookAgain is after how long a group is looked at without an event, when the
// caches did not show what was expected. An event usually comes first.
const lookAgain = time.Second

type observer interface {
	Managed(namespace string) bool
	Cached(plan.Key) plan.Snapshot
	Live(context.Context, plan.Key) (plan.Snapshot, error)
}

type executor interface {
	Run(context.Context, plan.Snapshot, []plan.Action, hold.Decision) ([]plan.Receipt, error)
}

type reporter interface {
	Group(context.Context, plan.Snapshot, []plan.Action, []plan.Receipt) (news bool)
	Forget(plan.Key)
}

type holds interface {
	Forget(plan.Key)
}

// Controller reconciles one group at a time per call; calls for different
// groups may run concurrently.
type Controller struct {
	Observer observer
	Executor executor
	Reporter reporter
	Holds    holds
	Fresh    *freshness.Log
	Log      *logrus.Logger
}

// Reconcile brings the group one step closer to its goal and says when to look
// again if no event comes first.
func (c *Controller) Reconcile(ctx context.Context, key plan.Key) (loop.Outcome, error) {
	if !c.Observer.Managed(key.Namespace) {
		return c.forget(key), nil
	}
	cached := c.Observer.Cached(key)
	if len(cached.Zones) == 0 && !cached.Hold.Exists {
		return c.forget(key), nil
	}
	if missing := c.Fresh.Behind(cached); missing != "" {
		c.Log.WithContext(ctx).WithFields(fields(key)).WithField("missing", missing).Debug("cache does not show own writes yet")
		return loop.After(lookAgain), nil
	}
	return c.step(ctx, cached)
}

// step plans on the caches and, where they do not suffice, again on a live read.
func (c *Controller) step(ctx context.Context, s plan.Snapshot) (loop.Outcome, error) {
	steps, covered := think(s)
	outcome := loop.Done()
	if covered.Verdict == hold.Look {
		live, err := c.Observer.Live(ctx, s.Key)
		if err != nil {
			return loop.Done(), fmt.Errorf("look at %s: %w", s.Key, err)
		}
		c.Fresh.Looked(live)
		s = live
		if steps, covered = think(s); !plan.Disrupts(steps) {
			outcome = loop.After(lookAgain) // the caches have to catch up with what was seen
		}
	}
	if broken := invariant.Check(s, steps, covered); broken != nil {
		return loop.Done(), c.refuse(ctx, s, steps, broken)
	}
	done, err := c.Executor.Run(ctx, s, steps, covered)
	news := c.Reporter.Group(ctx, s, steps, done)
	c.log(ctx, s, steps, covered, done, news)
	return outcome.Earlier(next(s, steps, covered)), err
}

func think(s plan.Snapshot) ([]plan.Action, hold.Decision) {
	steps := plan.Group(s)
	return steps, hold.Cover(s, steps)
}

// next says when to look again without an event: at once after a release, when
// a wait ends by time, or when the hold has to be renewed.
func next(s plan.Snapshot, steps []plan.Action, covered hold.Decision) loop.Outcome {
	outcome := loop.Done()
	if wake := plan.Wake(steps); !wake.IsZero() {
		outcome = outcome.Earlier(loop.After(wake.Sub(s.Now)))
	}
	record := s.Hold
	if covered.Verdict == hold.Write {
		record = covered.Record
	}
	if renew := hold.RenewAt(record); !renew.IsZero() && record.Unreadable == "" {
		outcome = outcome.Earlier(loop.After(renew.Sub(s.Now)))
	}
	for _, step := range steps {
		if _, ok := step.(plan.Release); ok && covered.Verdict == hold.Write {
			return loop.Now()
		}
	}
	return outcome
}

// refuse reports a plan that broke a rule of internal/invariant. Nothing of it
// is done, and it is not tried again until something changes.
func (c *Controller) refuse(ctx context.Context, s plan.Snapshot, steps []plan.Action, broken *invariant.Violation) error {
	wait := []plan.Action{}
	for _, z := range s.Zones {
		wait = append(wait, plan.Wait{Zone: z.Name, Because: plan.Refusal{Code: reason.InvariantViolated, Detail: broken.Name}})
	}
	c.Reporter.Group(ctx, s, wait, nil)
	return reason.WithClass(reason.Human, fmt.Errorf("plan %q: %w", plan.Notation(steps), broken))
}

func (c *Controller) forget(key plan.Key) loop.Outcome {
	c.Reporter.Forget(key)
	c.Holds.Forget(key)
	c.Fresh.Forget(key)
	return loop.Gone()
}

// log writes one line for a plan that did something or has news, at debug
// level for all others.
func (c *Controller) log(ctx context.Context, s plan.Snapshot, steps []plan.Action, covered hold.Decision, done []plan.Receipt, news bool) {
	holder := s.Hold.Holder
	if covered.Verdict == hold.Write {
		holder = covered.Record.Holder
	}
	entry := c.Log.WithContext(ctx).WithFields(fields(s.Key)).WithFields(logrus.Fields{
		"plan":   strings.ReplaceAll(plan.Notation(steps), "\n", "; "),
		"holder": string(holder),
		"live":   s.Live,
	})
	switch {
	case len(done) > 0:
		succeeded := successes(done)
		entry.WithFields(logrus.Fields{"done": succeeded, "failed": len(done) - succeeded}).Info("stepped")
	case plan.Disrupts(steps):
		entry.Info("would step")
	case news:
		entry.Info("waits")
	default:
		entry.Debug("looked")
	}
}

func successes(receipts []plan.Receipt) int {
	count := 0
	for _, r := range receipts {
		if r.Err == nil {
			count++
		}
	}
	return count
}

func fields(key plan.Key) logrus.Fields {
	return logrus.Fields{"namespace": key.Namespace, "group": key.Group}
}
