package sim

import "fmt"

// move is one action of one actor.
type move struct {
	next     world
	fair     bool // happens eventually without a user and without a fault
	covers   coverSet
	rule     string
	detail   string // how the rule was broken
	describe func() string
}

// moveFunc is called with every possible move.
type moveFunc func(m *move)

// moves visits every possible next move.
func (e *explorer) moves(w *world, yield moveFunc) {
	e.moveUsers(w, yield)
	e.moveControllers(w, yield)
	e.moveKubelets(w, yield)
	e.moveFaults(w, yield)
	e.moveManualHolds(w, yield)
	e.changeLeader(w, yield)
	e.deliverLate(w, yield)
	e.advanceDownscales(w, yield)
	e.advanceEvictions(w, yield)
	for n := range e.config.processes() {
		e.updateCaches(w, n, yield)
		if n < e.config.Operators {
			e.advanceRound(w, n, yield)
		}
		e.kill(w, n, yield)
	}
}

// moveUsers makes the next edit of each track.
func (e *explorer) moveUsers(w *world, yield moveFunc) {
	for t, track := range e.config.Tracks {
		done := int(w.tracks[t])
		if done == len(track) {
			continue
		}
		edit := track[done]
		switch edit.Kind {
		case Downscale:
			e.requestDownscale(w, t, edit, yield)
			continue
		case Evict:
			e.requestEviction(w, t, edit, yield)
			continue
		case Template, Scale, Pause, Resume, RollingUpdate, OnDelete, ForceReplicas, Orphan, Recreate, Unlabel, Relabel:
		}
		m := move{next: *w, covers: covering(userEdits), describe: func() string { return "user: " + edit.String() }}
		m.next.tracks[t]++
		m.next.zones[edit.Zone].apply(edit)
		yield(&m)
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
	case ForceReplicas:
		z.forced = uint8(e.Value) + 1
	case Orphan:
		z.absence = orphaned
	case Recreate:
		z.absence, z.recreations, z.observed = present, z.recreations+1, false
	case Unlabel:
		z.absence = unlabelled
	case Relabel:
		z.absence = present
	case Downscale, Evict: // these are requests that webhooks review
	}
}

// moveControllers makes each StatefulSet controller act on the spec that it has observed.
func (e *explorer) moveControllers(w *world, yield moveFunc) {
	for n := range e.config.Zones {
		if z := w.zones[n]; !z.observed && z.absence != orphaned {
			m := move{next: *w, fair: true, describe: func() string { return "controller: observes " + zoneNames[n] }}
			next := &m.next.zones[n]
			next.version++
			next.observed, next.observedRevision, next.observedReplicas = true, z.revision, z.replicas
			yield(&m)
		}
	}
	for slot := range w.pods {
		p, z := w.pods[slot], w.zones[zoneOf(slot)]
		due := ordinalOf(slot) < int(z.observedReplicas)
		switch {
		case z.absence == orphaned: // no controller acts on its pods
		case due && !p.exists():
			m := move{next: *w, fair: true, describe: func() string {
				return fmt.Sprintf("controller: creates %s at revision %d", podNames[slot], z.observedRevision)
			}}
			m.next.pods[slot] = pod{uid: p.version + 1, version: p.version + 1, revision: z.observedRevision, phase: starting}
			yield(&m)
		case !due && p.exists() && p.phase != terminating:
			yield(w.setPhase(slot, terminating, true, "controller: removes surplus"))
		case due && w.controllerReplaces(slot):
			yield(w.setPhase(slot, terminating, true, "controller: replaces"))
		}
	}
}

// controllerReplaces reports whether the StatefulSet controller replaces the pod itself: it
// replaces the last outdated pod of an available zone.
func (w *world) controllerReplaces(slot int) bool {
	n := zoneOf(slot)
	z := w.zones[n]
	if !z.rolling || !z.observed || w.pods[slot].revision == z.observedRevision || down(&w.pods, &w.zones)&zoneSlots(n) != 0 {
		return false
	}
	for later := slot + 1; later < (n+1)*maxPods; later++ {
		if w.pods[later].exists() && w.pods[later].revision != z.observedRevision {
			return false
		}
	}
	return true
}

// setPhase changes the phase of a pod.
func (w *world) setPhase(slot int, phase podPhase, fair bool, what string) *move {
	m := &move{next: *w, fair: fair, describe: func() string { return what + " " + podNames[slot] }}
	m.next.pods[slot].version++
	m.next.pods[slot].phase = phase
	return m
}

// moveKubelets starts pods and removes terminating pods.
func (e *explorer) moveKubelets(w *world, yield moveFunc) {
	for slot, p := range w.pods {
		switch {
		case !p.exists():
		case p.phase == starting && !e.config.bad(p.revision):
			yield(w.setPhase(slot, ready, true, "kubelet: reports Ready:"))
		case p.phase == terminating:
			m := move{next: *w, fair: true, describe: func() string { return "kubelet: removes " + podNames[slot] }}
			m.next.pods[slot] = pod{version: p.version + 1}
			yield(&m)
		}
	}
}

// moveFaults causes crashes, deletes and updates of pods, and lets holds expire.
func (e *explorer) moveFaults(w *world, yield moveFunc) {
	for slot, p := range w.pods {
		if p.up() && w.remaining.crashes > 0 {
			m := w.setPhase(slot, starting, false, "kubelet: restarts")
			m.next.remaining.crashes--
			m.covers = covering(podCrashes)
			yield(m)
		}
		if p.up() && w.remaining.podDeletes > 0 {
			m := w.setPhase(slot, terminating, false, "another client deletes")
			m.next.remaining.podDeletes--
			m.covers = covering(podsDeletedByOthers)
			yield(m)
		}
		if p.exists() && w.remaining.podUpdates > 0 {
			m := w.setPhase(slot, p.phase, false, "another client updates")
			m.next.remaining.podUpdates--
			m.covers = covering(podsUpdatedByOthers)
			yield(m)
		}
	}
	if w.remaining.expiries > 0 && w.lease.holder != free && !w.lease.expired {
		m := move{next: *w, covers: covering(holdsExpire), describe: func() string { return "a minute passes" }}
		m.next.remaining.expiries--
		m.next.lease.expired = true
		for n := range e.config.processes() {
			m.next.operators[n].known.expired = m.next.operators[n].known.holder != free
		}
		yield(&m)
	}
}

// moveManualHolds makes a user acquire the free hold manually, and release it.
func (e *explorer) moveManualHolds(w *world, yield moveFunc) {
	if w.remaining.manualHolds > 0 && w.lease.holder == free {
		m := move{next: *w, covers: covering(holdsAcquiredManually), describe: func() string { return "user: acquires the hold manually" }}
		m.next.remaining.manualHolds--
		m.next.lease.holder = foreign
		m.next.lease.version++
		yield(&m)
	}
	if w.lease.holder == foreign {
		m := move{next: *w, fair: true, describe: func() string { return "user: releases the hold" }}
		m.next.lease.holder, m.next.lease.expired = free, false
		m.next.lease.version++
		yield(&m)
	}
}

// changeLeader elects another operator. The former leader continues its round.
func (e *explorer) changeLeader(w *world, yield moveFunc) {
	if w.remaining.handovers == 0 {
		return
	}
	m := move{next: *w, covers: covering(leadershipChanges), describe: func() string { return "leadership passes to the other operator" }}
	m.next.remaining.handovers--
	for n := range e.config.Operators {
		m.next.operators[n].leads = !w.operators[n].leads
	}
	yield(&m)
}

// updateCaches advances caches to the present state. With stepwise caches, it advances them to the
// state that updateWatches has chosen.
func (e *explorer) updateCaches(w *world, n int, yield moveFunc) {
	o := &w.operators[n]
	pods, zones := w.pods, w.zones
	covers := covering(cachesJump)
	if e.config.StepwiseCaches {
		e.updateWatches(w, n, yield)
		pods, zones = o.nextPods, o.nextZones
		covers = covering(cachesAdvanceInSteps)
	}
	if o.pods != pods {
		m := move{next: *w, fair: true, covers: covers, describe: func() string { return operatorNames[n] + ": sees the pods" }}
		m.next.operators[n].pods = pods
		e.forget(&m.next.operators[n])
		yield(&m)
	}
	if o.zones != zones {
		m := move{next: *w, fair: true, covers: covers, describe: func() string { return operatorNames[n] + ": sees the zones" }}
		m.next.operators[n].zones = zones
		e.forget(&m.next.operators[n])
		yield(&m)
	}
	if o.known.version != w.lease.version {
		m := move{next: *w, fair: true, covers: covers, describe: func() string { return operatorNames[n] + ": sees the Lease" }}
		m.next.operators[n].learn(w.lease)
		yield(&m)
	}
}

// updateWatches makes the present state the next one that stepwise caches show.
func (e *explorer) updateWatches(w *world, n int, yield moveFunc) {
	if o := &w.operators[n]; o.nextPods != w.pods {
		m := move{next: *w, fair: true, describe: func() string { return operatorNames[n] + ": will see the present pods" }}
		m.next.operators[n].nextPods = w.pods
		yield(&m)
	}
	if o := &w.operators[n]; o.nextZones != w.zones {
		m := move{next: *w, fair: true, describe: func() string { return operatorNames[n] + ": will see the present zones" }}
		m.next.operators[n].nextZones = w.zones
		yield(&m)
	}
}

// kill makes an operator die and restart without its memory, at any time. One of its requests can
// remain in flight.
func (e *explorer) kill(w *world, n int, yield moveFunc) {
	if w.remaining.kills == 0 {
		return
	}
	o := &w.operators[n]
	e.restart(w, n, request{}, yield)
	if o.state == roundActing && w.canDelay() {
		for i := range o.sendable() {
			e.restart(w, n, o.request(i), yield)
		}
	}
}

func (e *explorer) restart(w *world, n int, inFlight request, yield moveFunc) {
	m := move{next: *w, covers: covering(operatorsDie), describe: func() string { return operatorNames[n] + ": dies and restarts" + inFlight.inFlight() }}
	m.next.remaining.kills--
	if inFlight.kind != 0 {
		m.next.delay(inFlight)
		m.covers |= covering(requestsArriveLate)
	}
	o := &m.next.operators[n]
	*o = operator{
		leads: o.leads, pods: o.pods, zones: o.zones, nextPods: o.nextPods, nextZones: o.nextZones, known: o.known,
	}
	for i := range m.next.evictionClients {
		m.next.evictionClients[i].retryAfterDeath(n)
	}
	yield(&m)
	if !e.config.OldCaches {
		return
	}
	leads := o.leads
	*o = e.first.operators[n]
	o.leads = leads
	m.covers |= covering(operatorsRestartWithFirstCaches)
	m.describe = func() string {
		return operatorNames[n] + ": dies and restarts with the caches of the start" + inFlight.inFlight()
	}
	yield(&m)
}
