package walk

import (
	"context"
	"errors"
	"time"

	"github.com/lockstep-dev/lockstep/internal/lock/hold"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

var (
	errConflict = reason.WithClass(reason.Moved, errors.New("the object has been modified"))
	errLost     = errors.New("no answer")
)

// delivery is the result of sending a request.
type delivery int

const (
	delivered delivery = iota
	requestLost
	replyLost
	deliveredLate
)

// drawDelivery draws the result of sending a request now.
func (w *walk) drawDelivery() delivery {
	if w.badNetworkUntil <= w.now || w.chance.IntN(6) != 0 {
		return delivered
	}
	f := delivery(1 + w.chance.IntN(3))
	w.report.Faults[[...]fault{requestLost: requestsLost, replyLost: repliesLost, deliveredLate: requestsLate}[f]]++
	return f
}

// send carries out a request of a process at the API server, and passes the answer to
// the process. If the process gives up on a request, it does so after the time limit.
func send[T any](p *process, apply func() (T, error), answer func(T, error)) {
	var none T
	limit := p.clock.trueDuration(hold.RequestTimeout)
	fail := func() { answer(none, errLost) }
	switch p.drawDelivery() {
	case delivered:
		p.walk.after(p.latency(), func() {
			v, err := apply()
			p.after(p.latency(), func() { answer(v, err) })
		})
	case requestLost:
		p.after(p.between(0, limit), fail)
	case replyLost:
		p.walk.after(p.latency(), func() { _, _ = apply() })
		p.after(limit, fail)
	case deliveredLate:
		p.walk.after(p.between(limit, limit+time.Minute), func() { _, _ = apply() })
		p.after(limit, fail)
	}
}

// none is the answer to a request without a result.
type none = struct{}

// sendWrite is send for a request that is rejected if the object has changed.
func (p *process) sendWrite(apply func() bool, done func(error)) {
	send(p, func() (none, error) {
		if !apply() {
			return none{}, errConflict
		}
		return none{}, nil
	}, func(_ none, err error) { done(err) })
}

// latency returns how long a request, or its answer, is in flight.
func (w *walk) latency() time.Duration {
	if w.badNetworkUntil > w.now && w.chance.IntN(4) == 0 {
		return w.between(0, 4*time.Second)
	}
	return w.between(200*time.Microsecond, 5*time.Millisecond)
}

// liveRead reads a group live: the Lease first if withLease is set, or else under the record that is known.
func (p *process) liveRead(g *simulatedGroup, withLease bool, known group.Hold, done func(group.Snapshot, error)) {
	p.fire(liveReadBegins, g, p)
	var live group.Snapshot
	var err error
	p.run(g, func(ctx context.Context, t *task) {
		if withLease {
			live, err = t.readLive(ctx)
			return
		}
		live, err = t.observer.LiveUnder(noDeadline{ctx}, g.key, known)
	}, func() {
		if err == nil {
			live = p.checkSnapshot(g, live)
		}
		done(live, err)
	})
}

// verify reads the StatefulSets of a cached snapshot, and reports whether their specs are unchanged.
func (p *process) verify(g *simulatedGroup, cached group.Snapshot, done func(same bool, err error)) {
	var same bool
	var err error
	p.run(g, func(ctx context.Context, t *task) {
		same, err = t.observer.SameDesiredState(noDeadline{ctx}, cached)
	}, func() { done(same, err) })
}

// readLive reads the group of a task live, and the Lease first.
func (t *task) readLive(ctx context.Context) (group.Snapshot, error) {
	live, err := t.observer.Live(noDeadline{ctx}, t.g.key)
	t.checkNotRestored(err)
	live.Hold = t.withProcessDurations(live.Hold)
	return live, err
}
