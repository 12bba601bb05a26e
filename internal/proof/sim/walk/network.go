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
	errMoved = reason.WithClass(reason.Moved, errors.New("it has moved on"))
	errLost  = errors.New("no answer")
)

// fate is the result of sending a request.
type fate int

const (
	arrives fate = iota
	isLost
	losesItsReply
	comesLate
)

// fateOf draws the fate of a request that is sent now.
func (w *walk) fateOf() fate {
	if w.network <= w.now || w.chance.IntN(6) != 0 {
		return arrives
	}
	f := fate(1 + w.chance.IntN(3))
	w.report.Faults[[...]fault{isLost: requestsLost, losesItsReply: repliesLost, comesLate: requestsLate}[f]]++
	return f
}

// send carries out a request of a process at the API server, and returns the answer to
// the process. If the process gives up on a request, it does so after the time limit.
func send[T any](p *process, carry func() (T, error), answer func(T, error)) {
	var none T
	limit := p.clock.truly(hold.RequestTimeout)
	fail := func() { answer(none, errLost) }
	switch p.fateOf() {
	case arrives:
		p.walk.after(p.travels(), func() {
			v, err := carry()
			p.after(p.travels(), func() { answer(v, err) })
		})
	case isLost:
		p.after(p.between(0, limit), fail)
	case losesItsReply:
		p.walk.after(p.travels(), func() { _, _ = carry() })
		p.after(limit, fail)
	case comesLate:
		p.walk.after(p.between(limit, limit+time.Minute), func() { _, _ = carry() })
		p.after(limit, fail)
	}
}

// nothing is the answer to a request without a result.
type nothing = struct{}

// sendWrite is send for a request that is rejected if the object has changed.
func (p *process) sendWrite(carry func() bool, done func(error)) {
	send(p, func() (nothing, error) {
		if !carry() {
			return nothing{}, errMoved
		}
		return nothing{}, nil
	}, func(_ nothing, err error) { done(err) })
}

// travels returns how long a request, or its answer, is on its way.
func (w *walk) travels() time.Duration {
	if w.network > w.now && w.chance.IntN(4) == 0 {
		return w.between(0, 4*time.Second)
	}
	return w.between(200*time.Microsecond, 5*time.Millisecond)
}

// look reads a group live, and the Lease first if withLease is set.
func (p *process) look(g *simulatedGroup, withLease bool, done func(group.Snapshot, error)) {
	p.comes(aLookBegins, g, p)
	held := p.hold(g)
	var live group.Snapshot
	var err error
	p.run(g, func(ctx context.Context, t *task) {
		if withLease {
			live, err = t.readLive(ctx)
			return
		}
		live, err = t.observer.LiveUnder(patient{ctx}, g.key, held)
	}, func() {
		if err == nil {
			live = p.shows(g, live)
		}
		done(live, err)
	})
}

// verify reads the StatefulSets of a cached snapshot, and passes on whether they ask for the same.
func (p *process) verify(g *simulatedGroup, cached group.Snapshot, done func(same bool, err error)) {
	var same bool
	var err error
	p.run(g, func(ctx context.Context, t *task) {
		same, err = t.observer.AsksTheSame(patient{ctx}, cached)
	}, func() { done(same, err) })
}

// readLive reads the group of a task live, and the Lease first.
func (t *task) readLive(ctx context.Context) (group.Snapshot, error) {
	live, err := t.observer.Live(patient{ctx}, t.g.key)
	t.mustNotBeRestored(err)
	live.Hold = t.dated(live.Hold)
	return live, err
}
