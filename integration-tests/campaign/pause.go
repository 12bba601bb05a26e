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

// paused stops an operator in the middle of a deed: when it writes the Lease of a
// group, past its leadership, or past the Lease of the group, and lets it go on.
func paused(random *rand.Rand) fault {
	long := between(random, 5*time.Second, 8*time.Second)
	if random.IntN(5) == 0 {
		long = pastHold
	}
	f := fault{replica: -1, at: between(random, 500*time.Millisecond, 5*time.Second), once: "paused"}
	f.words = fmt.Sprintf("after %s the operator that writes the Lease of a group is stopped for %s meanwhile", f.at, long)
	f.script = func(r *replica) faultproxy.Script {
		return func(q faultproxy.Request) faultproxy.Fault {
			if q.Kind == faultproxy.Leader {
				r.led.Store(time.Now().UnixNano())
			}
			if q.Kind != faultproxy.Write || q.Method != http.MethodPut || q.Resource != "leases" || !r.trial.trap.closes(r) {
				return faultproxy.Fault{}
			}
			return faultproxy.StoppedAt(func() { r.trial.trap.caught <- r.stopAt(q.Name) })
		}
	}
	f.deed = func(ctx context.Context, t *trial, _ *replica) error {
		t.trap.arm()
		select {
		case s := <-t.trap.caught:
			return t.pauses(ctx, s, long)
		case <-time.After(busy): // nobody did anything any more
			if t.trap.disarm() {
				return nil
			}
			return t.pauses(ctx, <-t.trap.caught, long)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return f
}

// trap waits for an operator to come by: for a while for the leader alone.
type trap struct {
	caught chan stopped

	mu    sync.Mutex
	armed time.Time // zero: it is not
}

// leaderOnly is how long a trap waits for the leader alone.
const leaderOnly = 5 * time.Second

func (t *trap) arm() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.armed = time.Now()
}

// disarm returns false if somebody has been caught already.
func (t *trap) disarm() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	was := !t.armed.IsZero()
	t.armed = time.Time{}
	return was
}

// closes reports whether an operator is caught, of which there is one at most.
func (t *trap) closes(r *replica) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.armed.IsZero() || !r.leads() && time.Since(t.armed) < leaderOnly {
		return false
	}
	t.armed = time.Time{}
	return true
}

// stopped is an operator that is stopped at a write of a Lease.
type stopped struct {
	replica   *replica
	agent     string // of the process
	lease     string
	led       bool
	from      time.Time
	continues func() error
}

// leads reports whether a replica has renewed its leadership lately. Only who leads
// writes that Lease, but for a moment at which it changes.
func (r *replica) leads() bool { return time.Since(time.Unix(0, r.led.Load())) < 2*time.Second }

// stopAt stops the process as it is; there may be none.
func (r *replica) stopAt(lease string) stopped {
	r.mu.Lock()
	process := r.process
	r.mu.Unlock()
	s := stopped{replica: r, agent: r.present().agent(), lease: lease, led: r.leads(), from: time.Now()}
	if process == nil || process.Signal(syscall.SIGSTOP) != nil {
		return s
	}
	s.continues = func() error { return process.Signal(syscall.SIGCONT) }
	return s
}

// pauses lets an operator go on after a time. It counts if another operator led in its
// place, or if the Lease that it held a group by ran out or was written by somebody else.
func (t *trial) pauses(ctx context.Context, s stopped, long time.Duration) error {
	if s.continues == nil {
		return nil
	}
	wait(ctx, settling)
	leader, hold := t.present.leader(), t.present.lease(s.lease)
	wait(ctx, long-settling)
	if s.led && t.present.ledByAnother(leader) {
		t.count("paused past its leadership")
	}
	if outlived(hold, t.present.lease(s.lease), time.Now()) {
		t.count("paused past a group's Lease")
	}
	err := s.continues()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stopped = append(t.stopped, judge.Delay{Request: judge.Request{Agent: s.agent}, From: s.from, To: time.Now()})
	return err
}

// outlived reports whether a Lease that named a holder has run out, or was written since.
func outlived(before, after *coordinationv1.Lease, now time.Time) bool {
	switch {
	case before == nil || judge.HoldOf(before).Holder == "":
		return false
	case after == nil || after.ResourceVersion != before.ResourceVersion:
		return true
	}
	return now.After(before.Spec.RenewTime.Add(time.Duration(*before.Spec.LeaseDurationSeconds) * time.Second))
}
