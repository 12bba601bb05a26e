// Package pools reconciles StatefulClusters, one at a time: observe, plan, decide the record of the hold, act, report.
//
// It contains no rule about pods. These rules are in internal/plan/pool and internal/lock/hold.
package pools

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/sirupsen/logrus"
	"k8s.io/client-go/dynamic"

	"github.com/lockstep-dev/lockstep/internal/control/failing"
	"github.com/lockstep-dev/lockstep/internal/control/loop"
	"github.com/lockstep-dev/lockstep/internal/lock/freshness"
	"github.com/lockstep-dev/lockstep/internal/lock/hold"
	"github.com/lockstep-dev/lockstep/internal/lock/invariant"
	invariants "github.com/lockstep-dev/lockstep/internal/lock/invariant/pools"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/pool"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
	"github.com/lockstep-dev/lockstep/internal/show/spans"
)

type observer interface {
	Cached(plan.Key) pool.Snapshot
	Live(context.Context, plan.Key) (pool.Snapshot, error)
	SameDesiredState(context.Context, pool.Snapshot) (bool, error)
	SameHold(context.Context, pool.Snapshot) (bool, error)
	Lost(key plan.Key, identities int)
}

type executor interface {
	Run(context.Context, plan.Workload, []plan.Action, hold.Decision) ([]plan.Receipt, error)
}

type reporter interface {
	Pool(*pool.Snapshot, []plan.Action, []plan.Receipt) (news bool, due time.Duration)
	Forget(plan.Key)
}

type traces interface {
	Show(context.Context, plan.Key, plan.Rollouts)
	Forget(plan.Key)
}

// Controller reconciles one StatefulCluster for each call. Calls for different ones may run concurrently.
type Controller struct {
	Observer observer
	Managed  func(namespace string) bool
	Executor executor
	Reporter reporter
	Traces   traces
	Fresh    *freshness.Log
	Client   dynamic.Interface // writes statuses
	Log      *logrus.Logger
	DryRun   bool

	statuses statuses
	failures failing.Log
	deferred sync.Map // keys of the StatefulClusters whose live read was put off in the last turn that needed one
}

// Reconcile takes the next step towards the goal of a pool. It returns when to reconcile again if no event comes first.
func (c *Controller) Reconcile(ctx context.Context, key plan.Key) (loop.Outcome, error) {
	cached := c.Observer.Cached(key)
	if !c.Managed(key.Namespace) || cached.Gone() && !cached.Hold.Exists {
		c.forget(key)
		return loop.Gone(), nil
	}
	c.Traces.Show(ctx, key, cached.Hold.Rollouts)
	if missing, lasting := c.Fresh.Behind(&cached); missing != "" {
		c.reportStaleCaches(ctx, cached, missing, lasting >= hold.StaleCachesAfter)
		return loop.After(hold.ReconcileAgainAfter), nil
	}
	t, undone := c.decide(ctx, cached)
	seen, steps, decision := t.seen, t.steps, t.decision
	if t.toBeShown {
		return c.report(ctx, seen, steps, t.filled).Earlier(loop.After(hold.ReconcileAgainAfter)), nil
	}
	if undone != nil && len(steps) == 0 {
		return c.reportWithoutPlan(ctx, t, undone), undone
	}
	spans.Describe(ctx, &seen, steps)
	if broken := invariants.Check(seen, steps, decision); broken != nil {
		return loop.After(hold.ReportAfter), c.refuse(ctx, seen, steps, broken)
	}
	done, err := c.Executor.Run(ctx, &seen, steps, decision)
	err = errors.Join(undone, err)
	if lost := pool.Losses(&seen, done); lost > 0 {
		c.Observer.Lost(key, lost)
	}
	c.log(ctx, key, steps, done)
	failure, _ := c.failure(seen, err)
	outcome := c.report(ctx, seen, append(failure, steps...), append(t.filled, done...))
	if after, is := hold.NextReconcile(&seen, steps, decision); is {
		outcome = outcome.Earlier(loop.After(after))
	}
	if again := err != nil && reason.ClassOf(err) == reason.Again; seen.Live && !again { // which has its back-off
		outcome = outcome.Earlier(loop.After(hold.ReconcileAgainAfter)) // the caches may show less than the live read
	}
	return outcome, err
}

// reportStaleCaches reports caches that do not catch up, and logs that once.
func (c *Controller) reportStaleCaches(ctx context.Context, cached pool.Snapshot, missing string, lasts bool) {
	entry := c.Log.WithContext(ctx).WithFields(fields(cached.Key)).WithField("missing", missing)
	if lasts {
		waits := []plan.Action{plan.Wait{Zone: cached.Key.Name, Because: plan.Refusal{Code: reason.CacheStale}}}
		c.statuses.write(ctx, c, cached, waits)
		if news, _ := c.Reporter.Pool(&cached, waits, nil); news {
			entry.Warn("the caches do not catch up")
			return
		}
	}
	entry.Debug("the caches do not show the last known state yet")
}

// reportWithoutPlan reports filled places and failures for which there is no plan. A failure that does not last is not reported: without
// a plan it would seem that nothing is to do.
func (c *Controller) reportWithoutPlan(ctx context.Context, t turn, err error) loop.Outcome {
	failure, lasts := c.failure(t.seen, err)
	if !lasts && len(t.filled) == 0 {
		return loop.Done()
	}
	for _, r := range t.filled {
		failure = append(failure, r.Step)
	}
	return c.report(ctx, t.seen, failure, t.filled)
}

// failure returns a wait for requests that have failed for a while.
func (c *Controller) failure(seen pool.Snapshot, err error) (wait []plan.Action, lasts bool) {
	because, lasts := c.failures.Observe(seen.Key, seen.Now, err)
	if !lasts {
		return nil, false
	}
	because.Detail = drawnID.ReplaceAllString(plan.Plain(failing.Message(failing.Worst(err)), longestFailure), "-ID")
	return []plan.Action{plan.Wait{Zone: seen.Key.Name, Because: because}}, true
}

// report reports the result of a plan. It returns when to reconcile again so that a lasting wait becomes an Event, and a
// changed status is written.
func (c *Controller) report(ctx context.Context, seen pool.Snapshot, steps []plan.Action, done []plan.Receipt) loop.Outcome {
	_, due := c.Reporter.Pool(&seen, steps, done)
	outcome := loop.Done()
	for _, after := range []time.Duration{due, c.statuses.write(ctx, c, seen, steps)} {
		if after > 0 {
			outcome = outcome.Earlier(loop.After(after))
		}
	}
	return outcome
}

// drawnID is the identity in the name of a pod or claim that was to be created. Each attempt has another one, and the status
// must not change with each.
var drawnID = regexp.MustCompile(`-[0-9a-f]{16}\b`)

// longestFailure is how much of the message of a failed request is reported, in bytes.
const longestFailure = 500

// refuse reports a plan that violates a rule of internal/lock/invariant/pools. Nothing of it is carried out. It is
// made again when something changes, or after a while, because what a rule says may depend on time.
func (c *Controller) refuse(ctx context.Context, seen pool.Snapshot, steps []plan.Action, broken *invariant.Violation) error {
	waits := []plan.Action{plan.Wait{Zone: seen.Key.Name, Because: plan.Refusal{Code: reason.InvariantViolated, Detail: broken.Name}}}
	c.Reporter.Pool(&seen, waits, nil)
	c.statuses.write(ctx, c, seen, waits)
	return reason.WithClass(reason.Human, fmt.Errorf("plan %q: %w", plan.Notation(steps), broken))
}

// turn is what one reconcile has found, and has to carry out.
type turn struct {
	seen      pool.Snapshot
	steps     []plan.Action
	decision  hold.Decision
	filled    []plan.Receipt // of the places that were filled before the live read
	toBeShown bool           // pods were created: the rest of the plan is made again once the caches show them
}

// decide plans on the caches and, if they are not sufficient, again on a live read. Places are filled before that read, and a
// refusal delays nothing else. If pods were created, the read is put off, so that they are completed as soon as the caches show
// them. No new identity keeps a place under a hold that has changed since: the place may be that of an identity which is handed over, and
// whose pod is already gone (ADR 51). A plan that ends pods is confirmed by another read of the object. No disruption begins long after the
// first read of its plan: pods may have ended meanwhile.
func (c *Controller) decide(ctx context.Context, seen pool.Snapshot) (turn, error) {
	began := time.Now()
	t := turn{seen: seen, steps: pool.Plan(seen)}
	t.decision = hold.Decide(&t.seen, t.steps)
	var unfilled error
	sameHold := !slices.ContainsFunc(t.steps, pool.TakesPlace) || c.isSameHold(ctx, seen)
	if t.decision.Need == hold.ReadLive || !sameHold {
		fills := pool.FillingPlaces(t.steps)
		if !sameHold {
			fills = slices.DeleteFunc(fills, pool.TakesPlace)
		}
		t.filled, unfilled = c.fillPlaces(ctx, &seen, fills)
		if unfilled == nil && createsPods(t.filled) && c.putsOff(seen.Key) {
			t.toBeShown = true
			return t, nil
		}
		c.deferred.Delete(seen.Key)
		began = time.Now()
		live, err := c.Observer.Live(ctx, seen.Key)
		if err != nil {
			t.steps, t.decision = slices.DeleteFunc(onCaches(t.steps), pool.FillsPlace), hold.Decision{}
			return t, errors.Join(unfilled, fmt.Errorf("read %s live: %w", seen.Key, err))
		}
		c.Fresh.ReadLive(&live)
		t.seen, t.steps = live, pool.Plan(live)
		if unfilled != nil {
			t.steps = slices.DeleteFunc(t.steps, pool.FillsPlace) // this was tried
		}
		t.decision = hold.Decide(&t.seen, t.steps)
	}
	if !t.decision.Verify {
		return t, unfilled
	}
	t.decision.DisruptBefore = began.Add(hold.ConfirmedFor)
	same, err := c.Observer.SameDesiredState(ctx, t.seen)
	switch {
	case err != nil:
		t.steps = nil
		return t, errors.Join(unfilled, fmt.Errorf("read the StatefulCluster of %s: %w", seen.Key, err))
	case !same:
		t.steps, t.decision = nil, hold.Decision{} // an event about the change follows
	}
	return t, unfilled
}

// isSameHold reports whether the Lease is the one in a snapshot. If it cannot be read, that is not known.
func (c *Controller) isSameHold(ctx context.Context, seen pool.Snapshot) bool {
	same, err := c.Observer.SameHold(ctx, seen)
	if err != nil {
		c.Log.WithContext(ctx).WithFields(fields(seen.Key)).WithError(err).Debug("the Lease cannot be read")
	}
	return same
}

// fillPlaces creates and completes pods before the live read that other actions of the same plan need.
func (c *Controller) fillPlaces(ctx context.Context, seen *pool.Snapshot, steps []plan.Action) ([]plan.Receipt, error) {
	if len(steps) == 0 {
		return nil, nil
	}
	if broken := invariants.Check(*seen, steps, hold.Decision{}); broken != nil {
		return nil, c.refuse(ctx, *seen, steps, broken)
	}
	done, err := c.Executor.Run(ctx, seen, steps, hold.Decision{})
	c.log(ctx, seen.Key, steps, done)
	return done, err
}

// putsOff puts a live read off, unless the last one was: a StatefulCluster whose pods end again and again is read as well.
func (c *Controller) putsOff(key plan.Key) bool {
	_, was := c.deferred.LoadOrStore(key, true)
	return !was
}

func createsPods(done []plan.Receipt) bool {
	return slices.ContainsFunc(done, func(r plan.Receipt) bool { _, is := r.Step.(pool.CreatePods); return is })
}

// onCaches returns the actions that need no live read and no hold: missing pods are created although the live read fails.
func onCaches(steps []plan.Action) []plan.Action {
	return slices.DeleteFunc(plan.In(plan.WithoutHold, steps), func(a plan.Action) bool { return a.Effect().Read != plan.OnCaches })
}

func (c *Controller) forget(key plan.Key) {
	c.Resign(key)
	c.Fresh.Forget(key)
}

// Resign drops the state of a StatefulCluster that only the leader needs. It keeps what this process has observed and
// written, because its webhooks still serve.
func (c *Controller) Resign(key plan.Key) {
	c.Reporter.Forget(key)
	c.Traces.Forget(key)
	c.statuses.forget(key)
	c.failures.Forget(key)
	c.deferred.Delete(key)
}

func (c *Controller) log(ctx context.Context, key plan.Key, steps []plan.Action, done []plan.Receipt) {
	entry := c.Log.WithContext(ctx).WithFields(fields(key)).WithField("plan", plan.InOneLine(steps, plan.LongestInLog))
	if len(done) > 0 {
		entry.Info("stepped")
		return
	}
	entry.Debug("reconciled")
}

func fields(key plan.Key) logrus.Fields {
	return logrus.Fields{"namespace": key.Namespace, "statefulcluster": key.Name}
}
