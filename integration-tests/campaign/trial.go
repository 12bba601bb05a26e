package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/lockstep-dev/lockstep/integration-tests/child"
	"github.com/lockstep-dev/lockstep/integration-tests/judge"
	"github.com/lockstep-dev/lockstep/integration-tests/localcluster"
)

// trial is the execution of a plan.
type trial struct {
	env       *environment
	plan      plan
	namespace string
	client    kubernetes.Interface
	service   *service
	replicas  []*replica
	observer  *judge.Observer
	state     *clusterState
	nodes     []string // of the pods of the StatefulCluster, without those that were deleted
	began     time.Time
	working   sync.WaitGroup // operators

	trap trap

	mu         sync.Mutex
	faults     map[string]int
	remarks    []string
	failures   []string      // of operators, which break the plan
	stopped    []judge.Delay // of operators that were stopped
	stepsBegan time.Time     // when the first steps began
	stepsEnded time.Time     // when the last step was complete
	reached    bool          // the goal, according to the answers to users
	missed     error         // the missed part of the goal, although the cluster was complete
}

const (
	// setUpTimeout is how long zones, operators and webhooks may take to become ready.
	setUpTimeout = 3 * time.Minute
	// recoveryTime is how long operators may exit, or fail to start, after a part of the control plane
	// has returned.
	recoveryTime = 5 * time.Second
	// maxFaultDuration is how long a fault may take. If it takes longer, the plan continues
	// without it.
	maxFaultDuration = 8 * time.Minute
	// goalTimeout is how long after the last fault the goal may take.
	goalTimeout = 4 * time.Minute
)

// runTrial runs and verifies a plan. It returns an error if it could not. The record then contains the
// findings so far.
func (e *environment) runTrial(ctx context.Context, p plan) (record, error) {
	t := &trial{
		env: e, plan: p, namespace: fmt.Sprintf("plan-%d", p.seed), client: e.client,
		state: newClusterState(), began: time.Now(), faults: map[string]int{},
		trap: trap{stopped: make(chan stoppedProcess, 1)},
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	defer t.tearDown(context.WithoutCancel(ctx))
	watching, blind := context.WithCancel(context.WithoutCancel(ctx)) // events are needed for the verification even if ctx ends
	defer blind()
	if err := t.watch(ctx, watching); err != nil {
		return t.partialRecord(), err
	}
	working, end := context.WithCancel(ctx)
	defer end()
	if err := t.setUp(ctx, working); err != nil {
		return t.partialRecord(), fmt.Errorf("plan %d: %w", p.seed, err)
	}
	missed := t.runPlan(ctx)
	t.stepsEnded = time.Now()
	if err := ctx.Err(); err != nil {
		return t.partialRecord(), err
	}
	end()
	t.working.Wait()
	time.Sleep(watchDelay)
	if t.reached = missed == nil; !t.reached && e.wasComplete(t.stepsEnded) {
		t.missed = missed
	}
	return t.verify()
}

// watchDelay is how long watches may take to deliver the last events.
const watchDelay = 500 * time.Millisecond

// runPlan runs the steps and faults, and returns the missed part of the goal.
func (t *trial) runPlan(ctx context.Context) error {
	t.stepsBegan = time.Now()
	for _, r := range t.replicas {
		r.proxy.Play(t.scriptOf(r, false))
	}
	asking, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	answers := make(chan error, len(t.plan.lanes))
	for _, lane := range t.plan.lanes {
		go func() { answers <- t.runLane(asking, lane) }()
	}
	t.runFaults(ctx)
	for _, r := range t.replicas {
		if err := r.replaceFormer(ctx); err != nil {
			t.remark(ctx, "the %s operator is not replaced: %v", ordinals[r.number], err)
		}
		if err := r.endFaults(); err != nil {
			return err
		}
	}
	t.awaitHeldRequests(ctx)
	deadline := time.AfterFunc(goalTimeout, func() { giveUp(fmt.Errorf("not reached %s after the last fault", goalTimeout)) })
	defer deadline.Stop()
	var missed []error
	for range t.plan.lanes {
		missed = append(missed, <-answers)
	}
	missed = append(missed, retry(asking, "wait for the goal", func(ctx context.Context) error {
		return errors.Join(t.state.checkZones(t.plan, true), t.checkPool(ctx, true))
	}))
	return errors.Join(missed...)
}

// awaitHeldRequests waits until all held requests have arrived.
func (t *trial) awaitHeldRequests(ctx context.Context) {
	held := func(r *replica) bool { return r.proxy.Holding() > 0 }
	for slices.ContainsFunc(t.replicas, held) && wait(ctx, retryInterval) {
		continue
	}
}

// runLane runs the steps of a lane.
func (t *trial) runLane(ctx context.Context, lane []step) error {
	began := time.Now()
	for _, s := range lane {
		if wait(ctx, s.at-time.Since(began)) {
			if err := retry(ctx, s.what, s.attemptFor(t)); err != nil {
				return err
			}
		}
	}
	return nil
}

// runFaults runs the faults, and returns when their period is over.
func (t *trial) runFaults(ctx context.Context) {
	var running sync.WaitGroup
	for _, f := range t.plan.faults {
		if f.run == nil {
			continue
		}
		running.Go(func() {
			if !wait(ctx, f.at) {
				return
			}
			limited, cancel := context.WithTimeout(ctx, maxFaultDuration)
			defer cancel()
			if err := f.run(limited, t, t.replicas[max(f.replica, 0)]); err != nil {
				t.remark(ctx, "%s: %v", f.description, err)
			}
		})
	}
	running.Go(func() { wait(ctx, activePeriod) })
	running.Wait()
}

// count counts a fault.
func (t *trial) count(kind string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.faults[kind]++
}

// countUnless counts a fault unless there is an error, and returns the error.
func (t *trial) countUnless(err error, kind string) error {
	if err == nil {
		t.count(kind)
	}
	return err
}

// remark records a remark that does not affect the result.
func (t *trial) remark(ctx context.Context, format string, args ...any) {
	if ctx.Err() != nil {
		return // a consequence of the end
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.remarks = append(t.remarks, fmt.Sprintf(format, args...))
}

// failed records a failure of an operator, which breaks the plan unless the control plane was away at
// that time.
func (t *trial) failed(at time.Time, format string, args ...any) {
	for _, a := range t.env.absencesSince(t.began) {
		if at.After(a.from) && at.Before(endOrNow(a.to).Add(recoveryTime)) {
			t.remark(context.Background(), format, args...)
			return
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.failures = append(t.failures, fmt.Sprintf(format, args...))
}

// operatorExited records the exit of an operator that was not killed.
func (t *trial) operatorExited(process *localcluster.Operator) {
	t.failed(time.Now(), "an operator ended by itself with code %d: %s", process.ExitCode(), child.LastLines(process.LogPath(), 2))
}
