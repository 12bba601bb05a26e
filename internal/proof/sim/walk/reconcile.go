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
	errorBackOffMin    = 50 * time.Millisecond
	errorBackOffMax    = time.Minute
	conflictBackOffMin = 2 * time.Millisecond
	conflictBackOffMax = time.Second
)

// worker is a leader's work on one group.
type worker struct {
	queued, busy, rerun bool
	timer               int // number of timers that were set; only the last one fires
	failures, conflicts int // consecutive results of that kind
}

// enqueue makes a group be reconciled soon. Equal requests are merged.
func (p *process) enqueue(no int) {
	k := &p.progress[no].worker
	switch {
	case !p.leads:
	case k.busy:
		k.rerun = true
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
	g            *simulatedGroup
	term         int
	snapshot     group.Snapshot
	actions      []plan.Action
	decision     hold.Decision
	startVersion plan.Version  // of the API server, before anything was read
	shown        shownVersions // by the API server, before this decision
	verified     plan.Version  // the StatefulSets have been read since; zero: they have not
	requeueAfter time.Duration
}

// never is the outcome of a round after which only an event leads to the next one.
const never = time.Duration(1<<63 - 1)

func (p *process) reconcile(g *simulatedGroup) {
	k := &p.progress[g.no].worker
	k.queued, k.busy, k.rerun = false, true, false
	k.timer++
	p.report.Plans++
	r := &round{process: p, g: g, term: p.term, startVersion: p.version, requeueAfter: never}
	r.snapshot = p.cached(g)
	if missing, _ := p.fresh.Behind(&r.snapshot); missing != "" {
		r.end(hold.LookAgain, nil)
		return
	}
	r.shown = p.shown(g)
	r.evaluate()
	if r.decision.Need == hold.Look {
		r.readLive()
	} else {
		r.verifyAndAct(r.readLive)
	}
}

// verifyAndAct acts if the StatefulSets still ask for what the plan assumes, and the caches still propose it.
func (r *round) verifyAndAct(fallback func()) {
	switch {
	case !r.decision.Verify:
		r.act()
		return
	case r.schedule.Deviations.Unverified:
		r.compareAndAct(fallback)
		return
	}
	began := r.version
	r.process.verify(r.g, r.snapshot, func(same bool, err error) {
		switch {
		case !r.leading():
		case err != nil:
			r.end(never, err)
		case !same:
			fallback()
		default:
			r.verified = began
			r.compareAndAct(fallback)
		}
	})
}

// compareAndAct acts if the caches propose the plan.
func (r *round) compareAndAct(fallback func()) {
	if !r.schedule.Deviations.Unconfirmed && !group.Confirms(r.cached(r.g), r.snapshot, r.actions) {
		fallback()
		return
	}
	r.shown = r.shown.merge(r.shownByCaches(r.g))
	r.act()
}

// readLive plans and acts on a live read.
func (r *round) readLive() {
	p, g := r.process, r.g
	p.liveRead(g, hold.LookNeedsLease(r.snapshot.Record()), r.ifLeading(func(live group.Snapshot, err error) {
		if err != nil {
			r.end(never, err)
			return
		}
		p.recordLiveRead(g, live)
		r.snapshot = live
		r.shown = p.shownByCaches(g).withLiveRead(g, live)
		r.evaluate()
		if !plan.Disrupts(r.actions) {
			r.requeueAfter = hold.LookAgain
		}
		r.verifyAndAct(func() { r.end(hold.LookAgain, nil) })
	}))
}

// ifLeading drops an answer if the process no longer leads.
func (r *round) ifLeading(then func(group.Snapshot, error)) func(group.Snapshot, error) {
	return func(s group.Snapshot, err error) {
		if r.leading() {
			then(s, err)
		}
	}
}

func (r *round) leading() bool { return r.term == r.process.term }

func (r *round) evaluate() {
	r.actions = group.Plan(r.snapshot)
	r.decision = hold.Decide(&r.snapshot, r.actions)
}

// act checks a plan and carries it out.
func (r *round) act() {
	if broken := invariant.Check(r.snapshot, r.actions, r.decision); broken != nil {
		r.violate(r.g, broken.Name, "the plan breaks it: "+broken.Detail)
		return
	}
	if r.tracing {
		if notation := plan.Notation(r.actions); notation != "" && (len(r.actions) > 1 || r.decision.Need != hold.Carry) {
			r.trace(r.g, r.name, "plans:", notation)
		}
	}
	r.execute(func(err error) { r.end(min(r.requeueAfter, r.nextReconcile()), err) })
}

// nextReconcile returns when to reconcile again without an event.
func (r *round) nextReconcile() time.Duration {
	if after, due := hold.NextLook(&r.snapshot, r.actions, r.decision); due {
		return after
	}
	return never
}

// end sets the timer of the group: for the outcome, or for a retry after an error.
func (r *round) end(outcome time.Duration, err error) {
	k := &r.progress[r.g.no].worker
	k.busy = false
	switch {
	case err == nil:
		k.failures, k.conflicts = 0, 0
	case reason.ClassOf(err) == reason.Moved:
		outcome = min(outcome, backOff(conflictBackOffMin, conflictBackOffMax, k.conflicts))
		k.conflicts++
	default:
		outcome = min(outcome, backOff(errorBackOffMin, errorBackOffMax, k.failures))
		k.failures++
	}
	if k.rerun {
		r.enqueue(r.g.no)
		return
	}
	if r.schedule.Deviations.NeedlessReconciles {
		outcome = min(outcome, hold.WaitsAgain)
	}
	if outcome == never || r.schedule.Deviations.NoTimers {
		return
	}
	timer, term := k.timer, r.term
	r.after(r.clock.trueDuration(outcome), func() {
		if r.process.term == term && k.timer == timer {
			r.enqueue(r.g.no)
		}
	})
}

func backOff(first, most time.Duration, failures int) time.Duration {
	return min(most, first<<min(failures, 20))
}

// execute carries out a plan in the order of internal/act.
func (r *round) execute(done func(error)) {
	r.countRecords()
	touches, deletes := r.requests(plan.BeforeLease), r.requests(plan.Disrupting)
	writes, free := r.requests(plan.UnderHold), r.requests(plan.WithoutHold)
	if r.schedule.Deviations.LeaseWrittenLate {
		r.concurrently(deletes, func(error) { r.writeHold(done) })
		return
	}
	if r.schedule.Deviations.UpscaleFirst {
		touches, free = append(free, touches...), nil
	}
	r.concurrently(touches, func(before error) {
		r.writeHold(func(err error) {
			if err != nil {
				r.sequentially(free, func(raised error) { done(errors.Join(before, err, raised)) })
				return
			}
			r.concurrently(deletes, func(deleted error) {
				r.sequentially(append(writes, free...), func(written error) { done(errors.Join(before, deleted, written)) })
			})
		})
	})
}

// countRecords counts what the plan records in the Lease. It reports a violation if the walk cannot
// have caused a record to end.
func (r *round) countRecords() {
	for _, step := range r.actions {
		switch a := step.(type) {
		case plan.EndIntent:
			r.report.Actions[grantsEnded]++
			if a.Because == reason.HoldRestored {
				r.violate(r.g, "NothingRestored", "drops the note of "+a.Intent.Pod+" as one of before a restore")
			}
		case plan.Enqueue:
			r.report.Actions[queuePlaces]++
		case group.RecordDownscale:
			if !a.Downscale.Ours {
				r.report.Actions[unadmittedDownscales]++
			}
		}
	}
}

// requests returns the requests of the actions of one order.
func (r *round) requests(order plan.Order) []request {
	var all []request
	for _, step := range plan.In(order, r.actions) {
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
		return r.requestUpdate(a.Intent)
	case plan.DeletePod:
		return r.requestDelete(a)
	case group.SetReplicas:
		return r.requestReplicas(a)
	case group.AdoptRevision:
		return r.requestPatch(revisionsAdopted, a.Zone, a.Version, func(z *zone) { z.CurrentRevision = a.Revision })
	case group.CancelDownscale:
		return r.requestPatch(downscalesCancelled, a.Downscale.Zone, a.Downscale.Version, func(*zone) {})
	case group.StampDownscale:
		return r.requestPatch(downscalesStamped, a.Zone, a.Version, func(z *zone) { z.Downscaled = group.Moment{Time: a.Time} })
	}
	return nil
}

// request sends a request and passes on its result.
type request func(done func(error))

func (r *round) sequentially(all []request, done func(error)) {
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
			if r.leading() {
				send(n + 1)
			}
		})
	}
	send(0)
}

func (r *round) concurrently(all []request, done func(error)) {
	left := len(all)
	if left == 0 {
		done(nil)
		return
	}
	var failed error
	for _, send := range all {
		send(func(err error) {
			failed = errors.Join(failed, err)
			if left--; left == 0 && r.leading() {
				done(failed)
			}
		})
	}
}

// writeHold writes the Lease as decided.
func (r *round) writeHold(done func(error)) {
	then := func(err error) {
		if r.leading() {
			done(err)
		}
	}
	switch r.decision.Need {
	case hold.Write:
		r.trace(r.g, r.name, "writes", (*holdText)(new(group.HoldOf(r.decision.Record))))
		r.writeLease(r.g, r.decision.Record, then)
	case hold.Remove:
		r.removeLease(r.g, r.snapshot.Record(), then)
	case hold.Carry, hold.Look, hold.Label:
		done(nil) // every Lease has its label here
	}
}

func (r *round) requestUpdate(i plan.Intent) request {
	n, ordinal := podIndex(i.Zone, i.Pod)
	return func(done func(error)) {
		r.sendWrite(func() bool { return r.updateVersion(r.g, n, ordinal, i) }, func(err error) {
			if err == nil {
				r.fresh.PodMoved(r.g.key, i.Pod, i.Version)
			}
			done(err)
		})
	}
}

func (r *round) requestDelete(a plan.DeletePod) request {
	n, ordinal := podIndex(a.Zone, a.Pod)
	return func(done func(error)) {
		asked := disruption{actor: r.name, uid: a.UID, version: a.Version, startVersion: r.startVersion, shown: r.knownVersions()}
		r.sendWrite(func() bool { return r.deletePod(r.g, n, ordinal, asked) }, func(err error) {
			if err == nil {
				r.fresh.PodMoved(r.g.key, a.Pod, a.Version)
			}
			done(err)
		})
	}
}

func (r *round) requestReplicas(a group.SetReplicas) request {
	n := zoneNumber(a.Zone)
	return func(done func(error)) {
		asked := downscale{actor: r.name, version: a.Version, to: a.To, shown: r.knownVersions()}
		r.requestZoneWrite(n, func() bool { return r.setReplicas(r.g, n, asked) })(done)
	}
}

// knownVersions returns what the API server has shown for this decision, and its answers since to
// writes of this process. The sender of a request cannot know more. A StatefulSet that has
// joined the group since is not read.
func (r *round) knownVersions() shownVersions {
	known := r.withAnswers(r.g, r.shown)
	for n, z := range r.g.zones {
		if _, seen := r.snapshot.Zone(z.Name); seen {
			known.answered[n] = max(known.answered[n], r.verified)
		}
	}
	return known
}

func (r *round) requestPatch(what action, name string, judged plan.Version, changed func(*zone)) request {
	n := zoneNumber(name)
	return r.requestZoneWrite(n, func() bool { return r.changeZone(what, r.g, n, judged, changed) })
}

// requestZoneWrite sends a write of a zone. The answer contains the new version of the zone.
func (r *round) requestZoneWrite(n int, apply func() bool) request {
	return func(done func(error)) {
		send(r.process, func() (plan.Version, error) {
			if !apply() {
				return 0, errConflict
			}
			return r.g.zones[n].Version, nil
		}, func(v plan.Version, err error) {
			if err == nil {
				r.fresh.ZoneWritten(r.g.key, r.g.zones[n].Name, v)
				r.progress[r.g.no].shown.answered[n] = v
			}
			done(err)
		})
	}
}
