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

// listed is the answer of a list: at a version, the zones of the group or the pods of a zone.
type listed struct {
	at    plan.Version
	zones []plan.Zone
	pods  []plan.Pod
}

// lookUnder reads a group under a record of its hold that is known. A look begins anew if it
// shows a group as it never was, but not for ever.
func (p *process) lookUnder(g *group, held plan.Hold, done func(plan.Snapshot, error)) {
	reads := 0
	var read func()
	read = func() {
		if reads++; reads > readsAnew {
			done(plan.Snapshot{}, errLost)
			return
		}
		l := &look{process: p, g: g, done: done, anew: read}
		l.seen = plan.Snapshot{Key: g.key, Live: true, Hold: held, Budgets: g.budgets}
		l.readGroup()
	}
	read()
}

// look is a live read of a group.
type look struct {
	*process
	g    *group
	seen plan.Snapshot
	done func(plan.Snapshot, error)
	anew func()
}

func (l *look) fail(err error) { l.done(plan.Snapshot{}, err) }

// readGroup lists zones and pods in any order unless a decrease is noted.
func (l *look) readGroup() {
	pods := make([]listed, len(l.g.zones))
	var failed error
	left := len(pods) + 1
	finish := func(err error) {
		failed = errors.Join(failed, err)
		switch left--; {
		case left > 0:
		case failed != nil:
			l.fail(failed)
		default:
			l.putTogether(pods)
			l.readLeft(l.schedule.Rules.absent(l.seen))
		}
	}
	listPods := func() {
		for n := range pods {
			l.listPods(n, func(answer listed, err error) {
				pods[n] = answer
				finish(err)
			})
		}
	}
	inOrder := !l.seen.Hold.Decrease.None()
	if !inOrder {
		listPods()
	}
	l.listZones(func(answer listed, err error) {
		l.seen.Zones, l.seen.ZonesAt = answer.zones, answer.at
		if inOrder {
			listPods()
		}
		finish(err)
	})
}

func (l *look) listPods(n int, done func(listed, error)) {
	send(l.process, func() (listed, error) { return listed{at: l.version, pods: present(l.g.pods[n])}, nil }, done)
}

func (l *look) listZones(done func(listed, error)) {
	send(l.process, func() (listed, error) { return listed{at: l.version, zones: l.g.sets()}, nil }, done)
}

// putTogether gives each zone that was listed its pods.
func (l *look) putTogether(pods []listed) {
	for i := range l.seen.Zones {
		z := &l.seen.Zones[i]
		of := pods[zoneNumber(z.Name)]
		z.Pods, z.PodsAt = of.pods, of.at
		if i == 0 || of.at < l.seen.PodsAt {
			l.seen.PodsAt = of.at
		}
	}
}

// readLeft reads the zones that left, each before its pods. The look begins anew if one of
// them is back.
func (l *look) readLeft(members []plan.Member) {
	if len(members) == 0 {
		l.readStrays()
		return
	}
	m := members[0]
	n := zoneNumber(m.Zone)
	send(l.process, func() (zone, error) { return *l.g.zones[n], nil }, func(z zone, err error) {
		switch {
		case err != nil:
			l.fail(err)
			return
		case z.away == inGroup:
			l.anew()
			return
		}
		l.listPods(n, func(answer listed, err error) {
			if err != nil {
				l.fail(err)
				return
			}
			z.Pods, z.PodsAt = answer.pods, answer.at
			l.seen.Left = append(l.seen.Left, leftZone(m, z.away, z.Zone))
			l.readLeft(members[1:])
		})
	})
}

// readStrays reads the noted pods that belong to no zone of the look.
func (l *look) readStrays() {
	if len(strays(l.seen, l.g.pod)) == 0 {
		l.confirm()
		return
	}
	send(l.process, func() ([]plan.Pod, error) { return strays(l.seen, l.g.pod), nil }, func(pods []plan.Pod, err error) {
		if err != nil {
			l.fail(err)
			return
		}
		l.seen.Strays = pods
		l.confirm()
	})
}

// confirm lists the zones once more if the look rests on their not asking for a pod that was
// deleted. The look begins anew if they ask for it by now.
func (l *look) confirm() {
	l.seen.Now = l.wallNow()
	if l.seen.PodsAt == 0 { // no zone was listed; what was read by name is current
		l.seen.PodsAt = ^plan.Version(0)
	}
	deleted := l.seen.DeletedAndUnwanted()
	if len(deleted) == 0 {
		l.done(l.seen, nil)
		return
	}
	l.listZones(func(answer listed, err error) {
		switch {
		case err != nil:
			l.fail(err)
		case plan.WantAgain(deleted, answer.zones):
			l.anew()
		default:
			l.done(l.seen, nil)
		}
	})
}

// sets returns the zones of the group as they are now, without their pods.
func (g *group) sets() []plan.Zone {
	var all []plan.Zone
	for _, z := range g.zones {
		if z.away == inGroup {
			all = append(all, z.Zone)
		}
	}
	return all
}

func (g *group) pod(zone, ordinal int) *plan.Pod { return g.pods[zone][ordinal] }
