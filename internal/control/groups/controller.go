// Package groups reconciles rollout groups of StatefulSets, one group at a time: observe, plan, decide the record of
// the hold, check, act, report.
//
// It contains no rule about pods. These rules are in internal/plan and internal/lock/hold.
package groups

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/lockstep-dev/lockstep/internal/cluster/diagnosis"
	"github.com/lockstep-dev/lockstep/internal/control/contest"
	"github.com/lockstep-dev/lockstep/internal/control/failing"
	"github.com/lockstep-dev/lockstep/internal/control/loop"
	"github.com/lockstep-dev/lockstep/internal/lock/freshness"
	"github.com/lockstep-dev/lockstep/internal/lock/hold"
	"github.com/lockstep-dev/lockstep/internal/lock/invariant"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
	"github.com/lockstep-dev/lockstep/internal/show/spans"
)

type observer interface {
	Managed(namespace string) bool
	Cached(plan.Key) group.Snapshot
	Live(context.Context, plan.Key) (group.Snapshot, error)
	LiveUnder(context.Context, plan.Key, group.Hold) (group.Snapshot, error)
	SameDesiredState(ctx context.Context, cached group.Snapshot) (bool, error)
	Diagnose(ctx context.Context, namespace string, pod plan.Pod) ([]diagnosis.Fact, error)
	WriterOfReplicas(ctx context.Context, namespace, zone, uid string) (string, error)
}

type executor interface {
	Run(context.Context, plan.Workload, []plan.Action, hold.Decision) ([]plan.Receipt, error)
}

type reporter interface {
	Group(group.Snapshot, []plan.Action, []plan.Receipt) (changed bool, due time.Duration)
	ReplicasOverwritten(key plan.Key, zone string)
	Forget(plan.Key)
}

type podCalls interface {
	Forget(plan.Key)
}

type traces interface {
	Show(context.Context, plan.Key, plan.Rollouts)
	Forget(plan.Key)
}

// Controller reconciles one group for each call. Calls for different groups may run
// concurrently.
type Controller struct {
	Observer     observer
	Executor     executor
	Reporter     reporter
	Messages     podCalls
	Preparations podCalls
	Traces       traces
	Fresh        *freshness.Log
	Contests     *contest.Log // the Observer includes its content in snapshots
	Log          *logrus.Logger
	DryRun       bool // whether the Executor writes nothing

	attempts  attempts
	failures  failing.Log
	diagnoses diagnoses
}

// Reconcile takes the next step towards the goal of the group. It returns when to reconcile
// again if no event comes first.
func (c *Controller) Reconcile(ctx context.Context, key plan.Key) (loop.Outcome, error) {
	if !c.Observer.Managed(key.Namespace) {
		return c.forget(key), nil
	}
	cached := c.Observer.Cached(key)
	idle := len(cached.Zones) == 0 || key.Kind == plan.KindBudget // without a hold, there is no work for the pods of a budget
	if idle && !cached.Hold.Exists {
		return c.forget(key), nil
	}
	c.Traces.Show(ctx, key, cached.Hold.Rollouts)
	if missing, lasting := c.Fresh.Behind(&cached); missing != "" {
		c.reportStaleCaches(ctx, cached, missing, lasting >= hold.StaleCachesAfter)
		return loop.After(hold.ReconcileAgainAfter), nil
	}
	return c.planAndAct(ctx, cached)
}

// planAndAct plans on the caches and, if they are not sufficient, again on a live read. It checks
// the plan, carries it out and reports it.
func (c *Controller) planAndAct(ctx context.Context, cached group.Snapshot) (loop.Outcome, error) {
	t, err := c.planToCarryOut(ctx, evaluate(cached))
	switch {
	case errors.Is(err, errUnconfirmed):
		return loop.After(hold.ReconcileAgainAfter), nil
	case err != nil:
		return c.reportFailedRead(ctx, t, err), err
	}
	spans.Describe(ctx, &t.seen, t.steps)
	if broken := invariant.Check(t.seen, t.steps, t.decision); broken != nil {
		return loop.Done(), c.refuse(t.seen, t.steps, broken)
	}
	done, err := c.Executor.Run(ctx, &t.seen, c.attempts.sort(t.seen.Key, t.steps), t.decision)
	c.attempts.observe(t.seen.Key, t.steps, done)
	c.remember(ctx, t.seen, done)
	return c.caughtUp(t).Earlier(t.next()).Earlier(c.report(ctx, t, done, err)), err
}

// caughtUp returns when to reconcile again after a live read that disrupts nothing, so that the caches show the read
// and later writes. A dry run writes nothing, so its caches may never change.
func (c *Controller) caughtUp(t evaluation) loop.Outcome {
	switch {
	case !t.seen.Live || plan.Disrupts(t.steps):
		return loop.Done()
	case c.DryRun:
		return loop.After(hold.ReportAfter)
	}
	return loop.After(hold.ReconcileAgainAfter)
}

// evaluation is a plan, the snapshot that it was made from, and the record that the hold needs.
type evaluation struct {
	seen     group.Snapshot
	steps    []plan.Action
	decision hold.Decision
}

func evaluate(s group.Snapshot) evaluation {
	steps := group.Plan(s)
	return evaluation{s, steps, hold.Decide(&s, steps)}
}

// errUnconfirmed is the result if what is known after a plan was made contradicts it.
var errUnconfirmed = errors.New("the plan is not confirmed")

// planToCarryOut returns the plan to carry out: that of the caches if they suffice, else that of a live read. It returns
// errUnconfirmed if no plan is confirmed yet.
func (c *Controller) planToCarryOut(ctx context.Context, cached evaluation) (evaluation, error) {
	if cached.decision.Need != hold.ReadLive {
		if t, err := c.onCaches(ctx, cached); !errors.Is(err, errUnconfirmed) {
			return t, err
		}
	}
	live, err := c.evaluateLive(ctx, cached.seen)
	if err != nil {
		return cached, err
	}
	live, err = c.asRead(ctx, live)
	if errors.Is(err, errUnconfirmed) {
		_, lasts := c.failures.Observe(live.seen.Key, live.seen.Now, err)
		c.reportStaleCaches(ctx, live.seen, "the last live read", lasts)
	}
	return live, err
}

// onCaches confirms a plan of the caches. After the read of the StatefulSets it plans again on the caches, which may
// show more by now, by the time of the first plan: a record that the plan carries out does not time out meanwhile.
func (c *Controller) onCaches(ctx context.Context, t evaluation) (evaluation, error) {
	if !t.decision.Verify {
		return t, nil
	}
	before, err := c.readAgain(ctx, t)
	if err != nil {
		return t, err
	}
	seen := c.Observer.Cached(t.seen.Key)
	seen.Now = t.seen.Now
	if missing, _ := c.Fresh.Behind(&seen); missing != "" || !seen.SameDesiredState(&t.seen) {
		return t, errUnconfirmed
	}
	again := evaluate(seen)
	if again.decision.Need == hold.ReadLive {
		return t, errUnconfirmed
	}
	again.decision.DisruptBefore = before
	return again, nil
}

// asRead confirms a plan of a live read: the caches must propose its disruptions.
func (c *Controller) asRead(ctx context.Context, t evaluation) (evaluation, error) {
	if !t.decision.Verify {
		return t, nil
	}
	before, err := c.readAgain(ctx, t)
	if err == nil && !group.Confirms(c.Observer.Cached(t.seen.Key), t.seen, t.steps) {
		err = errUnconfirmed
	}
	t.decision.DisruptBefore = before
	return t, err
}

// readAgain reads what the StatefulSets ask for, and returns until when a plan counts as confirmed that assumes the
// same. It returns errUnconfirmed if they ask for something else, or if the read took too long.
func (c *Controller) readAgain(ctx context.Context, t evaluation) (time.Time, error) {
	before := time.Now().Add(hold.ConfirmedFor)
	ctx, stop := context.WithDeadline(ctx, before)
	defer stop()
	same, err := c.Observer.SameDesiredState(ctx, t.seen)
	switch {
	case err != nil:
		return before, fmt.Errorf("read the StatefulSets of %s: %w", t.seen.Key, err)
	case !same:
		return before, errUnconfirmed
	}
	return before, nil
}

// evaluateLive plans again on a live read.
func (c *Controller) evaluateLive(ctx context.Context, cached group.Snapshot) (evaluation, error) {
	live, err := c.readLive(ctx, cached)
	if err != nil {
		return evaluation{}, fmt.Errorf("read %s live: %w", cached.Key, err)
	}
	c.Fresh.ReadLive(&live)
	return evaluate(live), nil
}

// reportFailedRead reports live reads that have failed for a while. It returns when to reconcile again
// so that the report becomes an Event.
func (c *Controller) reportFailedRead(ctx context.Context, cached evaluation, err error) loop.Outcome {
	s := cached.seen
	because, lasts := c.failures.Observe(s.Key, s.Now, err)
	if !lasts {
		return loop.Done()
	}
	reported := withFailures(cached.steps, c.stalled(s.Key, cached.steps, nil, because))
	changed, due := c.Reporter.Group(s, reported, nil)
	c.log(ctx, s, reported, cached.decision, round{err: err, changed: changed})
	return dueAfter(due)
}

// readLive reads the group live, with its Lease if the hold must be read too.
func (c *Controller) readLive(ctx context.Context, s group.Snapshot) (group.Snapshot, error) {
	if hold.LiveReadNeedsLease(s.Record()) {
		return c.Observer.Live(ctx, s.Key)
	}
	return c.Observer.LiveUnder(ctx, s.Key, s.Hold)
}

// next returns when to reconcile again without an event.
func (t evaluation) next() loop.Outcome {
	if after, due := hold.NextReconcile(&t.seen, t.steps, t.decision); due {
		return loop.After(after)
	}
	return loop.Done()
}

// report reports the result of a plan, and requests that have failed for a while. It returns
// when to reconcile again so that a lasting wait becomes an Event.
func (c *Controller) report(ctx context.Context, t evaluation, done []plan.Receipt, err error) loop.Outcome {
	reported := t.steps
	if because, lasts := c.failures.Observe(t.seen.Key, t.seen.Now, err); lasts {
		reported = withFailures(t.steps, c.stalled(t.seen.Key, t.steps, done, because))
	}
	reported = c.diagnosed(ctx, t.seen, reported)
	changed, due := c.Reporter.Group(t.seen, reported, done)
	c.log(ctx, t.seen, reported, t.decision, round{done, err, changed})
	return dueAfter(due)
}

// stalled returns the waits of zones whose requests failed or were left out.
func (c *Controller) stalled(key plan.Key, steps []plan.Action, done []plan.Receipt, because plan.Refusal) []plan.Action {
	return stalled(steps, done, because, func(step plan.Action) error { return c.attempts.failure(key, step) })
}

// dueAfter returns when to reconcile again so that a delayed Event is sent.
func dueAfter(due time.Duration) loop.Outcome {
	if due > 0 {
		return loop.After(due)
	}
	return loop.Done()
}

// reportStaleCaches reports caches that do not catch up.
func (c *Controller) reportStaleCaches(ctx context.Context, s group.Snapshot, missing string, lasts bool) {
	entry := c.Log.WithContext(ctx).WithFields(fields(s.Key)).WithField("missing", missing)
	waits := everyZone(s, plan.Refusal{Code: reason.CacheStale})
	if lasts {
		if changed, _ := c.Reporter.Group(s, waits, nil); changed {
			entry.WithField("plan", plan.InOneLine(waits, plan.LongestInLog)).Warn("the caches do not catch up")
			return
		}
	}
	entry.Debug("the caches do not show the last known state yet")
}

// everyZone returns a wait with the same reason for every zone.
func everyZone(s group.Snapshot, because plan.Refusal) []plan.Action {
	var waits []plan.Action
	for _, z := range s.Zones {
		waits = append(waits, plan.Wait{Zone: z.Name, Because: because})
	}
	return waits
}

// refuse reports a plan that violates a rule of internal/lock/invariant. Nothing of it is
// carried out, and it is not retried until something changes.
func (c *Controller) refuse(s group.Snapshot, steps []plan.Action, broken *invariant.Violation) error {
	c.Reporter.Group(s, everyZone(s, plan.Refusal{Code: reason.InvariantViolated, Detail: broken.Name}), nil)
	return reason.WithClass(reason.Human, fmt.Errorf("plan %q: %w", plan.Notation(steps), broken))
}

func (c *Controller) forget(key plan.Key) loop.Outcome {
	c.Forget(key)
	return loop.Gone()
}

// Forget drops the state of a group that does not exist any more, or whose namespace opted
// out.
func (c *Controller) Forget(key plan.Key) {
	c.Resign(key)
	c.Fresh.Forget(key)
}

// Resign drops the state of a group that only the leader needs. It keeps what this process
// has observed and written, because its webhooks still serve. A granted eviction lapses by
// how long this process has known of it, regardless of changes of leadership.
func (c *Controller) Resign(key plan.Key) {
	c.Reporter.Forget(key)
	c.Messages.Forget(key)
	c.Preparations.Forget(key)
	c.Traces.Forget(key)
	c.Contests.Forget(key)
	c.attempts.forget(key)
	c.failures.Forget(key)
	c.diagnoses.forget(key)
}

// round is the result of a plan.
type round struct {
	done    []plan.Receipt
	err     error
	changed bool
}

// log writes one line for a plan. The level is info if the plan acted, would act in a dry run,
// or was reported for the first time, and debug otherwise. The loop logs errors.
func (c *Controller) log(ctx context.Context, s group.Snapshot, steps []plan.Action, decision hold.Decision, r round) {
	holder := s.Hold.Holder
	if decision.Need == hold.Write {
		holder = decision.Record.Holder
	}
	entry := c.Log.WithContext(ctx).WithFields(fields(s.Key)).WithFields(logrus.Fields{
		"plan":   plan.InOneLine(steps, plan.LongestInLog),
		"holder": holder.Plain(),
		"live":   s.Live,
	})
	if remarks := group.Remarks(s); len(remarks) > 0 {
		entry = entry.WithField("remarks", inWords(remarks))
	}
	switch {
	case len(r.done) > 0:
		succeeded := successes(r.done)
		entry.WithFields(logrus.Fields{"done": succeeded, "failed": len(r.done) - succeeded}).Info("stepped")
	case plan.Acts(steps) && r.err == nil: // a dry run
		entry.Info("would step")
	case r.changed:
		entry.Info("waits")
	default:
		entry.Debug("reconciled")
	}
}

// inWords returns remarks as text: zone-a ReplicasForced (1 replicas).
func inWords(remarks []plan.Wait) string {
	var words []string
	for _, r := range remarks {
		words = append(words, r.Zone+" "+r.Because.String())
	}
	return plan.Plain(strings.Join(words, "; "), plan.LongestInLog)
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
