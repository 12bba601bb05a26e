package walk

import (
	"errors"
	"time"

	"github.com/lockstep-dev/lockstep/internal/hold"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/reason"
)

var (
	errMoved = reason.WithClass(reason.Moved, errors.New("it has moved on"))
	errLost  = errors.New("no answer")
)

// fate is what becomes of a request on its way.
type fate int

const (
	arrives fate = iota
	isLost
	losesItsReply
	comesLate
)

// fateOf draws what becomes of a request that is sent now.
func (w *walk) fateOf() fate {
	if w.network <= w.now || w.chance.IntN(6) != 0 {
		return arrives
	}
	f := fate(1 + w.chance.IntN(3))
	w.report.Faults[[...]fault{isLost: requestsLost, losesItsReply: repliesLost, comesLate: requestsLate}[f]]++
	return f
}

// send carries a request of a process out at the API server, and gives it the answer. A
// process that gives up on a request does so after its time limit.
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

// nothing is the answer of a request that only succeeds or not.
type nothing = struct{}

// sendWrite is send for what is refused where the object has moved on.
func (p *process) sendWrite(carry func() bool, done func(error)) {
	send(p, func() (nothing, error) {
		if !carry() {
			return nothing{}, errMoved
		}
		return nothing{}, nil
	}, func(_ nothing, err error) { done(err) })
}

// travels is how long a request, or its answer, is on its way.
func (w *walk) travels() time.Duration {
	if w.network > w.now && w.chance.IntN(4) == 0 {
		return w.between(0, 4*time.Second)
	}
	return w.between(200*time.Microsecond, 5*time.Millisecond)
}

// look reads a group live: the Lease first where that is wanted, then zones and pods, in
// any order unless a decrease is noted.
func (p *process) look(g *group, withLease bool, done func(plan.Snapshot, error)) {
	p.comes(aLookBegins, g, p)
	if !withLease {
		p.lookUnder(g, p.hold(g), done)
		return
	}
	p.readLease(g, func(held plan.Hold, err error) {
		if err != nil {
			done(plan.Snapshot{}, err)
			return
		}
		p.lookUnder(g, held, done)
	})
}

// listed is the answer of a list: at a version, the zones or the pods of one zone.
type listed struct {
	at    plan.Version
	zones []plan.Zone
	pods  []plan.Pod
}

func (p *process) lookUnder(g *group, held plan.Hold, done func(plan.Snapshot, error)) {
	s := plan.Snapshot{Key: g.key, Live: true, Hold: held, Budgets: g.budgets}
	pods := make([]listed, len(g.zones))
	var failed error
	left := len(g.zones) + 1
	finish := func() {
		if left--; left > 0 {
			return
		}
		if failed != nil {
			done(plan.Snapshot{}, failed)
			return
		}
		for n, l := range pods {
			s.Zones[n].Pods, s.Zones[n].PodsAt = l.pods, l.at
			if n == 0 || l.at < s.PodsAt {
				s.PodsAt = l.at
			}
		}
		s.Now = p.wallNow()
		p.confirm(g, s, done)
	}
	listPods := func() {
		for n := range g.zones {
			send(p, func() (listed, error) { return listed{at: p.version, pods: present(g.pods[n])}, nil }, func(l listed, err error) {
				pods[n], failed = l, errors.Join(failed, err)
				finish()
			})
		}
	}
	inOrder := !held.Decrease.None()
	if !inOrder {
		listPods()
	}
	send(p, func() (listed, error) { return listed{at: p.version, zones: g.sets()}, nil }, func(l listed, err error) {
		s.Zones, s.ZonesAt, failed = l.zones, l.at, errors.Join(failed, err)
		if err != nil {
			s.Zones = make([]plan.Zone, len(g.zones))
		}
		if inOrder {
			listPods()
		}
		finish()
	})
}

// confirm lists the zones once more if the look rests on their not asking for a pod that was
// deleted. The look begins anew if they ask for it by now.
func (p *process) confirm(g *group, s plan.Snapshot, done func(plan.Snapshot, error)) {
	deleted := s.DeletedAndUnwanted()
	if len(deleted) == 0 {
		done(s, nil)
		return
	}
	send(p, func() (listed, error) { return listed{zones: g.sets()}, nil }, func(l listed, err error) {
		switch {
		case err != nil:
			done(plan.Snapshot{}, err)
		case plan.WantAgain(deleted, l.zones):
			p.lookUnder(g, s.Hold, done)
		default:
			done(s, nil)
		}
	})
}

// sets returns the zones as they are now, without their pods.
func (g *group) sets() []plan.Zone {
	all := make([]plan.Zone, len(g.zones))
	for n, z := range g.zones {
		all[n] = z.Zone
	}
	return all
}
