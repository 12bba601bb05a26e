package sim

var operatorNames = [maxOperators]string{"operator-1", "operator-2"}

// work visits the next move of an operator's round.
func (e *explorer) work(w *world, n int, see visit) {
	switch w.operators[n].at {
	case idle:
		if w.operators[n].leads {
			e.begin(w, n, see)
		}
	case looking:
		m := move{next: *w, fair: true, line: func() string { return operatorNames[n] + ": reads the zones live" }}
		next := &m.next.operators[n]
		next.at, next.look.zones = zonesRead, w.zones
		see(&m)
		m = move{next: *w, fair: true, line: func() string { return operatorNames[n] + ": reads the pods live" }}
		next = &m.next.operators[n]
		next.at, next.look.pods, next.look.down = podsRead, w.pods, down(&w.pods, &w.zones)
		see(&m)
	case zonesRead:
		zones := w.operators[n].look.zones
		e.readAll(w, n, look{zones: zones, pods: w.pods, down: down(&w.pods, &zones)}, see)
	case podsRead:
		e.readAll(w, n, look{zones: w.zones, pods: w.operators[n].look.pods, down: w.operators[n].look.down}, see)
	case leftRead:
		e.readLeft(w, n, see)
	case confirming:
		e.confirm(w, n, see)
	case acting:
		e.send(w, n, nil, see)
	}
}

// begin plans on the caches if they show everything that is known. No event between a plan on
// caches and its first request matters, so both are one move. The read of the zones before
// the Lease is written is a part of it: a change after this read is like a change after the write.
func (e *explorer) begin(w *world, n int, see visit) {
	o := &w.operators[n]
	if e.misses(o, o.memory) {
		return
	}
	d := e.decide(view{pods: o.pods, zones: o.zones, hold: o.known, own: o.own})
	covers := w.beginning(n)
	switch {
	case d.rule != "":
		e.refuse(w, n, d, see)
	case d.look, d.verify && !o.zones.askTheSame(&w.zones):
		m := move{next: *w, fair: true, exercises: covers, line: func() string { return operatorNames[n] + ": begins to look" }}
		next := &m.next.operators[n]
		if next.known.version == 0 || next.known.recordedDownscale.zone != 0 {
			next.learn(w.lease)
			m.line = func() string { return operatorNames[n] + ": reads the Lease live" }
		}
		next.at, next.look.over = looking, next.known.over()
		see(&m)
	case len(d.steps) > 0:
		next := *w
		next.operators[n].resolve(d, down(&w.pods, &w.zones), down(&w.pods, &w.zones))
		e.send(&next, n, d, func(m *move) {
			m.exercises |= covers
			see(m)
		})
	}
}

// readAll continues with what was read live. If remembered zones have left the group, it reads
// these zones and their pods first.
func (e *explorer) readAll(w *world, n int, read look, see visit) {
	record, _ := w.operators[n].underlying()
	if !record.remembersAway(&read.zones) {
		e.readOnce(w, n, read, see)
		return
	}
	m := move{next: *w, fair: true, line: func() string { return operatorNames[n] + ": has seen both live, and that zones have left" }}
	next := &m.next.operators[n]
	next.at, next.look.zones, next.look.pods, next.look.down = leftRead, read.zones, read.pods, read.down
	see(&m)
}

// readLeft reads the zones that have left, and then their pods. If one of these zones has
// returned, the live read starts again.
func (e *explorer) readLeft(w *world, n int, see visit) {
	read := w.operators[n].look
	for zone := range e.config.Zones {
		if read.zones[zone].away == present {
			continue
		}
		if read.zones[zone] = w.zones[zone]; read.zones[zone].away == present {
			e.lookAnew(w, n, "finds a zone back that had left", see)
			return
		}
		copy(read.pods[zone*maxPods:(zone+1)*maxPods], w.pods[zone*maxPods:(zone+1)*maxPods])
	}
	read.down = down(&read.pods, &read.zones) & (read.down | down(&w.pods, &w.zones))
	e.readOnce(w, n, read, see)
}

// readOnce plans on what was read live, or reads the zones once more first.
func (e *explorer) readOnce(w *world, n int, read look, see visit) {
	record, _ := w.operators[n].underlying()
	if record.deletedAndUnwanted(&read.pods, &read.zones) == 0 {
		e.finishLook(w, n, read, see)
		return
	}
	m := move{next: *w, fair: true, line: func() string { return operatorNames[n] + ": has seen both live" }}
	next := &m.next.operators[n]
	next.at, next.look.zones, next.look.pods, next.look.down = confirming, read.zones, read.pods, read.down
	see(&m)
}

// confirm reads the zones once more. If a deleted pod is wanted now, the live read starts
// again.
func (e *explorer) confirm(w *world, n int, see visit) {
	read := w.operators[n].look
	record, _ := w.operators[n].underlying()
	if !w.zones.anyWanted(record.deletedAndUnwanted(&read.pods, &read.zones)) {
		e.finishLook(w, n, read, see)
		return
	}
	e.lookAnew(w, n, "reads the zones again, which ask for a pod that was deleted", see)
}

func (e *explorer) lookAnew(w *world, n int, since string, see visit) {
	m := move{next: *w, fair: true, exercises: one(looksBeginAnew), line: func() string { return operatorNames[n] + ": " + since }}
	next := &m.next.operators[n]
	next.at, next.look.zones, next.look.pods, next.look.down = looking, zones{}, pods{}, 0
	see(&m)
}

// finishLook plans on what was read live. The last read was just now.
func (e *explorer) finishLook(w *world, n int, read look, see visit) {
	record, own := w.operators[n].underlying()
	d := e.decide(view{pods: read.pods, zones: read.zones, hold: record, own: own, live: true})
	if d.rule != "" {
		e.refuse(w, n, d, see)
		return
	}
	m := move{next: *w, fair: true, exercises: d.exercises(), line: func() string {
		return operatorNames[n] + ": has seen both live and plans" + indented(d.notes)
	}}
	next := &m.next.operators[n]
	next.memory.looked, next.memory.pods, next.memory.zones = true, read.pods.sights(), read.zones.versions()
	e.recall(next)
	next.rest()
	if len(d.steps) > 0 {
		next.resolve(d, read.down&record.downIn(&read.pods, &read.zones), down(&w.pods, &w.zones))
	}
	see(&m)
}

func (e *explorer) refuse(w *world, n int, d *decision, see visit) {
	see(&move{next: *w, rule: d.rule, how: d.broken, line: func() string {
		return operatorNames[n] + ": plans" + indented(d.notes)
	}})
}

// send carries out each of the requests that an operator can send next. If the decision is
// new, the line contains it.
func (e *explorer) send(w *world, n int, just *decision, see visit) {
	for i := range w.operators[n].ready() {
		r := w.operators[n].request(i)
		m := move{next: *w, fair: true, exercises: w.sending(r, e.config), line: func() string { return e.tell(w, n, r, just) }}
		if just != nil {
			m.exercises |= just.exercises()
		}
		if w.operators[n].memory.repeats(r.step) {
			m.rule, m.how = "NoRepeat", operatorNames[n]+" has done so before, knows it, and has not seen what came of it"
		}
		done := e.carryOut(&m, r)
		unanswered := m
		e.answer(&m.next, n, i, done)
		see(&m)
		e.lose(w, &unanswered, n, i, done, see)
		e.giveUp(w, n, i, m.line, see)
	}
}

// answer gives the sender the result of its request.
func (e *explorer) answer(w *world, n, i int, done bool) {
	o := &w.operators[n]
	s := o.steps[i]
	switch {
	case s.kind == write && !done:
		o.learn(w.lease)
		o.rest()
		return
	case s.kind == write:
		o.knows(w.lease, o.claims)
		o.record, o.claims = lease{}, false
	case done && (s.kind == adopt || s.kind == void || s.kind == size):
		o.memory.written[s.target] = w.zones[s.target].version
	case done:
		o.memory.moved[s.target] = s.version
	}
	o.drop(i)
	e.recall(o)
}

// unanswered makes the sender continue without an answer, as after an error. An error of a
// Lease write ends the round.
func (o *operator) unanswered(i int) {
	if o.steps[i].kind == write {
		o.rest()
		return
	}
	o.drop(i)
}

// lose: the request does not arrive, or it arrives and its sender sees an error.
func (e *explorer) lose(w *world, carriedOut *move, n, i int, done bool, see visit) {
	if w.left.lost == 0 {
		return
	}
	line := carriedOut.line
	m := move{next: *w, exercises: one(requestsLost), line: func() string { return line() + ", which never arrives" }}
	m.next.left.lost--
	m.next.operators[n].unanswered(i)
	see(&m)
	if !done {
		return
	}
	m = *carriedOut
	m.fair, m.exercises = false, m.exercises|one(repliesLost)
	m.line = func() string { return line() + ", and the reply is lost" }
	m.next.left.lost--
	m.next.operators[n].unanswered(i)
	see(&m)
}

// giveUp: the sender sees an error while its request is still on its way.
func (e *explorer) giveUp(w *world, n, i int, line func() string, see visit) {
	if !w.mayBeLate() {
		return
	}
	m := move{next: *w, exercises: one(requestsComeLate), line: func() string { return line() + ", which is given up on its way" }}
	m.next.postpone(w.operators[n].request(i))
	m.next.operators[n].unanswered(i)
	see(&m)
}

func (w *world) mayBeLate() bool { return w.left.late > 0 && w.late.kind == 0 }

func (w *world) postpone(r request) {
	w.left.late--
	w.late = r
}

// arrival carries out a request after its sender gave up or died.
func (e *explorer) arrival(w *world, see visit) {
	if w.late.kind == 0 {
		return
	}
	r := w.late
	m := move{next: *w, line: func() string { return "late arrives: " + r.describe(w) }}
	m.next.late = request{}
	e.carryOut(&m, r)
	see(&m)
}
