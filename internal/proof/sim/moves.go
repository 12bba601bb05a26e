package sim

import "fmt"

// move is one action of one actor.
type move struct {
	next      world
	fair      bool // happens eventually without a user or an accident
	exercises dimensions
	rule      string
	how       string // how the rule was broken
	line      func() string
}

// visit is called with every possible move.
type visit func(m *move)

// moves visits every possible next move.
func (e *explorer) moves(w *world, see visit) {
	e.users(w, see)
	e.controllers(w, see)
	e.kubelets(w, see)
	e.accidents(w, see)
	e.maintainers(w, see)
	e.handover(w, see)
	e.arrival(w, see)
	e.admission(w, see)
	e.evictions(w, see)
	for n := range e.config.processes() {
		e.caches(w, n, see)
		if n < e.config.Operators {
			e.work(w, n, see)
		}
		e.kill(w, n, see)
	}
}

func (e *explorer) users(w *world, see visit) {
	for t, track := range e.config.Tracks {
		done := int(w.tracks[t])
		if done == len(track) {
			continue
		}
		edit := track[done]
		switch edit.Kind {
		case Shrink:
			e.ask(w, t, edit, see)
			continue
		case Evict:
			e.want(w, t, edit, see)
			continue
		case Template, Scale, Pause, Resume, RollingUpdate, OnDelete, Force, Orphan, Apply, Unlabel, Relabel:
		}
		m := move{next: *w, exercises: one(userEdits), line: func() string { return "user: " + edit.String() }}
		m.next.tracks[t]++
		m.next.zones[edit.Zone].apply(edit)
		see(&m)
	}
}

func (z *zone) apply(e Edit) {
	z.version++
	switch e.Kind {
	case Template:
		z.revision, z.observed = uint8(e.Value), false
	case Scale:
		z.replicas, z.observed = uint8(e.Value), false
	case Pause:
		z.paused = true
	case Resume:
		z.paused = false
	case RollingUpdate:
		z.rolling, z.observed = true, false
	case OnDelete:
		z.rolling, z.observed = false, false
	case Force:
		z.forced = uint8(e.Value) + 1
	case Orphan:
		z.away = orphaned
	case Apply:
		z.away, z.made, z.observed = present, z.made+1, false
	case Unlabel:
		z.away = unlabelled
	case Relabel:
		z.away = present
	case Shrink, Evict: // they go through admission
	}
}

// controllers: each StatefulSet controller acts on what it has observed.
func (e *explorer) controllers(w *world, see visit) {
	for n := range e.config.Zones {
		if z := w.zones[n]; !z.observed && z.away != orphaned {
			m := move{next: *w, fair: true, line: func() string { return "controller: observes " + zoneNames[n] }}
			next := &m.next.zones[n]
			next.version++
			next.observed, next.seenRevision, next.seenReplicas = true, z.revision, z.replicas
			see(&m)
		}
	}
	for slot := range w.pods {
		p, z := w.pods[slot], w.zones[zoneOf(slot)]
		due := ordinalOf(slot) < int(z.seenReplicas)
		switch {
		case z.away == orphaned: // no controller acts on its pods
		case due && !p.exists():
			m := move{next: *w, fair: true, line: func() string {
				return fmt.Sprintf("controller: creates %s at revision %d", podNames[slot], z.seenRevision)
			}}
			m.next.pods[slot] = pod{born: p.version + 1, version: p.version + 1, revision: z.seenRevision, phase: starting}
			see(&m)
		case !due && p.exists() && p.phase != leaving:
			see(w.turn(slot, leaving, true, "controller: removes surplus"))
		case due && w.rolls(slot):
			see(w.turn(slot, leaving, true, "controller: replaces"))
		}
	}
}

// rolls reports whether the StatefulSet controller replaces the pod itself: it replaces
// the last outdated pod of an available zone.
func (w *world) rolls(slot int) bool {
	n := zoneOf(slot)
	z := w.zones[n]
	if !z.rolling || !z.observed || w.pods[slot].revision == z.seenRevision || down(&w.pods, &w.zones)&zoneSlots(n) != 0 {
		return false
	}
	for later := slot + 1; later < (n+1)*maxPods; later++ {
		if w.pods[later].exists() && w.pods[later].revision != z.seenRevision {
			return false
		}
	}
	return true
}

// turn changes the phase of a pod.
func (w *world) turn(slot int, phase plan8, fair bool, what string) *move {
	m := &move{next: *w, fair: fair, line: func() string { return what + " " + podNames[slot] }}
	m.next.pods[slot].version++
	m.next.pods[slot].phase = phase
	return m
}

func (e *explorer) kubelets(w *world, see visit) {
	for slot, p := range w.pods {
		switch {
		case !p.exists():
		case p.phase == starting && !e.config.bad(p.revision):
			see(w.turn(slot, ready, true, "kubelet: ready is"))
		case p.phase == leaving:
			m := move{next: *w, fair: true, line: func() string { return "kubelet: gone is " + podNames[slot] }}
			m.next.pods[slot] = pod{version: p.version + 1}
			see(&m)
		}
	}
}

// accidents are events that lockstep does not cause and that need not happen.
func (e *explorer) accidents(w *world, see visit) {
	for slot, p := range w.pods {
		if p.up() && w.left.crashes > 0 {
			m := w.turn(slot, starting, false, "crash of")
			m.next.left.crashes--
			m.exercises = one(podCrashes)
			see(m)
		}
		if p.up() && w.left.losses > 0 {
			m := w.turn(slot, leaving, false, "somebody else deletes")
			m.next.left.losses--
			m.exercises = one(podsDeletedByOthers)
			see(m)
		}
		if p.exists() && w.left.churn > 0 {
			m := w.turn(slot, p.phase, false, "kubelet: status churn of")
			m.next.left.churn--
			m.exercises = one(podsTouchedByOthers)
			see(m)
		}
	}
	if w.left.minutes > 0 && w.lease.holder != free && !w.lease.expired {
		m := move{next: *w, exercises: one(holdsExpire), line: func() string { return "a minute passes" }}
		m.next.left.minutes--
		m.next.lease.expired = true
		for n := range e.config.processes() {
			m.next.operators[n].known.expired = m.next.operators[n].known.holder != free
		}
		see(&m)
	}
}

// maintainers: a user acquires the free hold manually, and releases it.
func (e *explorer) maintainers(w *world, see visit) {
	if w.left.maintenance > 0 && w.lease.holder == free {
		m := move{next: *w, exercises: one(holdsTakenByHand), line: func() string { return "somebody takes the hold by hand" }}
		m.next.left.maintenance--
		m.next.lease.holder = foreign
		m.next.lease.version++
		see(&m)
	}
	if w.lease.holder == foreign {
		m := move{next: *w, fair: true, line: func() string { return "somebody gives the hold back" }}
		m.next.lease.holder, m.next.lease.expired = free, false
		m.next.lease.version++
		see(&m)
	}
}

// handover: another operator is elected. The former leader continues its round.
func (e *explorer) handover(w *world, see visit) {
	if w.left.handovers == 0 {
		return
	}
	m := move{next: *w, exercises: one(leadershipPasses), line: func() string { return "leadership passes to the other operator" }}
	m.next.left.handovers--
	for n := range e.config.Operators {
		m.next.operators[n].leads = !w.operators[n].leads
	}
	see(&m)
}

// caches makes caches jump to the present or, if they trickle, to the state that is on
// its way.
func (e *explorer) caches(w *world, n int, see visit) {
	o := &w.operators[n]
	pods, zones := w.pods, w.zones
	covers := one(cachesJump)
	if e.config.Trickle {
		e.watches(w, n, see)
		pods, zones = o.podsOnTheWay, o.zonesOnTheWay
		covers = one(cachesTrickle)
	}
	if o.pods != pods {
		m := move{next: *w, fair: true, exercises: covers, line: func() string { return operatorNames[n] + ": sees the pods" }}
		m.next.operators[n].pods = pods
		e.recall(&m.next.operators[n])
		see(&m)
	}
	if o.zones != zones {
		m := move{next: *w, fair: true, exercises: covers, line: func() string { return operatorNames[n] + ": sees the zones" }}
		m.next.operators[n].zones = zones
		e.recall(&m.next.operators[n])
		see(&m)
	}
	if o.known.version != w.lease.version {
		m := move{next: *w, fair: true, exercises: covers, line: func() string { return operatorNames[n] + ": sees the Lease" }}
		m.next.operators[n].learn(w.lease)
		see(&m)
	}
}

// watches puts the present state on its way to the caches.
func (e *explorer) watches(w *world, n int, see visit) {
	if o := &w.operators[n]; o.podsOnTheWay != w.pods {
		m := move{next: *w, fair: true, line: func() string { return operatorNames[n] + ": will see the pods as they are" }}
		m.next.operators[n].podsOnTheWay = w.pods
		see(&m)
	}
	if o := &w.operators[n]; o.zonesOnTheWay != w.zones {
		m := move{next: *w, fair: true, line: func() string { return operatorNames[n] + ": will see the zones as they are" }}
		m.next.operators[n].zonesOnTheWay = w.zones
		see(&m)
	}
}

// kill makes an operator lose its memory at any time. One of its requests can remain on
// its way.
func (e *explorer) kill(w *world, n int, see visit) {
	if w.left.kills == 0 {
		return
	}
	o := &w.operators[n]
	e.restart(w, n, request{}, see)
	if o.at == acting && w.mayBeLate() {
		for i := range o.ready() {
			e.restart(w, n, o.request(i), see)
		}
	}
}

func (e *explorer) restart(w *world, n int, left request, see visit) {
	m := move{next: *w, exercises: one(operatorsDie), line: func() string { return operatorNames[n] + ": dies and starts again" + left.onItsWay() }}
	m.next.left.kills--
	if left.kind != 0 {
		m.next.postpone(left)
		m.exercises |= one(requestsComeLate)
	}
	o := &m.next.operators[n]
	*o = operator{
		leads: o.leads, pods: o.pods, zones: o.zones, podsOnTheWay: o.podsOnTheWay, zonesOnTheWay: o.zonesOnTheWay, known: o.known,
	}
	for i := range m.next.evictors {
		m.next.evictors[i].abandonedBy(n)
	}
	see(&m)
	if !e.config.OldCaches {
		return
	}
	leads := o.leads
	*o = e.first.operators[n]
	o.leads = leads
	m.exercises |= one(operatorsStartFromTheFirstCaches)
	m.line = func() string {
		return operatorNames[n] + ": dies and starts again with the oldest caches" + left.onItsWay()
	}
	see(&m)
}
