// Package group brings rollout groups of StatefulSets to their goal, one group
// at a time: observe, plan, decide what the hold must say, check, act, report.
//
// It contains no rule about pods; those are in internal/plan and
// internal/lock/hold.
package group

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/lockstep-dev/lockstep/internal/cluster/diagnosis"
	"github.com/lockstep-dev/lockstep/internal/control/contest"
	"github.com/lockstep-dev/lockstep/internal/control/loop"
	"github.com/lockstep-dev/lockstep/internal/lock/freshness"
	"github.com/lockstep-dev/lockstep/internal/lock/hold"
	"github.com/lockstep-dev/lockstep/internal/lock/invariant"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// tellAfter is for how long caches may be behind before people are told.
const tellAfter = 5 * time.Second

type observer interface {
	Managed(namespace string) bool
	Cached(plan.Key) plan.Snapshot
	Live(context.Context, plan.Key) (plan.Snapshot, error)
	LiveUnder(context.Context, plan.Key, plan.Hold) (plan.Snapshot, error)
	Diagnose(ctx context.Context, namespace string, pod plan.Pod) ([]diagnosis.Fact, error)
	WriterOfReplicas(ctx context.Context, namespace, zone, uid string) (string, error)
}

type executor interface {
	Run(context.Context, plan.Snapshot, []plan.Action, hold.Decision) ([]plan.Receipt, error)
}

type reporter interface {
	Group(plan.Snapshot, []plan.Action, []plan.Receipt) (news bool, due time.Duration)
	ReplicasOverwritten(key plan.Key, zone string)
	Forget(plan.Key)
}

type holds interface {
	Forget(plan.Key)
}

type told interface {
	Forget(plan.Key)
}

type traces interface {
	Show(context.Context, plan.Key, plan.Rollouts)
	Forget(plan.Key)
}

// Controller reconciles one group at a time per call; calls for different
// groups may run concurrently.
type Controller struct {
	Observer     observer
	Executor     executor
	Reporter     reporter
	Holds        holds
	Messages     told
	Preparations told
	Traces       traces
	Fresh        *freshness.Log
	Contests     *contest.Log // which the Observer shows in its snapshots
	Log          *logrus.Logger
	DryRun       bool // the Executor writes nothing

	trouble   trouble
	diagnoses diagnoses
}

// Reconcile brings the group one step closer to its goal and says when to look
// again if no event comes first.
func (c *Controller) Reconcile(ctx context.Context, key plan.Key) (loop.Outcome, error) {
	if !c.Observer.Managed(key.Namespace) {
		return c.forget(key), nil
	}
	cached := c.Observer.Cached(key)
	rests := len(cached.Zones) == 0 || key.Kind == plan.KindBudget // without a hold nothing is done to pods that a budget covers
	if rests && !cached.Hold.Exists {
		return c.forget(key), nil
	}
	c.Traces.Show(ctx, key, cached.Hold.Rollouts)
	if missing, lasting := c.Fresh.Behind(cached); missing != "" {
		c.behind(ctx, cached, missing, lasting >= tellAfter)
		return loop.After(hold.LookAgain), nil
	}
	return c.step(ctx, cached)
}

// step plans on the caches and, where they do not suffice, again on a live read. Then the
// plan is checked and carried out, and people are told.
func (c *Controller) step(ctx context.Context, cached plan.Snapshot) (loop.Outcome, error) {
	t, outcome := think(cached), loop.Done()
	if t.decision.Need == hold.Look {
		looked, err := c.thinkLive(ctx, t)
		switch {
		case errors.Is(err, errUnconfirmed):
			return loop.After(hold.LookAgain), nil
		case err != nil:
			return c.unseen(ctx, t, err), err
		}
		t = looked
		if !plan.Disrupts(t.steps) {
			outcome = c.caughtUp()
		}
	}
	describe(ctx, t.seen, t.steps)
	if broken := invariant.Check(t.seen, t.steps, t.decision); broken != nil {
		return loop.Done(), c.refuse(t.seen, t.steps, broken)
	}
	done, err := c.Executor.Run(ctx, t.seen, t.steps, t.decision)
	c.remember(ctx, t.seen, done)
	return outcome.Earlier(t.next()).Earlier(c.report(ctx, t, done, err)), err
}

// caughtUp says when to look again so that the caches show what a live read has shown, and
// what was written since. In a dry run nothing was: they may show the same for ever.
func (c *Controller) caughtUp() loop.Outcome {
	if c.DryRun {
		return loop.After(hold.WaitsAgain)
	}
	return loop.After(hold.LookAgain)
}

// thought is a plan, with what it was made from and what the hold must say before it.
type thought struct {
	seen     plan.Snapshot
	steps    []plan.Action
	decision hold.Decision
}

func think(s plan.Snapshot) thought {
	steps := plan.Group(s)
	return thought{s, steps, hold.Decide(s, steps)}
}

var errUnconfirmed = errors.New("the caches do not propose what a look does")

// thinkLive plans again on a live read. errUnconfirmed says that the caches do not show
// yet what has to be known before such a plan is carried out.
func (c *Controller) thinkLive(ctx context.Context, cached thought) (thought, error) {
	live, err := c.look(ctx, cached.seen)
	if err != nil {
		return thought{}, fmt.Errorf("look at %s: %w", cached.seen.Key, err)
	}
	c.Fresh.Looked(live)
	t := think(live)
	if !plan.Confirms(c.Observer.Cached(live.Key), live, t.steps) {
		_, lasts := c.trouble.tell(live.Key, live.Now, errUnconfirmed)
		c.behind(ctx, live, "what was looked at", lasts)
		return thought{}, errUnconfirmed
	}
	return t, nil
}

// unseen tells people of live reads that have failed for a while. It returns when to look
// again so that this becomes an Event.
func (c *Controller) unseen(ctx context.Context, cached thought, err error) loop.Outcome {
	s := cached.seen
	because, lasts := c.trouble.tell(s.Key, s.Now, err)
	if !lasts {
		return loop.Done()
	}
	told := overruled(cached.steps, nil, because)
	news, due := c.Reporter.Group(s, told, nil)
	c.log(ctx, s, told, cached.decision, round{err: err, news: news})
	return dueAfter(due)
}

// look reads the group live, with its Lease where that is needed.
func (c *Controller) look(ctx context.Context, s plan.Snapshot) (plan.Snapshot, error) {
	if hold.LookNeedsLease(s.Hold) {
		return c.Observer.Live(ctx, s.Key)
	}
	return c.Observer.LiveUnder(ctx, s.Key, s.Hold)
}

// next says when to look again without an event.
func (t thought) next() loop.Outcome {
	if after, due := hold.NextLook(t.seen, t.steps, t.decision); due {
		return loop.After(after)
	}
	return loop.Done()
}

// report tells people what became of a plan, and of requests that have failed for a while.
// It says when to look again so that a wait that lasts becomes an Event.
func (c *Controller) report(ctx context.Context, t thought, done []plan.Receipt, err error) loop.Outcome {
	told := t.steps
	if because, lasts := c.trouble.tell(t.seen.Key, t.seen.Now, err); lasts {
		told = overruled(t.steps, done, because)
	}
	told = c.diagnosed(ctx, t.seen, told)
	news, due := c.Reporter.Group(t.seen, told, done)
	c.log(ctx, t.seen, told, t.decision, round{done, err, news})
	return dueAfter(due)
}

// dueAfter says when to look at a group again so that an Event that is held back is told.
func dueAfter(due time.Duration) loop.Outcome {
	if due > 0 {
		return loop.After(due)
	}
	return loop.Done()
}

// behind tells people when the caches do not catch up.
func (c *Controller) behind(ctx context.Context, s plan.Snapshot, missing string, lasts bool) {
	entry := c.Log.WithContext(ctx).WithFields(fields(s.Key)).WithField("missing", missing)
	waits := everyZone(s, plan.Refusal{Code: reason.CacheStale})
	if lasts {
		if news, _ := c.Reporter.Group(s, waits, nil); news {
			entry.WithField("plan", inOneLine(waits, longestPlan)).Warn("the cache does not catch up")
			return
		}
	}
	entry.Debug("the cache does not show yet what is known")
}

// everyZone says that all zones wait for the same thing.
func everyZone(s plan.Snapshot, because plan.Refusal) []plan.Action {
	var waits []plan.Action
	for _, z := range s.Zones {
		waits = append(waits, plan.Wait{Zone: z.Name, Because: because})
	}
	return waits
}

// refuse reports a plan that broke a rule of internal/lock/invariant. Nothing of it
// is done, and it is not tried again until something changes.
func (c *Controller) refuse(s plan.Snapshot, steps []plan.Action, broken *invariant.Violation) error {
	c.Reporter.Group(s, everyZone(s, plan.Refusal{Code: reason.InvariantViolated, Detail: broken.Name}), nil)
	return reason.WithClass(reason.Human, fmt.Errorf("plan %q: %w", plan.Notation(steps), broken))
}

func (c *Controller) forget(key plan.Key) loop.Outcome {
	c.Forget(key)
	return loop.Gone()
}

// Forget drops what is remembered of a group: it exists no more, or its namespace
// opted out.
func (c *Controller) Forget(key plan.Key) {
	c.Resign(key)
	c.Holds.Forget(key)
	c.Fresh.Forget(key)
}

// Resign drops what only a process that leads needs to know of a group. What was seen and
// written stays known, and since when: webhooks go on, and a granted eviction lapses by
// how long a process has known of it, however often it leads meanwhile.
func (c *Controller) Resign(key plan.Key) {
	c.Reporter.Forget(key)
	c.Messages.Forget(key)
	c.Preparations.Forget(key)
	c.Traces.Forget(key)
	c.Contests.Forget(key)
	c.trouble.forget(key)
	c.diagnoses.forget(key)
}

// round is what became of a plan.
type round struct {
	done []plan.Receipt
	err  error
	news bool
}

// log writes one line for a plan that did something, would do it in a dry run, or has
// news, at debug level for all others. Errors themselves are the loop's to log.
func (c *Controller) log(ctx context.Context, s plan.Snapshot, steps []plan.Action, decision hold.Decision, r round) {
	holder := s.Hold.Holder
	if decision.Need == hold.Write {
		holder = decision.Record.Holder
	}
	entry := c.Log.WithContext(ctx).WithFields(fields(s.Key)).WithFields(logrus.Fields{
		"plan":   inOneLine(steps, longestPlan),
		"holder": holder.Plain(),
		"live":   s.Live,
	})
	if remarks := plan.Remarks(s); len(remarks) > 0 {
		entry = entry.WithField("remarks", inWords(remarks))
	}
	switch {
	case len(r.done) > 0:
		succeeded := successes(r.done)
		entry.WithFields(logrus.Fields{"done": succeeded, "failed": len(r.done) - succeeded}).Info("stepped")
	case plan.Acts(steps) && r.err == nil: // a dry run
		entry.Info("would step")
	case r.news:
		entry.Info("waits")
	default:
		entry.Debug("looked")
	}
}

// longestPlan bounds what a line says of a plan, in bytes.
const longestPlan = 10_000

// inOneLine returns a plan in one line of so many bytes at most.
func inOneLine(steps []plan.Action, most int) string {
	return plan.Plain(strings.ReplaceAll(plan.Notation(steps), "\n", "; "), most)
}

// inWords spells remarks: zone-a ReplicasForced (1 replicas).
func inWords(remarks []plan.Wait) string {
	var words []string
	for _, r := range remarks {
		words = append(words, r.Zone+" "+r.Because.String())
	}
	return plan.Plain(strings.Join(words, "; "), longestPlan)
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
	return logrus.Fields{"namespace": key.Namespace, "group": key.Name}
}
