package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"syscall"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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

// closes tells whether an operator is caught, of which there is one at most.
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
	lease     string
	from      time.Time
	continues func() error
}

// leads tells whether a replica has renewed its leadership lately. Only who leads
// writes that Lease, but for a moment at which it changes.
func (r *replica) leads() bool { return time.Since(time.Unix(0, r.led.Load())) < 2*time.Second }

// stopAt stops the process as it is; there may be none.
func (r *replica) stopAt(lease string) stopped {
	r.mu.Lock()
	process := r.process
	r.mu.Unlock()
	s := stopped{replica: r, lease: lease, from: time.Now()}
	if process == nil || process.Signal(syscall.SIGSTOP) != nil {
		return s
	}
	s.continues = func() error { return process.Signal(syscall.SIGCONT) }
	return s
}

// pauses lets an operator go on after a time. It counts if another one led then, or
// if it was stopped while it held a group.
func (t *trial) pauses(ctx context.Context, s stopped, long time.Duration) error {
	if s.continues == nil {
		return nil
	}
	leader := t.leader(ctx)
	wait(ctx, settling)
	held := t.present.held(s.lease)
	wait(ctx, long-settling)
	if t.leader(ctx) != leader || held {
		t.count("paused past its Lease")
	}
	err := s.continues()
	t.excuse(judge.Window{From: s.from, To: time.Now(), Live: true, Agent: s.replica.agent()})
	return err
}

// leader is who leads, and "" where nobody says.
func (t *trial) leader(ctx context.Context) string {
	lease, err := t.client.CoordinationV1().Leases(t.namespace).Get(ctx, judge.LeaderLease, metav1.GetOptions{})
	if err != nil || lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *lease.Spec.HolderIdentity
}
