package sim

import (
	"github.com/lockstep-dev/lockstep/internal/lock/hold"
	"github.com/lockstep-dev/lockstep/internal/lock/invariant"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// evictionClient is a client that evicts a pod. The API server calls the webhook of any process,
// and deletes the pod if it is still the pod that the webhook reviewed.
type evictionClient struct {
	state         evictionState
	slot          uint8
	uid           uint8 // of the pod
	version       uint8 // if not zero, the eviction is allowed only at this version of the pod
	process       uint8 // whose webhook answers
	record        lease // the Lease that the webhook has read, or that it writes
	ownAfterWrite bool  // after the write, the process knows the record as its own
	zones         zones
	pods          pods  // only at evictionConfirming
	downInRead    slots // down in the live read and ever since
	knownDown     slots // as in evidence
}

// evictionState is the progress of an eviction.
type evictionState uint8

const (
	evictionNone evictionState = iota
	evictionRequested
	evictionLeaseRead
	evictionZonesRead
	evictionConfirming
	evictionWriting
	evictionAllowed
)

// underReview reports whether a webhook is processing the eviction.
func (ev *evictionClient) underReview() bool {
	return ev.state == evictionLeaseRead || ev.state == evictionZonesRead || ev.state == evictionConfirming || ev.state == evictionWriting
}

// evictionInput is the complete input of an evictionAnswer.
type evictionInput struct {
	view
	slot, uid uint8
}

// evictionAnswer is the answer of a webhook to an eviction.
type evictionAnswer struct {
	refusal       plan.Refusal
	queuePlace    plan.Waiting // of a refused client, if it waits in the queue
	needsLiveRead bool         // the caches do not suffice
	terminating   bool         // the pod is already terminating
	version       uint8        // of a pod that is down
	record        lease
	ownAfterWrite bool
	notDown       slots
	rule          string // the rule that the answer breaks
	detail        string // how it breaks the rule
}

// requestEviction makes a client evict a pod. Each track has at most one open request.
func (e *explorer) requestEviction(w *world, track int, edit Edit, yield moveFunc) {
	i := 0
	for _, earlier := range e.config.Tracks[:track] {
		for _, other := range earlier {
			if other.Kind == Evict {
				i++
				break
			}
		}
	}
	if w.evictionClients[i].state != evictionNone {
		return
	}
	slot := edit.Zone*maxPods + edit.Value
	m := move{next: *w, covers: covering(userEdits), describe: func() string { return "client: " + edit.String() }}
	m.next.tracks[track]++
	if w.pods[slot].exists() {
		m.next.evictionClients[i] = evictionClient{state: evictionRequested, slot: uint8(slot), uid: w.pods[slot].uid}
	}
	yield(&m)
}

// advanceEvictions advances every eviction by one step, lets time pass, and loses evictions.
func (e *explorer) advanceEvictions(w *world, yield moveFunc) {
	for i := range w.evictionClients {
		switch ev := &w.evictionClients[i]; ev.state {
		case evictionNone:
			continue
		case evictionRequested:
			e.callWebhooks(w, i, yield)
		case evictionLeaseRead:
			m := move{next: *w, fair: true, describe: func() string { return ev.String() + ": the webhook reads the zones live" }}
			m.next.evictionClients[i].state, m.next.evictionClients[i].zones = evictionZonesRead, w.zones
			yield(&m)
		case evictionZonesRead:
			e.readPodsForEviction(w, i, yield)
		case evictionConfirming:
			e.confirmZonesForEviction(w, i, yield)
		case evictionWriting:
			e.writeGrant(w, i, yield)
		case evictionAllowed:
			e.carryOutEviction(w, i, yield)
		}
		e.loseEviction(w, i, yield)
	}
	e.ageGrants(w, yield)
	e.loseQueuePlaces(w, yield)
}

// callWebhooks lets any process answer, first on its caches. If the process knows that its
// caches lack something, it reads live.
func (e *explorer) callWebhooks(w *world, i int, yield moveFunc) {
	ev := &w.evictionClients[i]
	if answer := w.pods[ev.slot]; answer.uid != ev.uid || answer.phase == terminating {
		m := move{next: *w, fair: true, describe: func() string { return ev.String() + ": is no longer needed" }}
		m.next.evictionClients[i] = evictionClient{}
		yield(&m)
		return
	}
	for n := range e.config.processes() {
		o := &w.operators[n]
		if zone := zoneOf(int(ev.slot)); o.zones[zone].absence != present && o.known.members[zone] == 0 {
			if w.zones[zone].absence == present {
				continue // a zone that joins the group counts once the watch has shown it; the walk has such evictions
			}
			yield(&move{next: *w, rule: "Remembered", detail: podNames[ev.slot] + " is evicted although its zone left the group and the hold does not remember it", describe: func() string {
				return ev.String() + ": is allowed by " + operatorNames[n] + ", which knows no group of the pod"
			}})
			continue
		}
		answer := evictionAnswer{needsLiveRead: true}
		if e.deviations.LiveReadsForgotten || !e.cachesMiss(o, o.memory) {
			answer = e.answerEviction(evictionInput{view{pods: o.pods, zones: o.zones, hold: o.known, own: o.ownRecord}, ev.slot, ev.uid})
		}
		switch {
		case !answer.refusal.None():
			e.refuseEviction(w, i, n, answer, yield)
		case answer.version > 0 || answer.terminating:
			yield(w.allowEvictionOfDown(i, answer, operatorNames[n]+" from its caches"))
		case !w.reviewing(n) && answer.needsLiveRead:
			m := move{next: *w, fair: true, describe: func() string { return ev.String() + ": " + operatorNames[n] + " reads the Lease live" }}
			m.next.operators[n].learn(w.lease)
			m.next.evictionClients[i].state, m.next.evictionClients[i].process, m.next.evictionClients[i].record = evictionLeaseRead, uint8(n), w.lease
			yield(&m)
		case !w.reviewing(n):
			m := w.beginGrant(i, answer, operatorNames[n]+" from its caches")
			next := &m.next.evictionClients[i]
			next.process, next.knownDown = uint8(n), o.evidenceFor(answer.notDown, down(&w.pods, &w.zones)).knownDown
			if !o.ownRecord || o.known.holder != answer.record.holder { // it acquires the hold without a live read
				next.downInRead = down(&w.pods, &w.zones)
				next.knownDown = next.downInRead
			}
			m.covers |= covering(evictionsFromCaches)
			yield(m)
		}
	}
}

// reviewing reports whether a process is answering an eviction. It answers one at a time.
func (w *world) reviewing(n int) bool {
	for i := range w.evictionClients {
		if ev := &w.evictionClients[i]; ev.underReview() && int(ev.process) == n {
			return true
		}
	}
	return false
}

// readPodsForEviction reads the pods live, and decides unless the zones must be read once more.
func (e *explorer) readPodsForEviction(w *world, i int, yield moveFunc) {
	ev := &w.evictionClients[i]
	read := *w
	read.evictionClients[i].pods, read.evictionClients[i].downInRead = w.pods, ev.record.downIn(&w.pods, &ev.zones)
	if ev.record.deletedAndUnwanted(&w.pods, &ev.zones) == 0 {
		e.decideEviction(&read, i, yield)
		return
	}
	m := move{next: read, fair: true, describe: func() string { return ev.String() + ": the webhook reads the pods live" }}
	m.next.evictionClients[i].state = evictionConfirming
	yield(&m)
}

// confirmZonesForEviction reads the zones once more. If a deleted pod is wanted now, the live read
// starts again.
func (e *explorer) confirmZonesForEviction(w *world, i int, yield moveFunc) {
	ev := &w.evictionClients[i]
	if !w.zones.anyWanted(ev.record.deletedAndUnwanted(&ev.pods, &ev.zones)) {
		e.decideEviction(w, i, yield)
		return
	}
	m := move{next: *w, fair: true, covers: covering(liveReadsRestarted), describe: func() string {
		return ev.String() + ": the webhook reads the zones again and finds that they want a deleted pod"
	}}
	next := &m.next.evictionClients[i]
	next.state, next.zones, next.pods, next.downInRead = evictionLeaseRead, zones{}, pods{}, 0
	yield(&m)
}

// decideEviction applies the real rules to the live read.
func (e *explorer) decideEviction(w *world, i int, yield moveFunc) {
	ev := &w.evictionClients[i]
	answer := e.answerEviction(evictionInput{view{pods: ev.pods, zones: ev.zones, hold: ev.record, live: true}, ev.slot, ev.uid})
	afterRead := *w
	if o := &afterRead.operators[ev.process]; !e.deviations.LiveReadsForgotten {
		o.memory.hasLiveRead, o.memory.pods, o.memory.zones = true, ev.pods.versions(), ev.zones.versions()
		e.forget(o)
	}
	switch {
	case answer.refusal.Code == reason.PodNotFound:
		m := move{next: afterRead, fair: true, describe: func() string { return ev.String() + ": finds that the pod no longer exists" }}
		m.next.evictionClients[i] = evictionClient{}
		yield(&m)
	case !answer.refusal.None():
		e.refuseEviction(&afterRead, i, int(ev.process), answer, yield)
	case answer.version > 0 || answer.terminating:
		yield(afterRead.allowEvictionOfDown(i, answer, operatorNames[ev.process]))
	default:
		m := afterRead.beginGrant(i, answer, operatorNames[ev.process])
		next := &m.next.evictionClients[i]
		next.downInRead = ev.downInRead
		next.knownDown = (&operator{downAtJoin: next.downInRead}).evidenceFor(answer.notDown, down(&w.pods, &w.zones)).knownDown
		yield(m)
	}
}

// allowEvictionOfDown allows the eviction of a pod that is already terminating, or of a pod that is
// down. The eviction of a pod that is down is bound to the version of the pod.
func (w *world) allowEvictionOfDown(i int, answer evictionAnswer, webhook string) *move {
	ev := &w.evictionClients[i]
	m := &move{next: *w, fair: true, describe: func() string { return ev.String() + ": is allowed by " + webhook + " because the pod is down" }}
	m.next.evictionClients[i] = evictionClient{state: evictionAllowed, slot: ev.slot, uid: ev.uid, version: answer.version}
	if answer.terminating {
		m.next.evictionClients[i] = evictionClient{} // the pod terminates without the eviction
	}
	m.rule, m.detail = answer.rule, answer.detail
	return m
}

// beginGrant begins to write the record that must precede the answer.
func (w *world) beginGrant(i int, answer evictionAnswer, webhook string) *move {
	ev := &w.evictionClients[i]
	m := &move{next: *w, fair: true, describe: func() string { return ev.String() + ": will be allowed by " + webhook + " once the Lease records it" }}
	m.next.evictionClients[i] = evictionClient{state: evictionWriting, slot: ev.slot, uid: ev.uid, process: ev.process, record: answer.record, ownAfterWrite: answer.ownAfterWrite}
	m.rule, m.detail = answer.rule, answer.detail
	return m
}

// refuseEviction makes the client retry, and wait in the queue if the configuration says so.
// A refusal alone does not change what a process knows.
func (e *explorer) refuseEviction(w *world, i, n int, answer evictionAnswer, yield moveFunc) {
	ev, o := &w.evictionClients[i], &w.operators[n]
	m := move{next: *w, fair: true, covers: covering(evictionsRefused), describe: func() string {
		return ev.String() + ": is refused by " + operatorNames[n] + " because " + answer.refusal.String()
	}}
	m.next.evictionClients[i] = evictionClient{state: evictionRequested, slot: ev.slot, uid: ev.uid}
	if hasPlace := answer.queuePlace.Zone != ""; e.config.Queue && hasPlace {
		known := view{pods: o.pods, hold: o.known}
		if next, changes := hold.Enqueued(known.holdInput(e.config).Record(), answer.queuePlace); changes && e.writeLease(&m, known.leaseOf(group.HoldOf(next))) {
			m.next.operators[n].setKnown(m.next.lease, false)
			m.covers |= covering(evictionsQueued)
			m.describe = func() string {
				return ev.String() + ": is refused by " + operatorNames[n] + " because " + answer.refusal.String() + ", and waits in the queue"
			}
		}
	}
	yield(&m)
}

// answerEviction calls the real planner and the real rules of the hold.
func (e *explorer) answerEviction(p evictionInput) evictionAnswer {
	if known, ok := e.evictionAnswers[p]; ok {
		return known
	}
	s := p.snapshot(e.config)
	eviction := plan.EvictionRequest{Pod: podNames[p.slot], UID: numbers[p.uid]}
	answer, holdDecision := group.Evict(s, eviction), hold.Decision{}
	out := evictionAnswer{refusal: answer.Because, queuePlace: answer.Place, version: originalVersion(answer.Version), notDown: ^p.hold.downIn(&p.pods, &p.zones)}
	out.terminating = answer.Allowed() && !answer.NeedsRecord() && answer.Version == 0
	if answer.Allowed() && answer.NeedsRecord() {
		holdDecision = hold.DecideGrant(&s, answer.Record)
		out.needsLiveRead = holdDecision.Need == hold.ReadLive
		if !out.needsLiveRead {
			out.record, out.ownAfterWrite = p.leaseOf(group.HoldOf(holdDecision.Record)), holdDecision.Record.Own
		}
	}
	if broken := invariant.CheckEviction(s, eviction, answer, holdDecision); broken != nil {
		out.rule, out.detail = broken.Name, "the answer breaks it: "+broken.Detail
	}
	e.evictionAnswers[p] = out
	return out
}

// writeGrant records the grant in the Lease by compare-and-swap.
func (e *explorer) writeGrant(w *world, i int, yield moveFunc) {
	ev := &w.evictionClients[i]
	o := &w.operators[ev.process]
	m := move{next: *w, fair: true, describe: func() string { return ev.String() + ": " + operatorNames[ev.process] + " writes " + ev.record.String() }}
	if !e.writeLease(&m, ev.record) {
		m.next.operators[ev.process].learn(w.lease)
		m.next.evictionClients[i] = evictionClient{state: evictionRequested, slot: ev.slot, uid: ev.uid}
		m.describe = func() string {
			return ev.String() + ": " + operatorNames[ev.process] + " finds that the Lease has changed"
		}
		yield(&m)
		return
	}
	if w.lease.intents[ev.slot].grant != noGrant {
		m.covers |= covering(evictionsGrantedAgain)
	}
	if int(ev.process) >= e.config.Operators {
		m.covers |= covering(evictionsByStandby)
	}
	m.next.evictionClients[i] = evictionClient{state: evictionAllowed, slot: ev.slot, uid: ev.uid, knownDown: ev.knownDown}
	lost := m
	next := &m.next.operators[ev.process]
	if !o.ownRecord || w.lease.holder != m.next.lease.holder {
		next.downAtJoin = ev.downInRead
	}
	next.setKnown(m.next.lease, ev.ownAfterWrite)
	yield(&m)
	if w.remaining.lostRequests > 0 {
		lost.fair, lost.covers = false, lost.covers|covering(repliesLost)
		describe := lost.describe
		lost.describe = func() string { return describe() + ", and the reply is lost" }
		lost.next.remaining.lostRequests--
		lost.next.evictionClients[i] = evictionClient{}
		yield(&lost)
	}
}

// carryOutEviction deletes the pod if it is still the pod that the webhook reviewed, or makes a
// PodDisruptionBudget refuse the eviction.
func (e *explorer) carryOutEviction(w *world, i int, yield moveFunc) {
	ev := &w.evictionClients[i]
	p := w.pods[ev.slot]
	if w.remaining.vetoes > 0 && ev.version == 0 {
		m := move{next: *w, covers: covering(evictionsRefusedByPDB), describe: func() string { return ev.String() + ": is refused by a PodDisruptionBudget" }}
		m.next.remaining.vetoes--
		m.next.evictionClients[i] = evictionClient{state: evictionRequested, slot: ev.slot, uid: ev.uid}
		yield(&m)
	}
	m := move{next: *w, fair: true, describe: func() string { return ev.String() + ": is carried out" }}
	m.next.evictionClients[i] = evictionClient{}
	switch {
	case !p.exists() || p.uid != ev.uid && !e.deviations.Unpinned && !e.config.Unbound:
		m.covers = covering(evictionsLate)
		m.describe = func() string { return ev.String() + ": is too late, its pod no longer exists" }
	case ev.version > 0 && p.version != ev.version:
		m.next.evictionClients[i] = evictionClient{state: evictionRequested, slot: ev.slot, uid: ev.uid}
		m.describe = func() string { return ev.String() + ": is too late, its pod has changed" }
	case p.phase == terminating:
	default:
		e.disruptPod(w, &m, ev)
	}
	yield(&m)
}

// disruptPod makes an evicted pod terminate, and checks the eviction.
func (e *explorer) disruptPod(w *world, m *move, ev *evictionClient) {
	slot := int(ev.slot)
	p := &m.next.pods[slot]
	up := p.up()
	p.version++
	p.phase = terminating
	if !up {
		m.covers = covering(evictionsOfDown)
		return
	}
	m.next.byLockstep = m.next.byLockstep.with(slot)
	m.covers = covering(evictionsCarriedOut)
	if w.lease.holder != free && w.lease.operation != eviction {
		m.covers |= covering(evictionsDuringOperation)
	}
	for i := range w.evictionClients {
		if other := &w.evictionClients[i]; other.slot != ev.slot && other.state == evictionAllowed {
			m.covers |= covering(concurrentEvictions)
		}
	}
	if e.config.Partitions {
		if w.byPartition != 0 {
			m.covers |= covering(evictionsByPartition)
		}
		m.next.byPartition = m.next.byPartition.with(slot)
	}
	m.rule, m.detail = e.checkEviction(&m.next, ev)
}

// loseEviction ends an eviction: the client gives up, or the process of the webhook dies.
func (e *explorer) loseEviction(w *world, i int, yield moveFunc) {
	if w.remaining.lostRequests == 0 {
		return
	}
	ev := &w.evictionClients[i]
	m := move{next: *w, covers: covering(requestsLost), describe: func() string { return ev.String() + ": its client gives up" }}
	m.next.remaining.lostRequests--
	m.next.evictionClients[i] = evictionClient{}
	yield(&m)
}

// retryAfterDeath makes the client retry if the process that was reviewing the eviction has died.
func (ev *evictionClient) retryAfterDeath(n int) {
	if ev.underReview() && int(ev.process) == n {
		*ev = evictionClient{state: evictionRequested, slot: ev.slot, uid: ev.uid}
	}
}

// String returns the eviction as a part of a trace.
func (ev *evictionClient) String() string { return "eviction of " + podNames[ev.slot] }
