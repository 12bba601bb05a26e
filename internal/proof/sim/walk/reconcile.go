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

// enqueue queues a reconcile of a group.
func (p *process) enqueue(no int) {
	if !p.leads {
		p.forgetUnled(p.groups[no])
		return
	}
	p.progress[no].worker.add()
}

// round is one reconcile of a group: the input of its decision, and its result.
type round struct {
	*process
	g            *simulatedGroup
	term         int
	first        group.Snapshot // as the caches showed it at the beginning
	snapshot     group.Snapshot
	actions      []plan.Action
	decision     hold.Decision
	startVersion plan.Version  // of the API server, before the round read anything
	shown        shownVersions // by the API server, before this decision
	verified     plan.Version  // of the API server, before the StatefulSets were read once more; zero: they were not

	confirmedUntil time.Duration // when no disruption may begin any more; zero: never
	requeueAfter   time.Duration

	learned learned
}

// learned is everything that a round learned, in this order for each kind.
type learned struct {
	managed   bool
	caches    []cachedGroup
	live      []result[group.Snapshot]
	withLease bool           // a live read reads the Lease, too
	same      []result[bool] // whether the StatefulSets were still those of the snapshot, each time they were read once more
	acted     []error        // the results of the writes, if the plan was carried out
}

// cachedGroup is a group as the caches showed it, and whether that is less than the process knew.
type cachedGroup struct {
	group.Snapshot

	behind bool
}

func (p *process) reconcile(g *simulatedGroup) {
	p.report.Plans++
	r := &round{process: p, g: g, term: p.term, startVersion: p.version, requeueAfter: onlyEvents}
	if r.learned.managed = p.observer.Managed(g.key.Namespace); !r.learned.managed {
		p.forget(g)
		r.end(onlyEvents, nil)
		return
	}
	r.snapshot = r.look()
	if len(r.snapshot.Zones) == 0 && !r.snapshot.Hold.Exists {
		p.forget(g)
		r.end(onlyEvents, nil)
		return
	}
	if r.behind(&r.snapshot) {
		r.end(hold.ReconcileAgainAfter, nil)
		return
	}
	r.shown = p.shownOf(g)
	r.first = r.snapshot
	r.evaluate()
	if r.decision.Need == hold.ReadLive {
		r.readLive()
	} else {
		r.verifyAndAct(r.readLive)
	}
}

// look returns the group as the caches show it now.
func (r *round) look() group.Snapshot {
	seen := r.cached(r.g)
	r.learned.caches = append(r.learned.caches, cachedGroup{Snapshot: seen})
	return seen
}

// behind reports whether the caches showed less than the process knows when the round last looked.
func (r *round) behind(cached *group.Snapshot) bool {
	missing, _ := r.fresh.Behind(cached)
	r.learned.caches[len(r.learned.caches)-1].behind = missing != ""
	return missing != ""
}

// verifyAndAct acts if the specs of the StatefulSets are still those of the snapshot, and the caches
// still allow the plan. Otherwise it calls fallback.
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
	r.confirmedUntil = r.now + r.clock.trueDuration(hold.ConfirmedFor)
	r.process.verify(r.g, r.snapshot, func(same bool, err error) {
		r.learned.same = append(r.learned.same, result[bool]{same, err})
		switch {
		case !r.leading():
		case err != nil:
			r.end(onlyEvents, err)
		case !same:
			fallback()
		default:
			r.verified = began
			r.compareAndAct(fallback)
		}
	})
}

// compareAndAct acts if the caches still allow the plan of a live read, or else on the plan of the caches
// as they are now. If neither is possible, it calls fallback.
func (r *round) compareAndAct(fallback func()) {
	if !r.schedule.Deviations.Unconfirmed && !r.agree(r.look()) {
		fallback()
		return
	}
	r.shown = r.shown.merge(r.shownByCaches(r.g))
	r.act()
}

func (r *round) agree(cached group.Snapshot) bool {
	if r.snapshot.Live {
		return group.Confirms(cached, r.snapshot, r.actions)
	}
	cached.Now = r.snapshot.Now
	if r.behind(&cached) || !cached.SameDesiredState(&r.snapshot) {
		return false
	}
	r.snapshot = cached
	r.evaluate()
	return r.decision.Need != hold.ReadLive
}

// readLive reads the group live, plans and acts.
func (r *round) readLive() {
	p, g := r.process, r.g
	r.learned.withLease = hold.LiveReadNeedsLease(r.first.Record())
	p.liveRead(g, r.learned.withLease, r.first.Hold, r.ifLeading(func(live group.Snapshot, err error) {
		r.learned.live = append(r.learned.live, result[group.Snapshot]{live, err})
		if err != nil {
			r.end(onlyEvents, err)
			return
		}
		p.recordLiveRead(g, live)
		r.snapshot, r.confirmedUntil = live, 0
		r.shown = p.shownByCaches(g).withLiveRead(g, live)
		r.evaluate()
		if !plan.Disrupts(r.actions) {
			r.requeueAfter = hold.ReconcileAgainAfter
		}
		r.verifyAndAct(func() { r.end(hold.ReconcileAgainAfter, nil) })
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

// leading reports whether the process has led without interruption since the round began.
func (r *round) leading() bool { return r.term == r.process.term }

// evaluate calls the real planner and the real rules of the hold.
func (r *round) evaluate() {
	r.actions = group.Plan(r.snapshot)
	r.decision = hold.Decide(&r.snapshot, r.actions)
}

// act checks a plan and carries it out.
func (r *round) act() {
	if violated := invariant.Check(r.snapshot, r.actions, r.decision); violated != nil {
		r.violate(r.g, violated.Name, "the plan breaks it: "+violated.Detail)
		return
	}
	if r.tracing {
		if notation := plan.Notation(r.actions); notation != "" && (len(r.actions) > 1 || r.decision.Need != hold.Carry) {
			r.trace(r.g, r.name, "plans:", notation)
		}
	}
	r.execute(func(err error) {
		r.learned.acted = append(r.learned.acted, err)
		r.end(min(r.requeueAfter, r.nextReconcile()), err)
	})
}

// nextReconcile returns after which time the next reconcile is due without an event.
func (r *round) nextReconcile() time.Duration {
	if after, due := hold.NextReconcile(&r.snapshot, r.actions, r.decision); due {
		return after
	}
	return onlyEvents
}

// end ends the round.
func (r *round) end(requeueAfter time.Duration, err error) {
	if r.rounds != nil {
		r.rounds(r, requeueAfter, err)
	}
	switch {
	case r.schedule.Deviations.NoTimers:
		requeueAfter, err = onlyEvents, nil
	case r.schedule.Deviations.NeedlessReconciles:
		requeueAfter = min(requeueAfter, hold.ReportAfter)
	}
	r.progress[r.g.no].worker.end(requeueAfter, err)
}

// execute carries out the plan in the order of internal/act.
func (r *round) execute(done func(error)) {
	r.countRecords()
	updates, deletes := r.requests(plan.BeforeLease), r.requests(plan.Disrupting)
	underHold, withoutHold := r.requestsByZone(plan.UnderHold), r.requestsByZone(plan.WithoutHold)
	if r.schedule.Deviations.LeaseWrittenLate {
		r.concurrently(deletes, func(error) { r.writeHold(done) })
		return
	}
	if r.schedule.Deviations.UpscaleFirst {
		updates, withoutHold = append(withoutHold, updates...), nil
	}
	r.concurrently(updates, func(updateErr error) {
		r.writeHold(func(err error) {
			if err != nil {
				r.concurrently(withoutHold, func(writeErr error) { done(errors.Join(updateErr, err, writeErr)) })
				return
			}
			if r.tooLate() {
				r.concurrently(withoutHold, func(writeErr error) { done(errors.Join(updateErr, errConflict, writeErr)) })
				return
			}
			r.inWaves(deletes, func(deleteErr error) {
				r.concurrently(underHold, func(heldErr error) {
					r.concurrently(withoutHold, func(writeErr error) { done(errors.Join(updateErr, deleteErr, heldErr, writeErr)) })
				})
			})
		})
	})
}

// tooLate reports whether the plan no longer counts as confirmed.
func (r *round) tooLate() bool { return r.confirmedUntil > 0 && r.now >= r.confirmedUntil }

// countRecords counts the changes of the record in the plan. It reports a violation if the plan treats
// the record as restored, because the walk restores nothing.
func (r *round) countRecords() {
	for _, action := range r.actions {
		switch a := action.(type) {
		case plan.EndIntent:
			r.report.Actions[intentsEnded]++
			if a.Because == reason.HoldRestored {
				r.violate(r.g, "NothingRestored", "drops the intent of "+a.Intent.Pod+" as if it was from before a restore")
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
	for _, action := range plan.In(order, r.actions) {
		if send := r.requestOf(action); send != nil {
			all = append(all, send)
		}
	}
	return all
}

// requestsByZone returns a request for each zone, which sends those of its actions of one order one after the other.
func (r *round) requestsByZone(order plan.Order) []request {
	zones, of := []string{}, map[string][]request{}
	for _, action := range plan.In(order, r.actions) {
		send := r.requestOf(action)
		if send == nil {
			continue
		}
		effect := action.Effect()
		if of[effect.Zone] == nil {
			zones = append(zones, effect.Zone)
		}
		if effect.Disrupts {
			send = r.unlessTooLate(send)
		}
		of[effect.Zone] = append(of[effect.Zone], send)
	}
	all := make([]request, len(zones))
	for i, zone := range zones {
		all[i] = func(done func(error)) { r.sequentially(of[zone], done) }
	}
	return all
}

// unlessTooLate returns a request that is not sent once the plan no longer counts as confirmed.
func (r *round) unlessTooLate(send request) request {
	return func(done func(error)) {
		if r.tooLate() {
			done(nil)
			return
		}
		send(done)
	}
}

// requestOf returns the request of an action; nil if the action needs none in a walk.
func (r *round) requestOf(action plan.Action) request {
	switch a := action.(type) {
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
		return r.requestPatch(downscalesStamped, a.Zone, a.Version, func(z *zone) { z.Downscaled = plan.Moment{Time: a.Time} })
	}
	return nil
}

// request sends a request and passes its result to done.
type request func(done func(error))

// sequentially sends each request after the answer to the previous one.
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

// concurrently sends all requests at the same time.
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

// inWaves sends ten requests at a time. It sends none a second after the first one.
func (r *round) inWaves(all []request, done func(error)) {
	if len(all) == 0 {
		done(nil)
		return
	}
	began, next, underWay := r.now, 0, 0
	var failed error
	var send func()
	send = func() {
		for ; next < len(all) && underWay < 10 && r.now-began < time.Second && !r.tooLate(); next++ {
			underWay++
			all[next](func(err error) {
				failed = errors.Join(failed, err)
				underWay--
				if r.leading() {
					send()
				}
			})
		}
		if underWay == 0 {
			done(failed)
		}
	}
	send()
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
	case hold.Carry, hold.ReadLive, hold.Label:
		done(nil) // in a walk, every Lease has its label
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
		d := disruption{actor: r.name, uid: a.UID, version: a.Version, startVersion: r.startVersion, shown: r.knownVersions()}
		r.sendWrite(func() bool { return r.deletePod(r.g, n, ordinal, d) }, func(err error) {
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
		d := downscale{actor: r.name, version: a.Version, to: a.To, shown: r.knownVersions()}
		r.requestZoneWrite(n, func() bool { return r.setReplicas(r.g, n, d) })(done)
	}
}

// knownVersions returns the versions that the sender of a request can know: those of the decision, and
// those in later answers to writes of this process. A StatefulSet that joined the group later is not
// among them.
func (r *round) knownVersions() shownVersions {
	known := r.withAnswers(r.g, r.shown)
	for n, z := range r.g.zones {
		if _, seen := r.snapshot.Zone(z.Name); seen {
			known.answered[n] = max(known.answered[n], r.verified)
		}
	}
	return known
}

func (r *round) requestPatch(what action, name string, version plan.Version, changed func(*zone)) request {
	n := zoneNumber(name)
	return r.requestZoneWrite(n, func() bool { return r.changeZone(what, r.g, n, version, changed) })
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
