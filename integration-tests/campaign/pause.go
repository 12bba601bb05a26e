package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"syscall"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"

	"github.com/lockstep-dev/lockstep/integration-tests/faultproxy"
	"github.com/lockstep-dev/lockstep/integration-tests/judge"
)

// processPaused stops an operator while it writes the Lease of a group. It continues after its
// leadership, or the Lease of the group, has expired.
func processPaused(random *rand.Rand) fault {
	long := between(random, 5*time.Second, 8*time.Second)
	if random.IntN(5) == 0 {
		long = longerThanHold
	}
	f := fault{replica: -1, at: between(random, 500*time.Millisecond, 5*time.Second), once: "paused"}
	f.description = fmt.Sprintf("after %s the operator that writes the Lease of a group is stopped for %s meanwhile", f.at, long)
	f.pauseAt(long, func(q faultproxy.Request) bool { return q.Method == http.MethodPut && q.Resource == "leases" })
	return f
}

// pauseAt makes a fault stop an operator at one of the writes that match.
func (f *fault) pauseAt(long time.Duration, matches func(faultproxy.Request) bool) {
	f.script = func(r *replica) faultproxy.Script {
		return func(q faultproxy.Request) faultproxy.Fault {
			if q.Kind == faultproxy.Leader {
				r.led.Store(time.Now().UnixNano())
			}
			if q.Kind != faultproxy.Write || !matches(q) || !r.trial.trap.catch(r) {
				return faultproxy.Fault{}
			}
			return faultproxy.StoppedAt(func() { r.trial.trap.stopped <- r.stopAt(q.Name) })
		}
	}
	f.run = func(ctx context.Context, t *trial, _ *replica) error {
		t.trap.arm()
		select {
		case s := <-t.trap.stopped:
			return t.resumeAfter(ctx, s, long)
		case <-time.After(activePeriod): // no operator wrote any more
			if t.trap.disarm() {
				return nil
			}
			return t.resumeAfter(ctx, <-t.trap.stopped, long)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// trap waits until an operator writes a Lease. For a while it waits for the leader only.
type trap struct {
	stopped chan stoppedProcess

	mu    sync.Mutex
	armed time.Time // zero: not armed
}

// leaderOnlyFor is how long a trap waits for the leader only.
const leaderOnlyFor = 5 * time.Second

func (t *trap) arm() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.armed = time.Now()
}

// disarm returns false if an operator was caught already.
func (t *trap) disarm() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	was := !t.armed.IsZero()
	t.armed = time.Time{}
	return was
}

// catch reports whether the trap catches a replica. It catches at most one.
func (t *trap) catch(r *replica) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.armed.IsZero() || !r.isLeader() && time.Since(t.armed) < leaderOnlyFor {
		return false
	}
	t.armed = time.Time{}
	return true
}

// stoppedProcess is an operator process that is stopped at a write of a Lease.
type stoppedProcess struct {
	replica *replica
	agent   string // of the process
	lease   string
	led     bool
	from    time.Time
	resume  func() error
}

// isLeader reports whether a replica renewed the leader Lease recently. Only the leader writes that
// Lease, except in the moment of a change.
func (r *replica) isLeader() bool { return time.Since(time.Unix(0, r.led.Load())) < 2*time.Second }

// stopAt stops the current process, if there is one.
func (r *replica) stopAt(lease string) stoppedProcess {
	r.mu.Lock()
	process := r.process
	r.mu.Unlock()
	s := stoppedProcess{replica: r, agent: r.currentProcess().agent(), lease: lease, led: r.isLeader(), from: time.Now()}
	if process == nil || process.Signal(syscall.SIGSTOP) != nil {
		return s
	}
	s.resume = func() error { return process.Signal(syscall.SIGCONT) }
	return s
}

// resumeAfter resumes an operator after a time. The fault counts if another operator became leader, or
// if the Lease of the group expired or was written by another process.
func (t *trial) resumeAfter(ctx context.Context, s stoppedProcess, long time.Duration) error {
	if s.resume == nil {
		return nil
	}
	wait(ctx, watchDelay)
	leader, hold := t.state.leader(), t.state.lease(s.lease)
	wait(ctx, long-watchDelay)
	if s.led && t.state.leaderChanged(leader) {
		t.count("paused past its leadership")
	}
	if wasReplaced(hold, t.state.lease(s.lease), time.Now()) {
		t.count("paused past a group's Lease")
	}
	err := s.resume()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stopped = append(t.stopped, judge.Delay{Request: judge.Request{Agent: s.agent}, From: s.from, To: time.Now()})
	return err
}

// wasReplaced reports whether a Lease with a holder has expired, or was written since.
func wasReplaced(before, after *coordinationv1.Lease, now time.Time) bool {
	switch {
	case before == nil || before.Spec.HolderIdentity == nil || *before.Spec.HolderIdentity == "":
		return false
	case after == nil || after.ResourceVersion != before.ResourceVersion:
		return true
	}
	return now.After(before.Spec.RenewTime.Add(time.Duration(*before.Spec.LeaseDurationSeconds) * time.Second))
}
