// Package group brings rollout groups of StatefulSets to their goal, one group
// at a time: observe, plan, cover by the hold, check, act, report.
//
// It contains no rule about pods; those are in internal/plan and
// internal/hold. Floor 5.
package group

import (
	"context"
	"errors"
	"fmt"
	"slices"
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

const (
	// lookAgain is after how long a group is looked at without an event, when the
	// caches did not show what was expected. An event usually comes first.
	lookAgain = time.Second
	// waitsAgain is how often people are told what a group waits for, where no
	// event comes: that it lasts may be news.
	waitsAgain = time.Minute
	// tellAfter is for how long caches may be behind before people are told.
	tellAfter = 5 * time.Second
)

type observer interface {
	Managed(namespace string) bool
	Cached(plan.Key) plan.Snapshot
	Live(context.Context, plan.Key) (plan.Snapshot, error)
	LiveUnder(context.Context, plan.Key, plan.Hold) (plan.Snapshot, error)
}

type executor interface {
	Run(context.Context, plan.Snapshot, []plan.Action, hold.Decision) ([]plan.Receipt, error)
}

type reporter interface {
	Group(plan.Snapshot, []plan.Action, []plan.Receipt) (news bool)
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
	Observer observer
	Executor executor
	Reporter reporter
	Holds    holds
	Told     told
	Asked    told
	Traces   traces
	Fresh    *freshness.Log
	Log      *logrus.Logger

	trouble trouble
}

// Reconcile brings the group one step closer to its goal and says when to look
// again if no event comes first.
func (c *Controller) Reconcile(ctx context.Context, key plan.Key) (loop.Outcome, error) {
	if !c.Observer.Managed(key.Namespace) {
		return c.forget(key), nil
	}
	cached := c.Observer.Cached(key)
	rests := len(cached.Zones) == 0 || key.Covered // without a hold nothing is done to pods that a budget covers
	if rests && !cached.Hold.Exists {
		return c.forget(key), nil
	}
	c.Traces.Show(ctx, key, cached.Hold.Rollouts)
	if missing, lasting := c.Fresh.Behind(cached); missing != "" {
		c.behind(ctx, cached, missing, lasting >= tellAfter)
		return loop.After(lookAgain), nil
	}
	return c.step(ctx, cached)
}

var errUnconfirmed = errors.New("the caches do not propose what a look does")

// behind tells people when the caches do not catch up.
func (c *Controller) behind(ctx context.Context, s plan.Snapshot, missing string, lasts bool) {
	entry := c.Log.WithContext(ctx).WithFields(fields(s.Key)).WithField("missing", missing)
	waits := everyZone(s, plan.Refusal{Code: reason.CacheBehind})
	if lasts && c.Reporter.Group(s, waits, nil) {
		entry.WithField("plan", inOneLine(waits, longestPlan)).Warn("the cache does not catch up")
		return
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

// step plans on the caches and, where they do not suffice, again on a live read.
func (c *Controller) step(ctx context.Context, s plan.Snapshot) (loop.Outcome, error) {
	steps, covered := think(s)
	outcome := loop.Done()
	if covered.Verdict == hold.Look {
		live, err := c.look(ctx, s)
		if err != nil {
			if because, lasts := c.trouble.tell(s.Key, s.Now, err); lasts {
				told := slices.Concat(steps, stalled(steps, nil, because))
				c.log(ctx, s, told, covered, round{err: err, news: c.Reporter.Group(s, told, nil)})
			}
			return loop.Done(), fmt.Errorf("look at %s: %w", s.Key, err)
		}
		c.Fresh.Looked(live)
		s = live
		steps, covered = think(s)
		if !plan.Confirms(c.Observer.Cached(s.Key), s, steps) {
			_, lasts := c.trouble.tell(s.Key, s.Now, errUnconfirmed)
			c.behind(ctx, s, "what was looked at", lasts)
			return loop.After(lookAgain), nil
		}
		if !plan.Disrupts(steps) {
			outcome = loop.After(lookAgain) // the caches have to catch up with what was seen
		}
	}
	describe(ctx, s, steps)
	if broken := invariant.Check(s, steps, covered); broken != nil {
		return loop.Done(), c.refuse(s, steps, broken)
	}
	done, err := c.Executor.Run(ctx, s, steps, covered)
	told := steps
	if because, lasts := c.trouble.tell(s.Key, s.Now, err); lasts {
		told = slices.Concat(steps, stalled(steps, done, because))
	}
	news := c.Reporter.Group(s, told, done)
	c.log(ctx, s, told, covered, round{done, err, news})
	return outcome.Earlier(next(s, steps, covered)), err
}

// look reads the group live. The Lease is read as well where none is known, and
// where it notes a decrease, whose pods are told things without a write before.
// Else its compare-and-swap says whether what is known of it is still so (ADR 13).
func (c *Controller) look(ctx context.Context, s plan.Snapshot) (plan.Snapshot, error) {
	if !s.Hold.Exists || !s.Hold.Decrease.None() {
		return c.Observer.Live(ctx, s.Key)
	}
	return c.Observer.LiveUnder(ctx, s.Key, s.Hold)
}

func think(s plan.Snapshot) ([]plan.Action, hold.Decision) {
	steps := plan.Group(s)
	return steps, hold.Cover(s, steps)
}

// next says when to look again without an event: when a wait ends by time, when
// the hold has to be renewed or lapses, when pods are told something again, or to tell
// that a wait lasts.
func next(s plan.Snapshot, steps []plan.Action, covered hold.Decision) loop.Outcome {
	record := s.Hold
	if covered.Verdict == hold.Write {
		record = covered.Record
	}
	outcome := at(plan.Wake(steps), s.Now).Earlier(at(hold.RenewAt(record), s.Now)).Earlier(at(plan.ToldAgain(s), s.Now))
	outcome = outcome.Earlier(at(hold.LapsesAt(record, s.Now), s.Now))
	if waits(steps) {
		return outcome.Earlier(loop.After(waitsAgain))
	}
	return outcome
}

func waits(steps []plan.Action) bool {
	return slices.ContainsFunc(steps, func(a plan.Action) bool { _, is := a.(plan.Wait); return is })
}

// at returns the outcome for a time, which may be none, counted from when the
// plan was made: a clock that jumps in between changes nothing. A time that was
// over then, so that the plan did not end it, does not make a loop that never
// rests.
func at(t, planned time.Time) loop.Outcome {
	switch {
	case t.IsZero():
		return loop.Done()
	case !t.After(planned):
		return loop.After(lookAgain)
	}
	return loop.After(t.Sub(planned))
}

// refuse reports a plan that broke a rule of internal/invariant. Nothing of it
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
	c.Told.Forget(key)
	c.Asked.Forget(key)
	c.Traces.Forget(key)
	c.trouble.forget(key)
}

// round is what became of a plan.
type round struct {
	done []plan.Receipt
	err  error
	news bool
}

// log writes one line for a plan that did something or has news, at debug
// level for all others. Errors themselves are the loop's to log.
func (c *Controller) log(ctx context.Context, s plan.Snapshot, steps []plan.Action, covered hold.Decision, r round) {
	holder := s.Hold.Holder
	if covered.Verdict == hold.Write {
		holder = covered.Record.Holder
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
	case plan.Disrupts(steps) && r.err == nil:
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
	return logrus.Fields{"namespace": key.Namespace, "group": key.Group}
}
