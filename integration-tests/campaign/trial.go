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

// trial is a plan that is carried out.
type trial struct {
	ground    *ground
	plan      plan
	namespace string
	client    kubernetes.Interface
	service   *service
	replicas  []*replica
	witness   *judge.Observer
	present   *present
	began     time.Time
	working   sync.WaitGroup // operators

	trap trap

	mu       sync.Mutex
	faults   map[string]int
	remarks  []string
	failures []string      // of operators, which break the plan
	stopped  []judge.Delay // of operators that stood still
	played   time.Time     // when the first steps began
	over     time.Time     // when the last was done
	reached  bool          // the goal, as far as users were answered
	missed   error         // what of it was not reached, though the cluster stood to the end
}

const (
	// preparing is how long zones, operators and webhooks may take to be there.
	preparing = 3 * time.Minute
	// recovering is how long operators may end by themselves, or not start, when a part of
	// the control plane is back.
	recovering = 5 * time.Second
	// patience is how long after the last fault the goal may take.
	patience = 4 * time.Minute
)

// carryOut tries a plan and judges it. The error says that it could not; what operators
// did wrong until then is in the record.
func (g *ground) carryOut(ctx context.Context, p plan) (record, error) {
	t := &trial{
		ground: g, plan: p, namespace: fmt.Sprintf("plan-%d", p.seed), client: g.client,
		present: newPresent(), began: time.Now(), faults: map[string]int{},
		trap: trap{caught: make(chan stopped, 1)},
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	defer t.leave(context.WithoutCancel(ctx))
	watching, blind := context.WithCancel(context.WithoutCancel(ctx)) // what was played is judged, whatever ends
	defer blind()
	if err := t.watch(ctx, watching); err != nil {
		return t.soFar(), err
	}
	working, end := context.WithCancel(ctx)
	defer end()
	if err := t.prepare(ctx, working); err != nil {
		return t.soFar(), fmt.Errorf("plan %d: %w", p.seed, err)
	}
	missed := t.play(ctx)
	t.over = time.Now()
	if err := ctx.Err(); err != nil {
		return t.soFar(), err
	}
	end()
	t.working.Wait()
	time.Sleep(settling)
	if t.reached = missed == nil; !t.reached && g.stood(t.over) {
		t.missed = missed
	}
	return t.judge()
}

// settling is what watches may need to tell the last.
const settling = 500 * time.Millisecond

// play lets users ask and faults happen, and returns what of the goal was missed.
func (t *trial) play(ctx context.Context) error {
	t.played = time.Now()
	for _, r := range t.replicas {
		r.proxy.Play(t.scriptOf(r, false))
	}
	asking, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	answers := make(chan error, len(t.plan.lanes))
	for _, lane := range t.plan.lanes {
		go func() { answers <- t.ask(asking, lane) }()
	}
	t.disturb(ctx)
	for _, r := range t.replicas {
		if err := r.replaceFormer(ctx); err != nil {
			t.remark(ctx, "the %s operator is not replaced: %v", ordinals[r.number], err)
		}
		if err := r.calm(); err != nil {
			return err
		}
	}
	t.awaitHeld(ctx)
	deadline := time.AfterFunc(patience, func() { giveUp(fmt.Errorf("not reached %s after the last fault", patience)) })
	defer deadline.Stop()
	var missed []error
	for range t.plan.lanes {
		missed = append(missed, <-answers)
	}
	missed = append(missed, insist(asking, "wait for the goal", func(context.Context) error { return t.present.whole(t.plan, true) }))
	return errors.Join(missed...)
}

// awaitHeld waits until whatever is held back has arrived.
func (t *trial) awaitHeld(ctx context.Context) {
	held := func(r *replica) bool { return r.proxy.Holding() > 0 }
	for slices.ContainsFunc(t.replicas, held) && wait(ctx, tryAgain) {
		continue
	}
}

// ask goes through the steps of a lane.
func (t *trial) ask(ctx context.Context, lane []step) error {
	began := time.Now()
	for _, s := range lane {
		if wait(ctx, s.at-time.Since(began)) {
			if err := insist(ctx, s.what, s.until(t)); err != nil {
				return err
			}
		}
	}
	return nil
}

// disturb lets deeds be done, and returns when the time of faults is over.
func (t *trial) disturb(ctx context.Context) {
	var deeds sync.WaitGroup
	for _, f := range t.plan.faults {
		if f.deed == nil {
			continue
		}
		deeds.Go(func() {
			if !wait(ctx, f.at) {
				return
			}
			if err := f.deed(ctx, t, t.replicas[max(f.replica, 0)]); err != nil {
				t.remark(ctx, "%s: %v", f.words, err)
			}
		})
	}
	deeds.Go(func() { wait(ctx, busy) })
	deeds.Wait()
}

// count counts a fault that has happened.
func (t *trial) count(kind string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.faults[kind]++
}

// countUnless counts a fault that has happened unless there is an error, and returns that.
func (t *trial) countUnless(err error, kind string) error {
	if err == nil {
		t.count(kind)
	}
	return err
}

// remark keeps what is worth reading and decides nothing.
func (t *trial) remark(ctx context.Context, format string, args ...any) {
	if ctx.Err() != nil {
		return // it is the end that is complained of
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.remarks = append(t.remarks, fmt.Sprintf(format, args...))
}

// failed keeps how an operator failed, which breaks the plan unless the control plane
// was away at that time.
func (t *trial) failed(at time.Time, format string, args ...any) {
	for _, a := range t.ground.absencesSince(t.began) {
		if at.After(a.from) && at.Before(ended(a.to).Add(recovering)) {
			t.remark(context.Background(), format, args...)
			return
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.failures = append(t.failures, fmt.Sprintf(format, args...))
}

// ended keeps how an operator ended that nobody had killed.
func (t *trial) ended(process *localcluster.Operator) {
	t.failed(time.Now(), "an operator ended by itself with code %d: %s", process.ExitCode(), child.LastLines(process.LogPath(), 2))
}
