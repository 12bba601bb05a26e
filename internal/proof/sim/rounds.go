package sim

var operatorNames = [maxOperators]string{"operator-1", "operator-2"}

// advanceRound visits the next move of an operator's round.
func (e *explorer) advanceRound(w *world, n int, yield moveFunc) {
	switch w.operators[n].state {
	case roundIdle:
		if w.operators[n].leads {
			e.beginRound(w, n, yield)
		}
	case roundReading:
		m := move{next: *w, fair: true, describe: func() string { return operatorNames[n] + ": reads the zones live" }}
		next := &m.next.operators[n]
		next.state, next.liveRead.zones = roundZonesRead, w.zones
		yield(&m)
		m = move{next: *w, fair: true, describe: func() string { return operatorNames[n] + ": reads the pods live" }}
		next = &m.next.operators[n]
		next.state, next.liveRead.pods, next.liveRead.down = roundPodsRead, w.pods, down(&w.pods, &w.zones)
		yield(&m)
	case roundZonesRead:
		zones := w.operators[n].liveRead.zones
		e.readAll(w, n, liveRead{zones: zones, pods: w.pods, down: down(&w.pods, &zones)}, yield)
	case roundPodsRead:
		e.readAll(w, n, liveRead{zones: w.zones, pods: w.operators[n].liveRead.pods, down: w.operators[n].liveRead.down}, yield)
	case roundLeftRead:
		e.readLeft(w, n, yield)
	case roundConfirming:
		e.confirmZones(w, n, yield)
	case roundActing:
		e.send(w, n, nil, yield)
	}
}

// beginRound plans on the caches if they lack nothing that is known. No event between a plan on
// caches and its first request matters, so both are one move. The read of the zones before
// the Lease is written is a part of it: a change after this read is like a change after the write.
func (e *explorer) beginRound(w *world, n int, yield moveFunc) {
	o := &w.operators[n]
	if e.cachesMiss(o, o.memory) {
		return
	}
	d := e.decide(view{pods: o.pods, zones: o.zones, hold: o.known, own: o.ownRecord})
	covers := w.coversOfRound(n)
	switch {
	case d.rule != "":
		e.reportViolation(w, n, d, yield)
	case d.needsLiveRead, d.verify && !o.zones.sameSpecs(&w.zones):
		m := move{next: *w, fair: true, covers: covers, describe: func() string { return operatorNames[n] + ": begins a live read" }}
		next := &m.next.operators[n]
		if next.known.version == 0 || next.known.recordedDownscale.zone != 0 {
			next.learn(w.lease)
			m.describe = func() string { return operatorNames[n] + ": reads the Lease live" }
		}
		next.state, next.liveRead.expiredGrants = roundReading, next.known.expiredGrants()
		yield(&m)
	case len(d.steps) > 0:
		next := *w
		next.operators[n].startActing(d, down(&w.pods, &w.zones), down(&w.pods, &w.zones))
		e.send(&next, n, d, func(m *move) {
			m.covers |= covers
			yield(m)
		})
	}
}

// readAll continues after zones and pods were read live. If remembered zones have left the group,
// it reads these zones and their pods first.
func (e *explorer) readAll(w *world, n int, read liveRead, yield moveFunc) {
	record, _ := w.operators[n].recordOfRead()
	if !record.remembersAbsent(&read.zones) {
		e.confirmOrPlan(w, n, read, yield)
		return
	}
	m := move{next: *w, fair: true, describe: func() string { return operatorNames[n] + ": has read both live and finds that zones have left" }}
	next := &m.next.operators[n]
	next.state, next.liveRead.zones, next.liveRead.pods, next.liveRead.down = roundLeftRead, read.zones, read.pods, read.down
	yield(&m)
}

// readLeft reads the zones that have left, and then their pods. If one of these zones has
// returned, the live read starts again.
func (e *explorer) readLeft(w *world, n int, yield moveFunc) {
	read := w.operators[n].liveRead
	for zone := range e.config.Zones {
		if read.zones[zone].absence == present {
			continue
		}
		if read.zones[zone] = w.zones[zone]; read.zones[zone].absence == present {
			e.restartLiveRead(w, n, "finds that a zone has returned", yield)
			return
		}
		copy(read.pods[zone*maxPods:(zone+1)*maxPods], w.pods[zone*maxPods:(zone+1)*maxPods])
	}
	read.down = down(&read.pods, &read.zones) & (read.down | down(&w.pods, &w.zones))
	e.confirmOrPlan(w, n, read, yield)
}

// confirmOrPlan plans on the live read. If the read shows that a recorded pod is deleted and
// unwanted, the operator first reads the zones once more.
func (e *explorer) confirmOrPlan(w *world, n int, read liveRead, yield moveFunc) {
	record, _ := w.operators[n].recordOfRead()
	if record.deletedAndUnwanted(&read.pods, &read.zones) == 0 {
		e.planOnLiveRead(w, n, read, yield)
		return
	}
	m := move{next: *w, fair: true, describe: func() string { return operatorNames[n] + ": has read both live" }}
	next := &m.next.operators[n]
	next.state, next.liveRead.zones, next.liveRead.pods, next.liveRead.down = roundConfirming, read.zones, read.pods, read.down
	yield(&m)
}

// confirmZones reads the zones once more. If a deleted pod is wanted now, the live read starts
// again.
func (e *explorer) confirmZones(w *world, n int, yield moveFunc) {
	read := w.operators[n].liveRead
	record, _ := w.operators[n].recordOfRead()
	if !w.zones.anyWanted(record.deletedAndUnwanted(&read.pods, &read.zones)) {
		e.planOnLiveRead(w, n, read, yield)
		return
	}
	e.restartLiveRead(w, n, "reads the zones again and finds that they want a deleted pod", yield)
}

func (e *explorer) restartLiveRead(w *world, n int, why string, yield moveFunc) {
	m := move{next: *w, fair: true, covers: covering(liveReadsRestarted), describe: func() string { return operatorNames[n] + ": " + why }}
	next := &m.next.operators[n]
	next.state, next.liveRead.zones, next.liveRead.pods, next.liveRead.down = roundReading, zones{}, pods{}, 0
	yield(&m)
}

// planOnLiveRead plans on the live read, whose last request has just been answered.
func (e *explorer) planOnLiveRead(w *world, n int, read liveRead, yield moveFunc) {
	record, own := w.operators[n].recordOfRead()
	d := e.decide(view{pods: read.pods, zones: read.zones, hold: record, own: own, live: true})
	if d.rule != "" {
		e.reportViolation(w, n, d, yield)
		return
	}
	m := move{next: *w, fair: true, covers: d.covers(), describe: func() string {
		return operatorNames[n] + ": has read both live and plans" + indented(d.notation)
	}}
	next := &m.next.operators[n]
	next.memory.hasLiveRead, next.memory.pods, next.memory.zones = true, read.pods.versions(), read.zones.versions()
	e.forget(next)
	next.endRound()
	if len(d.steps) > 0 {
		next.startActing(d, read.down&record.downIn(&read.pods, &read.zones), down(&w.pods, &w.zones))
	}
	yield(&m)
}

func (e *explorer) reportViolation(w *world, n int, d *decision, yield moveFunc) {
	yield(&move{next: *w, rule: d.rule, detail: d.detail, describe: func() string {
		return operatorNames[n] + ": plans" + indented(d.notation)
	}})
}

// send carries out each of the requests that an operator can send next. If the decision is new, the
// description of the move contains it.
func (e *explorer) send(w *world, n int, fresh *decision, yield moveFunc) {
	for i := range w.operators[n].sendable() {
		r := w.operators[n].request(i)
		m := move{next: *w, fair: true, covers: w.coversOfRequest(r, e.config), describe: func() string { return e.describeSend(w, n, r, fresh) }}
		if fresh != nil {
			m.covers |= fresh.covers()
		}
		if w.operators[n].memory.repeats(r.step) {
			m.rule, m.detail = "NoRepeat", operatorNames[n]+" repeats a request that it knows was carried out, before its caches show the effect"
		}
		done := e.carryOut(&m, r)
		unanswered := m
		e.deliverAnswer(&m.next, n, i, done)
		yield(&m)
		e.loseRequest(w, &unanswered, n, i, done, yield)
		e.giveUp(w, n, i, m.describe, yield)
	}
}

// deliverAnswer gives the sender of a request the result.
func (e *explorer) deliverAnswer(w *world, n, i int, done bool) {
	o := &w.operators[n]
	s := o.steps[i]
	switch {
	case s.kind == stepWriteLease && !done:
		o.learn(w.lease)
		o.endRound()
		return
	case s.kind == stepWriteLease:
		o.setKnown(w.lease, o.ownAfterWrite)
		o.record, o.ownAfterWrite = lease{}, false
	case done && (s.kind == stepAdoptRevision || s.kind == stepUpdateZone || s.kind == stepSetReplicas):
		o.memory.zoneWrites[s.target] = w.zones[s.target].version
	case done:
		o.memory.podWrites[s.target] = s.version
	}
	o.dropStep(i)
	e.forget(o)
}

// failStep makes the sender of a request continue as after an error. An error of a Lease write ends
// the round.
func (o *operator) failStep(i int) {
	if o.steps[i].kind == stepWriteLease {
		o.endRound()
		return
	}
	o.dropStep(i)
}

// loseRequest loses a request, or only its reply. In both cases the sender sees an error.
func (e *explorer) loseRequest(w *world, carriedOut *move, n, i int, done bool, yield moveFunc) {
	if w.remaining.lostRequests == 0 {
		return
	}
	describe := carriedOut.describe
	m := move{next: *w, covers: covering(requestsLost), describe: func() string { return describe() + ", which never arrives" }}
	m.next.remaining.lostRequests--
	m.next.operators[n].failStep(i)
	yield(&m)
	if !done {
		return
	}
	m = *carriedOut
	m.fair, m.covers = false, m.covers|covering(repliesLost)
	m.describe = func() string { return describe() + ", and the reply is lost" }
	m.next.remaining.lostRequests--
	m.next.operators[n].failStep(i)
	yield(&m)
}

// giveUp makes the sender of a request see an error while the request is still in flight.
func (e *explorer) giveUp(w *world, n, i int, describe func() string, yield moveFunc) {
	if !w.canDelay() {
		return
	}
	m := move{next: *w, covers: covering(requestsArriveLate), describe: func() string { return describe() + ", and its sender gives up while it is in flight" }}
	m.next.delay(w.operators[n].request(i))
	m.next.operators[n].failStep(i)
	yield(&m)
}

func (w *world) canDelay() bool { return w.remaining.lateRequests > 0 && w.lateRequest.kind == 0 }

func (w *world) delay(r request) {
	w.remaining.lateRequests--
	w.lateRequest = r
}

// deliverLate carries out a request after its sender gave up or died.
func (e *explorer) deliverLate(w *world, yield moveFunc) {
	if w.lateRequest.kind == 0 {
		return
	}
	r := w.lateRequest
	m := move{next: *w, describe: func() string { return "a late request arrives: " + r.describe(w) }}
	m.next.lateRequest = request{}
	e.carryOut(&m, r)
	yield(&m)
}
