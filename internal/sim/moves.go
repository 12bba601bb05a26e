package sim

import "fmt"

// move is one thing that one actor did.
type move struct {
	next world
	fair bool // happens by itself sooner or later
	rule string
	how  string // how the rule was broken
	line func() string
}

// visit is told every move that is possible.
type visit func(m *move)

// moves visits everything that can happen next.
func (e *explorer) moves(w *world, see visit) {
	e.users(w, see)
	e.controllers(w, see)
	e.kubelets(w, see)
	e.accidents(w, see)
	for n := range e.config.Operators {
		e.caches(w, n, see)
		e.work(w, n, see)
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
		m := move{next: *w, line: func() string { return "user: " + edit.String() }}
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
	}
}

// controllers: each StatefulSet controller acts on what it has observed.
func (e *explorer) controllers(w *world, see visit) {
	for n := range e.config.Zones {
		if z := w.zones[n]; !z.observed {
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
		case due && !p.exists():
			m := move{next: *w, fair: true, line: func() string {
				return fmt.Sprintf("controller: creates %s at revision %d", podNames[slot], z.seenRevision)
			}}
			m.next.pods[slot] = pod{born: p.version + 1, version: p.version + 1, revision: z.seenRevision, phase: starting}
			see(&m)
		case !due && p.exists() && p.phase != leaving:
			see(w.turn(slot, leaving, true, "controller: removes surplus"))
		}
	}
}

// turn lets a pod's phase change.
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

// accidents are what nobody of ours does and what need not happen.
func (e *explorer) accidents(w *world, see visit) {
	for slot, p := range w.pods {
		if p.up() && w.crashes > 0 {
			m := w.turn(slot, starting, false, "crash of")
			m.next.crashes--
			see(m)
		}
		if p.up() && w.losses > 0 {
			m := w.turn(slot, leaving, false, "somebody else deletes")
			m.next.losses--
			see(m)
		}
		if p.exists() && w.churn > 0 {
			m := w.turn(slot, p.phase, false, "kubelet: status churn of")
			m.next.churn--
			see(m)
		}
	}
	if w.minutes > 0 && w.lease.holder > 0 && !w.lease.expired {
		m := move{next: *w, line: func() string { return "a minute passes" }}
		m.next.minutes--
		m.next.lease.expired = true
		for n := range e.config.Operators {
			m.next.operators[n].known.expired = m.next.operators[n].known.holder > 0
		}
		see(&m)
	}
}

func (e *explorer) caches(w *world, n int, see visit) {
	o := &w.operators[n]
	pods, zones := w.pods, w.zones
	if e.config.Trickle {
		e.watches(w, n, see)
		pods, zones = o.podsOnTheWay, o.zonesOnTheWay
	}
	if o.pods != pods {
		m := move{next: *w, fair: true, line: func() string { return operatorNames[n] + ": sees the pods" }}
		next := &m.next.operators[n]
		next.pods = pods
		if next.podsBehind == nextCatchesUp {
			next.podsBehind = caughtUp
		}
		next.forget(e.config)
		see(&m)
	}
	if o.zones != zones {
		m := move{next: *w, fair: true, line: func() string { return operatorNames[n] + ": sees the zones" }}
		next := &m.next.operators[n]
		next.zones = zones
		if next.zonesBehind == nextCatchesUp {
			next.zonesBehind = caughtUp
		}
		next.forget(e.config)
		see(&m)
	}
	if o.known.version != w.lease.version {
		m := move{next: *w, fair: true, line: func() string { return operatorNames[n] + ": sees the Lease" }}
		m.next.operators[n].learn(w.lease)
		see(&m)
	}
}

// watches puts the present on its way to the caches.
func (e *explorer) watches(w *world, n int, see visit) {
	if o := &w.operators[n]; o.podsOnTheWay != w.pods {
		m := move{next: *w, fair: true, line: func() string { return operatorNames[n] + ": will see the pods as they are" }}
		next := &m.next.operators[n]
		next.podsOnTheWay, next.podsBehind = w.pods, min(next.podsBehind, nextCatchesUp)
		see(&m)
	}
	if o := &w.operators[n]; o.zonesOnTheWay != w.zones {
		m := move{next: *w, fair: true, line: func() string { return operatorNames[n] + ": will see the zones as they are" }}
		next := &m.next.operators[n]
		next.zonesOnTheWay, next.zonesBehind = w.zones, min(next.zonesBehind, nextCatchesUp)
		see(&m)
	}
}

// learn takes over a record from the Lease itself or its cache.
func (o *operator) learn(l lease) {
	if o.known.version != l.version {
		o.own = false
	}
	o.known = l
}

func (e *explorer) kill(w *world, n int, see visit) {
	if w.kills == 0 {
		return
	}
	m := move{next: *w, line: func() string { return operatorNames[n] + ": dies and starts again" }}
	m.next.kills--
	o := &m.next.operators[n]
	*o = operator{
		pods: o.pods, zones: o.zones, podsOnTheWay: o.podsOnTheWay, zonesOnTheWay: o.zonesOnTheWay, known: o.known,
	}
	see(&m)
	if !e.config.OldCaches {
		return
	}
	m.next.operators[n] = e.first.operators[n]
	m.line = func() string { return operatorNames[n] + ": dies and starts again with the oldest caches" }
	see(&m)
}
