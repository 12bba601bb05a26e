package sim

import (
	"github.com/lockstep-dev/lockstep/internal/lock/hold"
	"github.com/lockstep-dev/lockstep/internal/lock/invariant"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// evictor is a client that evicts a pod. The API server calls the webhook of any process,
// and deletes the pod if it is still the pod that was judged.
type evictor struct {
	at      evictPlace
	slot    uint8
	born    uint8 // of the pod
	version uint8 // if not zero, the eviction is allowed only at this version of the pod
	by      uint8 // the process whose webhook answers
	paper   lease // the record that the webhook has read, or that it writes
	claims  bool  // once it is written, the process knows the record as its own
	look    zones
	pods    pods  // only at confirmingZones
	joined  slots // down in the live read, and ever since
	before  slots // as in evidence
}

// evictPlace is the progress of an eviction.
type evictPlace uint8

const (
	nowhere evictPlace = iota
	wanting
	leaseRead
	zonesReadToo
	confirmingZones
	granting
	underway
)

// answered reports whether a webhook is processing the eviction.
func (ev *evictor) answered() bool {
	return ev.at == leaseRead || ev.at == zonesReadToo || ev.at == confirmingZones || ev.at == granting
}

// plea is everything that a permit depends on.
type plea struct {
	view
	slot, born uint8
}

type permit struct {
	refused plan.Refusal
	place   plan.Waiting // the place in the queue for a refused client, if there is one
	looks   bool         // the caches do not suffice
	leaves  bool         // the pod is already terminating
	version uint8        // of a pod that is down
	record  lease
	claims  bool
	shown   slots
	rule    string // the rule that the answer breaks
	broken  string // how it breaks the rule
}

// want makes a client evict a pod, at most one for each track.
func (e *explorer) want(w *world, track int, edit Edit, see visit) {
	i := 0
	for _, earlier := range e.config.Tracks[:track] {
		for _, other := range earlier {
			if other.Kind == Evict {
				i++
				break
			}
		}
	}
	if w.evictors[i].at != nowhere {
		return
	}
	slot := edit.Zone*maxPods + edit.Value
	m := move{next: *w, exercises: one(userEdits), line: func() string { return "somebody: " + edit.String() }}
	m.next.tracks[track]++
	if w.pods[slot].exists() {
		m.next.evictors[i] = evictor{at: wanting, slot: uint8(slot), born: w.pods[slot].born}
	}
	see(&m)
}

// evictions advances every eviction by one step, lets time pass, and loses evictions.
func (e *explorer) evictions(w *world, see visit) {
	for i := range w.evictors {
		switch ev := &w.evictors[i]; ev.at {
		case nowhere:
			continue
		case wanting:
			e.askWebhooks(w, i, see)
		case leaseRead:
			m := move{next: *w, fair: true, line: func() string { return ev.String() + ": the webhook reads the zones live" }}
			m.next.evictors[i].at, m.next.evictors[i].look = zonesReadToo, w.zones
			see(&m)
		case zonesReadToo:
			e.readPods(w, i, see)
		case confirmingZones:
			e.confirmZones(w, i, see)
		case granting:
			e.grant(w, i, see)
		case underway:
			e.evict(w, i, see)
		}
		e.loseEvictor(w, i, see)
	}
	e.grantsAge(w, see)
	e.placesAreLost(w, see)
}

// askWebhooks lets any process answer, first on its caches. If the process knows that its
// caches lack something, it reads live.
func (e *explorer) askWebhooks(w *world, i int, see visit) {
	ev := &w.evictors[i]
	if p := w.pods[ev.slot]; p.born != ev.born || p.phase == leaving {
		m := move{next: *w, fair: true, line: func() string { return ev.String() + ": is not needed any more" }}
		m.next.evictors[i] = evictor{}
		see(&m)
		return
	}
	for n := range e.config.processes() {
		o := &w.operators[n]
		if zone := zoneOf(int(ev.slot)); o.zones[zone].away != present && o.known.members[zone] == 0 {
			see(&move{next: *w, rule: "Remembered", how: podNames[ev.slot] + " is evicted although its zone is away, and is not remembered", line: func() string {
				return ev.String() + ": is allowed by " + operatorNames[n] + ", which knows no group of it"
			}})
			continue
		}
		p := permit{looks: true}
		if e.rules.Forgetful || !e.misses(o, o.memory) {
			p = e.permit(plea{view{pods: o.pods, zones: o.zones, hold: o.known, own: o.own}, ev.slot, ev.born})
		}
		switch {
		case !p.refused.None():
			e.refuseEviction(w, i, n, p, see)
		case p.version > 0 || p.leaves:
			see(w.permitDown(i, p, operatorNames[n]+" by its caches"))
		case !w.busy(n) && p.looks:
			m := move{next: *w, fair: true, line: func() string { return ev.String() + ": " + operatorNames[n] + " reads the Lease live" }}
			m.next.operators[n].learn(w.lease)
			m.next.evictors[i].at, m.next.evictors[i].by, m.next.evictors[i].paper = leaseRead, uint8(n), w.lease
			see(&m)
		case !w.busy(n):
			m := w.promise(i, p, operatorNames[n]+" by its caches")
			next := &m.next.evictors[i]
			next.by, next.before = uint8(n), o.seeing(p.shown, down(&w.pods, &w.zones)).before
			if !o.own || o.known.holder != p.record.holder { // acquires the hold without a live read
				next.joined = down(&w.pods, &w.zones)
				next.before = next.joined
			}
			m.exercises |= one(evictionsByCaches)
			see(m)
		}
	}
}

// busy reports whether a process is answering an eviction. It answers one at a time.
func (w *world) busy(n int) bool {
	for i := range w.evictors {
		if ev := &w.evictors[i]; ev.answered() && int(ev.by) == n {
			return true
		}
	}
	return false
}

// readPods reads the pods live, and decides unless the zones must be read once more.
func (e *explorer) readPods(w *world, i int, see visit) {
	ev := &w.evictors[i]
	read := *w
	read.evictors[i].pods, read.evictors[i].joined = w.pods, ev.paper.downIn(&w.pods, &ev.look)
	if ev.paper.deletedAndUnwanted(&w.pods, &ev.look) == 0 {
		e.judgeLive(&read, i, see)
		return
	}
	m := move{next: read, fair: true, line: func() string { return ev.String() + ": the webhook reads the pods live" }}
	m.next.evictors[i].at = confirmingZones
	see(&m)
}

// confirmZones reads the zones once more. If a deleted pod is wanted now, the live read
// starts again.
func (e *explorer) confirmZones(w *world, i int, see visit) {
	ev := &w.evictors[i]
	if !w.zones.anyWanted(ev.paper.deletedAndUnwanted(&ev.pods, &ev.look)) {
		e.judgeLive(w, i, see)
		return
	}
	m := move{next: *w, fair: true, exercises: one(looksBeginAnew), line: func() string {
		return ev.String() + ": the webhook reads the zones again, which ask for a pod that was deleted"
	}}
	next := &m.next.evictors[i]
	next.at, next.look, next.pods, next.joined = leaseRead, zones{}, pods{}, 0
	see(&m)
}

// judgeLive applies the real rules to what was read live.
func (e *explorer) judgeLive(w *world, i int, see visit) {
	ev := &w.evictors[i]
	p := e.permit(plea{view{pods: ev.pods, zones: ev.look, hold: ev.paper, live: true}, ev.slot, ev.born})
	looked := *w
	if o := &looked.operators[ev.by]; !e.rules.Forgetful {
		o.memory.looked, o.memory.pods, o.memory.zones = true, ev.pods.sights(), ev.look.versions()
		e.recall(o)
	}
	switch {
	case p.refused.Code == reason.PodNotFound:
		m := move{next: looked, fair: true, line: func() string { return ev.String() + ": finds the pod gone" }}
		m.next.evictors[i] = evictor{}
		see(&m)
	case !p.refused.None():
		e.refuseEviction(&looked, i, int(ev.by), p, see)
	case p.version > 0 || p.leaves:
		see(looked.permitDown(i, p, operatorNames[ev.by]))
	default:
		m := looked.promise(i, p, operatorNames[ev.by])
		next := &m.next.evictors[i]
		next.joined = ev.joined
		next.before = (&operator{before: next.joined}).seeing(p.shown, down(&w.pods, &w.zones)).before
		see(m)
	}
}

// permitDown allows the eviction of a pod that is down, only at this version, or that is
// already terminating.
func (w *world) permitDown(i int, p permit, who string) *move {
	ev := &w.evictors[i]
	m := &move{next: *w, fair: true, line: func() string { return ev.String() + ": is allowed by " + who + ", since the pod is down" }}
	m.next.evictors[i] = evictor{at: underway, slot: ev.slot, born: ev.born, version: p.version}
	if p.leaves {
		m.next.evictors[i] = evictor{} // the pod terminates without it
	}
	m.rule, m.how = p.rule, p.broken
	return m
}

// promise begins to write the record that must precede the answer.
func (w *world) promise(i int, p permit, who string) *move {
	ev := &w.evictors[i]
	m := &move{next: *w, fair: true, line: func() string { return ev.String() + ": gets a yes from " + who + " once it is noted" }}
	m.next.evictors[i] = evictor{at: granting, slot: ev.slot, born: ev.born, by: ev.by, paper: p.record, claims: p.claims}
	m.rule, m.how = p.rule, p.broken
	return m
}

// refuseEviction makes the client retry, and wait in the queue if the configuration says so.
// A refusal alone does not change what a process knows.
func (e *explorer) refuseEviction(w *world, i, n int, p permit, see visit) {
	ev, o := &w.evictors[i], &w.operators[n]
	m := move{next: *w, fair: true, exercises: one(evictionsRefused), line: func() string {
		return ev.String() + ": is refused by " + operatorNames[n] + " because " + p.refused.String()
	}}
	m.next.evictors[i] = evictor{at: wanting, slot: ev.slot, born: ev.born}
	first := p.refused.Code == reason.GroupHeld || p.refused.Code == reason.QueuedBehindOtherZone
	if waits := first && p.place.Zone != ""; e.config.Queue && waits {
		known := view{pods: o.pods, hold: o.known}
		if next, changes := hold.Enqueued(known.record(e.config).Record(), p.place); changes && e.write(&m, known.written(group.HoldOf(next))) {
			m.next.operators[n].knows(m.next.lease, false)
			m.exercises |= one(evictionsQueued)
			m.line = func() string {
				return ev.String() + ": is refused by " + operatorNames[n] + " because " + p.refused.String() + ", and waits in the queue"
			}
		}
	}
	see(&m)
}

// permit calls the real planner and the real rules of the hold.
func (e *explorer) permit(p plea) permit {
	if known, ok := e.permits[p]; ok {
		return known
	}
	s := p.snapshot(e.config)
	ask := group.EvictionRequest{Pod: podNames[p.slot], UID: numbers[p.born]}
	answer, holdDecision := group.Evict(s, ask), hold.Decision{}
	out := permit{refused: answer.Because, place: answer.Place, version: seen(answer.Version), shown: ^p.hold.downIn(&p.pods, &p.zones)}
	out.leaves = answer.Allowed() && !answer.NeedsRecord() && answer.Version == 0
	if answer.Allowed() && answer.NeedsRecord() {
		holdDecision = hold.DecideGrant(&s, answer.Record)
		out.looks = holdDecision.Need == hold.ReadLive
		if !out.looks {
			out.record, out.claims = p.written(group.HoldOf(holdDecision.Record)), holdDecision.Record.Own
		}
	}
	if broken := invariant.CheckEviction(s, ask, answer, holdDecision); broken != nil {
		out.rule, out.broken = broken.Name, "the answer breaks it: "+broken.Detail
	}
	e.permits[p] = out
	return out
}

// grant writes the grant into the Lease by compare-and-swap.
func (e *explorer) grant(w *world, i int, see visit) {
	ev := &w.evictors[i]
	o := &w.operators[ev.by]
	m := move{next: *w, fair: true, line: func() string { return ev.String() + ": " + operatorNames[ev.by] + " writes " + ev.paper.String() }}
	if !e.write(&m, ev.paper) {
		m.next.operators[ev.by].learn(w.lease)
		m.next.evictors[i] = evictor{at: wanting, slot: ev.slot, born: ev.born}
		m.line = func() string { return ev.String() + ": " + operatorNames[ev.by] + " finds that the Lease has changed" }
		see(&m)
		return
	}
	if w.lease.intents[ev.slot].grant != ownDisruption {
		m.exercises |= one(evictionsAgain)
	}
	if int(ev.by) >= e.config.Operators {
		m.exercises |= one(evictionsByStandby)
	}
	m.next.evictors[i] = evictor{at: underway, slot: ev.slot, born: ev.born, before: ev.before}
	lost := m
	next := &m.next.operators[ev.by]
	if !o.own || w.lease.holder != m.next.lease.holder {
		next.before = ev.joined
	}
	next.knows(m.next.lease, ev.claims)
	see(&m)
	if w.left.lost > 0 {
		lost.fair, lost.exercises = false, lost.exercises|one(repliesLost)
		line := lost.line
		lost.line = func() string { return line() + ", and the reply is lost" }
		lost.next.left.lost--
		lost.next.evictors[i] = evictor{}
		see(&lost)
	}
}

// evict deletes the pod if it is still the pod that was judged, or makes a
// PodDisruptionBudget refuse the eviction.
func (e *explorer) evict(w *world, i int, see visit) {
	ev := &w.evictors[i]
	p := w.pods[ev.slot]
	if w.left.vetoes > 0 && ev.version == 0 {
		m := move{next: *w, exercises: one(evictionsVetoed), line: func() string { return ev.String() + ": is refused by a PodDisruptionBudget" }}
		m.next.left.vetoes--
		m.next.evictors[i] = evictor{at: wanting, slot: ev.slot, born: ev.born}
		see(&m)
	}
	m := move{next: *w, fair: true, line: func() string { return ev.String() + ": happens" }}
	m.next.evictors[i] = evictor{}
	switch {
	case !p.exists() || p.born != ev.born && !e.rules.Unpinned && !e.config.Unbound:
		m.exercises = one(evictionsLate)
		m.line = func() string { return ev.String() + ": comes too late, its pod has gone" }
	case ev.version > 0 && p.version != ev.version:
		m.next.evictors[i] = evictor{at: wanting, slot: ev.slot, born: ev.born}
		m.line = func() string { return ev.String() + ": comes too late, its pod has changed" }
	case p.phase == leaving:
	default:
		e.disrupt(w, &m, ev)
	}
	see(&m)
}

// disrupt makes an evicted pod terminate, and judges the eviction.
func (e *explorer) disrupt(w *world, m *move, ev *evictor) {
	slot := int(ev.slot)
	p := &m.next.pods[slot]
	up := p.up()
	p.version++
	p.phase = leaving
	if !up {
		m.exercises = one(evictionsOfDown)
		return
	}
	m.next.ours = m.next.ours.with(slot)
	m.exercises = one(evictionsHappen)
	if w.lease.holder != free && w.lease.operation != eviction {
		m.exercises |= one(evictionsBeside)
	}
	for i := range w.evictors {
		if other := &w.evictors[i]; other.slot != ev.slot && other.at == underway {
			m.exercises |= one(evictionsTwice)
		}
	}
	if e.config.Partitions {
		if w.apart != 0 {
			m.exercises |= one(evictionsByPartition)
		}
		m.next.apart = m.next.apart.with(slot)
	}
	m.rule, m.how = e.judgeEviction(&m.next, ev)
}

// loseEvictor: the client gives up, or the webhook's process does.
func (e *explorer) loseEvictor(w *world, i int, see visit) {
	if w.left.lost == 0 {
		return
	}
	ev := &w.evictors[i]
	m := move{next: *w, exercises: one(requestsLost), line: func() string { return ev.String() + ": is given up" }}
	m.next.left.lost--
	m.next.evictors[i] = evictor{}
	see(&m)
}

// abandonedBy makes the client retry if the process that was answering has died.
func (ev *evictor) abandonedBy(n int) {
	if ev.answered() && int(ev.by) == n {
		*ev = evictor{at: wanting, slot: ev.slot, born: ev.born}
	}
}

// String returns the eviction as a part of a story.
func (ev *evictor) String() string { return "eviction of " + podNames[ev.slot] }
