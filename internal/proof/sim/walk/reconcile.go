package walk

import (
	"errors"
	"time"

	"github.com/lockstep-dev/lockstep/internal/lock/hold"
	"github.com/lockstep-dev/lockstep/internal/lock/invariant"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// As in internal/control/loop.
const (
	againFirst = 50 * time.Millisecond
	againMost  = time.Minute
	movedFirst = 2 * time.Millisecond
	movedMost  = time.Second
)

// worker is a leader's work on one group.
type worker struct {
	queued, busy, again bool
	timer               int // number of timers that were set; only the last one fires
	failed, moved       int // consecutive results of that kind
}

// enqueue makes a group be reconciled soon. Equal requests are merged.
func (p *process) enqueue(no int) {
	k := &p.sights[no].worker
	switch {
	case !p.leads:
	case k.busy:
		k.again = true
	case !k.queued:
		k.queued = true
		term := p.term
		p.after(p.between(50*time.Microsecond, 2*time.Millisecond), func() {
			if p.term == term {
				p.reconcile(p.groups[no])
			}
		})
	}
}

// round is one reconcile of a group: the inputs of its decision, and its outcome.
type round struct {
	*process
	g        *simulatedGroup
	term     int
	seen     group.Snapshot
	steps    []plan.Action
	decision hold.Decision
	began    plan.Version // of the API server, before anything was read
	shown    served       // by the API server, before this decision
	verified plan.Version // the StatefulSets have been read since; zero: they have not
	outcome  time.Duration
}

// never is the outcome of a round after which only an event leads to the next one.
const never = time.Duration(1<<63 - 1)

func (p *process) reconcile(g *simulatedGroup) {
	k := &p.sights[g.no].worker
	k.queued, k.busy, k.again = false, true, false
	k.timer++
	p.report.Plans++
	r := &round{process: p, g: g, term: p.term, began: p.version, outcome: never}
	r.seen = p.cached(g)
	if missing, _ := p.fresh.Behind(&r.seen); missing != "" {
		r.end(hold.RetryAfter, nil)
		return
	}
	r.shown = p.shown(g)
	r.think()
	if r.decision.Need == hold.ReadLive {
		r.look()
	} else {
		r.confirm(r.look)
	}
}

// confirm acts if the StatefulSets still ask for what the plan assumes, and the caches still propose it.
func (r *round) confirm(otherwise func()) {
	switch {
	case !r.decision.Verify:
		r.act()
		return
	case r.schedule.Rules.Unverified:
		r.compare(otherwise)
		return
	}
	began := r.version
	r.process.verify(r.g, r.seen, func(same bool, err error) {
		switch {
		case !r.works():
		case err != nil:
			r.end(never, err)
		case !same:
			otherwise()
		default:
			r.verified = began
			r.compare(otherwise)
		}
	})
}

// compare acts if the caches propose the plan.
func (r *round) compare(otherwise func()) {
	if !r.schedule.Rules.Unconfirmed && !group.Confirms(r.cached(r.g), r.seen, r.steps) {
		otherwise()
		return
	}
	r.shown = r.shown.and(r.byCaches(r.g))
	r.act()
}

// look plans and acts on a live read.
func (r *round) look() {
	p, g := r.process, r.g
	p.look(g, hold.LiveReadNeedsLease(r.seen.Record()), r.whileWorking(func(live group.Snapshot, err error) {
		if err != nil {
			r.end(never, err)
			return
		}
		p.looked(g, live)
		r.seen = live
		r.shown = p.byCaches(g).with(g, live)
		r.think()
		if !plan.Disrupts(r.steps) {
			r.outcome = hold.RetryAfter
		}
		r.confirm(func() { r.end(hold.RetryAfter, nil) })
	}))
}

// whileWorking drops an answer if the process no longer leads.
func (r *round) whileWorking(then func(group.Snapshot, error)) func(group.Snapshot, error) {
	return func(s group.Snapshot, err error) {
		if r.works() {
			then(s, err)
		}
	}
}

func (r *round) works() bool { return r.term == r.process.term }

func (r *round) think() {
	r.steps = group.Plan(r.seen)
	r.decision = hold.Decide(&r.seen, r.steps)
}

// act checks a plan and carries it out.
func (r *round) act() {
	if broken := invariant.Check(r.seen, r.steps, r.decision); broken != nil {
		r.violate(r.g, broken.Name, "the plan breaks it: "+broken.Detail)
		return
	}
	if r.telling {
		if notes := plan.Notation(r.steps); notes != "" && (len(r.steps) > 1 || r.decision.Need != hold.Carry) {
			r.story(r.g, r.name, "plans:", notes)
		}
	}
	r.run(func(err error) { r.end(min(r.outcome, r.next()), err) })
}

// next returns when to reconcile again without an event.
func (r *round) next() time.Duration {
	if after, due := hold.NextReconcile(&r.seen, r.steps, r.decision); due {
		return after
	}
	return never
}

// end sets the timer of the group: for the outcome, or for a retry after an error.
func (r *round) end(outcome time.Duration, err error) {
	k := &r.sights[r.g.no].worker
	k.busy = false
	switch {
	case err == nil:
		k.failed, k.moved = 0, 0
	case reason.ClassOf(err) == reason.Moved:
		outcome = min(outcome, backOff(movedFirst, movedMost, k.moved))
		k.moved++
	default:
		outcome = min(outcome, backOff(againFirst, againMost, k.failed))
		k.failed++
	}
	if k.again {
		r.enqueue(r.g.no)
		return
	}
	if r.schedule.Rules.Restless {
		outcome = min(outcome, hold.ReportAfter)
	}
	if outcome == never || r.schedule.Rules.Sleepy {
		return
	}
	timer, term := k.timer, r.term
	r.after(r.clock.truly(outcome), func() {
		if r.process.term == term && k.timer == timer {
			r.enqueue(r.g.no)
		}
	})
}

func backOff(first, most time.Duration, failures int) time.Duration {
	return min(most, first<<min(failures, 20))
}

// run carries out a plan in the order of internal/act.
func (r *round) run(done func(error)) {
	r.count()
	touches, deletes := r.requests(plan.BeforeLease), r.requests(plan.Disrupting)
	writes, free := r.requests(plan.UnderHold), r.requests(plan.WithoutHold)
	if r.schedule.Rules.NotedLate {
		r.together(deletes, func(error) { r.writeHold(done) })
		return
	}
	if r.schedule.Rules.RaisedFirst {
		touches, free = append(free, touches...), nil
	}
	r.together(touches, func(before error) {
		r.writeHold(func(err error) {
			if err != nil {
				r.inTurn(free, func(raised error) { done(errors.Join(before, err, raised)) })
				return
			}
			r.together(deletes, func(deleted error) {
				r.inTurn(append(writes, free...), func(written error) { done(errors.Join(before, deleted, written)) })
			})
		})
	})
}

// count counts what the plan records in the Lease. It reports a violation if the walk cannot
// have caused a record to end.
func (r *round) count() {
	for _, step := range r.steps {
		switch a := step.(type) {
		case plan.EndIntent:
			r.report.Tallies[lapses]++
			if a.Because == reason.HoldRestored {
				r.violate(r.g, "NothingRestored", "drops the note of "+a.Intent.Pod+" as one of before a restore")
			}
		case plan.Enqueue:
			r.report.Tallies[places]++
		case group.RecordDownscale:
			if !a.Downscale.Ours {
				r.report.Tallies[seen]++
			}
		}
	}
}

// requests returns the requests of the actions of one order.
func (r *round) requests(order plan.Order) []request {
	var all []request
	for _, step := range plan.In(order, r.steps) {
		if send := r.requestOf(step); send != nil {
			all = append(all, send)
		}
	}
	return all
}

// requestOf returns the request of an action; nil if walks have no object of that kind.
func (r *round) requestOf(step plan.Action) request {
	switch a := step.(type) {
	case plan.CancelDeletion:
		return r.touch(a.Intent)
	case plan.DeletePod:
		return r.delete(a)
	case group.SetReplicas:
		return r.resize(a)
	case group.AdoptRevision:
		return r.patch(adoptions, a.Zone, a.Version, func(z *zone) { z.CurrentRevision = a.Revision })
	case group.CancelDownscale:
		return r.patch(voids, a.Downscale.Zone, a.Downscale.Version, func(*zone) {})
	case group.StampDownscale:
		return r.patch(stamps, a.Zone, a.Version, func(z *zone) { z.Downscaled = group.Moment{Time: a.Time} })
	}
	return nil
}

// request sends a request and passes on its result.
type request func(done func(error))

func (r *round) inTurn(all []request, done func(error)) {
	if len(all) == 0 {
		done(nil)
		return
	}
	var failed error
	var send func(n int)
	send = func(n int) {
		if n == len(all) {
			done(failed)
			return
		}
		all[n](func(err error) {
			failed = errors.Join(failed, err)
			if r.works() {
				send(n + 1)
			}
		})
	}
	send(0)
}

func (r *round) together(all []request, done func(error)) {
	left := len(all)
	if left == 0 {
		done(nil)
		return
	}
	var failed error
	for _, send := range all {
		send(func(err error) {
			failed = errors.Join(failed, err)
			if left--; left == 0 && r.works() {
				done(failed)
			}
		})
	}
}

// writeHold writes the Lease as decided.
func (r *round) writeHold(done func(error)) {
	then := func(err error) {
		if r.works() {
			done(err)
		}
	}
	switch r.decision.Need {
	case hold.Write:
		r.story(r.g, r.name, "writes", (*spelled)(new(group.HoldOf(r.decision.Record))))
		r.writeLease(r.g, r.decision.Record, then)
	case hold.Remove:
		r.removeLease(r.g, r.seen.Record(), then)
	case hold.Carry, hold.ReadLive, hold.Label:
		done(nil) // every Lease has its label here
	}
}

func (r *round) touch(i plan.Intent) request {
	n, ordinal := place(i.Zone, i.Pod)
	return func(done func(error)) {
		r.sendWrite(func() bool { return r.touchPod(r.g, n, ordinal, i) }, func(err error) {
			if err == nil {
				r.fresh.PodMoved(r.g.key, i.Pod, i.Version)
			}
			done(err)
		})
	}
}

func (r *round) delete(a plan.DeletePod) request {
	n, ordinal := place(a.Zone, a.Pod)
	return func(done func(error)) {
		asked := disruption{by: r.name, uid: a.UID, version: a.Version, began: r.began, shown: r.knows()}
		r.sendWrite(func() bool { return r.deletePod(r.g, n, ordinal, asked) }, func(err error) {
			if err == nil {
				r.fresh.PodMoved(r.g.key, a.Pod, a.Version)
			}
			done(err)
		})
	}
}

func (r *round) resize(a group.SetReplicas) request {
	n := zoneNumber(a.Zone)
	return func(done func(error)) {
		asked := downscale{by: r.name, version: a.Version, to: a.To, shown: r.knows()}
		r.write(n, func() bool { return r.setReplicas(r.g, n, asked) })(done)
	}
}

// knows returns what the API server has shown for this decision, and its answers since to
// writes of this process. The sender of a request cannot know more. A StatefulSet that has
// joined the group since is not read.
func (r *round) knows() served {
	known := r.answered(r.g, r.shown)
	for n, z := range r.g.zones {
		if _, seen := r.seen.Zone(z.Name); seen {
			known.answered[n] = max(known.answered[n], r.verified)
		}
	}
	return known
}

func (r *round) patch(what tally, name string, judged plan.Version, changed func(*zone)) request {
	n := zoneNumber(name)
	return r.write(n, func() bool { return r.changeZone(what, r.g, n, judged, changed) })
}

// write sends a write of a zone. The answer contains the new version of the zone.
func (r *round) write(n int, carry func() bool) request {
	return func(done func(error)) {
		send(r.process, func() (plan.Version, error) {
			if !carry() {
				return 0, errMoved
			}
			return r.g.zones[n].Version, nil
		}, func(v plan.Version, err error) {
			if err == nil {
				r.fresh.ZoneWritten(r.g.key, r.g.zones[n].Name, v)
				r.sights[r.g.no].served.answered[n] = v
			}
			done(err)
		})
	}
}
