package sim

import (
	"hash/maphash"
	"math/bits"
)

// key identifies a world up to renumbering.
type key [2]uint64

var seeds = [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}

// key returns the identity of a world that is already renumbered. It is the same for both
// orders of two operators.
func (w *world) key(c Config) key {
	a := w.digest()
	if c.Operators < 2 {
		return a
	}
	twin := *w
	twin.operators[0], twin.operators[1] = w.operators[1], w.operators[0]
	for i := range twin.evictors {
		if ev := &twin.evictors[i]; ev.answered() {
			ev.by = 1 - ev.by
		}
	}
	b := twin.digest()
	if a[0] < b[0] || (a[0] == b[0] && a[1] < b[1]) {
		return a
	}
	return b
}

// digest hashes a world to 128 bits, so that collisions are negligible.
func (w *world) digest() key {
	return key{maphash.Comparable(seeds[0], *w), maphash.Comparable(seeds[1], *w)}
}

// renumber replaces every version by its rank among the versions in the world, and clears
// values that no longer matter.
func (w *world) renumber(c Config) {
	broken := down(&w.pods, &w.zones)
	w.ours &= broken
	w.apart &= w.ours
	w.late.evidence.before &= broken
	for n := range c.Zones {
		if w.zones[n].harmed && !w.shrinking(n) {
			w.zones[n].harmed = false
		}
	}
	for i := range w.evictors {
		w.evictors[i].joined &= broken
		w.evictors[i].before &= broken
	}
	for n := range c.processes() {
		w.operators[n].before &= broken
		w.operators[n].evidence.before &= broken
		w.operators[n].look.down &= broken
	}
	least := ranks(0)
	if c.OldCaches {
		least.add(1) // keeps its rank: an operator can return to the first caches
	}
	list := make(mentions, 0, 64)
	for slot := range c.Zones * maxPods {
		list = list[:0]
		w.ofPod(slot, c, &list)
		list.rank(least)
	}
	for n := range c.Zones {
		list = list[:0]
		w.ofZone(n, c, &list)
		list.rank(least)
	}
	list = list[:0]
	w.ofLease(c, &list)
	list.rank(0)
}

// mentions are pointers to all versions of one object in a world.
type mentions []*uint8

func (m *mentions) add(v *uint8) {
	if *v > 0 {
		*m = append(*m, v)
	}
}

func (m *mentions) addPod(p *pod) {
	m.add(&p.born)
	m.add(&p.version)
}

func (m *mentions) addIntent(i *intent) {
	m.add(&i.born)
	m.add(&i.version)
}

// rank replaces versions by their ranks. The versions in there always count.
func (m mentions) rank(there ranks) {
	for _, v := range m {
		there.add(*v)
	}
	for _, v := range m {
		*v = there.of(*v)
	}
}

// ranks is a set of versions. The rank of a version is its position in the set.
type ranks uint64

func (r *ranks) add(version uint8) { *r |= 1 << version }

func (r ranks) of(version uint8) uint8 {
	return uint8(bits.OnesCount64(uint64(r)&(1<<version-1))) + 1
}

// ofPod lists all versions of a pod name.
func (w *world) ofPod(slot int, c Config, list *mentions) {
	list.addPod(&w.pods[slot])
	list.addIntent(&w.lease.intents[slot])
	list.addIntent(&w.late.record.intents[slot])
	for i := range w.askers {
		list.addPod(&w.askers[i].pods[slot])
		list.addIntent(&w.askers[i].known.intents[slot])
		list.addIntent(&w.askers[i].record.intents[slot])
	}
	for i := range w.evictors {
		ev := &w.evictors[i]
		list.addIntent(&ev.paper.intents[slot])
		list.addPod(&ev.pods[slot])
		if int(ev.slot) == slot {
			list.add(&ev.born)
			list.add(&ev.version)
		}
	}
	w.late.ofPod(slot, list)
	for n := range c.processes() {
		o := &w.operators[n]
		list.addPod(&o.pods[slot])
		list.addPod(&o.podsOnTheWay[slot])
		list.addPod(&o.look.pods[slot])
		list.addIntent(&o.known.intents[slot])
		list.addIntent(&o.look.under.intents[slot])
		list.addIntent(&o.record.intents[slot])
		list.add(&o.memory.moved[slot])
		list.add(&o.memory.pods[slot].version)
		for i := range o.count {
			o.steps[i].ofPod(slot, list)
		}
	}
}

func (s *step) ofPod(slot int, list *mentions) {
	if (s.kind == touch || s.kind == remove) && int(s.target) == slot {
		list.add(&s.born)
		list.add(&s.version)
	}
}

func (w *world) ofZone(zone int, c Config, list *mentions) {
	list.add(&w.zones[zone].version)
	w.late.ofZone(zone, list)
	w.lease.ofZone(zone, list)
	w.late.record.ofZone(zone, list)
	for i := range w.askers {
		a := &w.askers[i]
		list.add(&a.look[zone].version)
		a.known.ofZone(zone, list)
		a.record.ofZone(zone, list)
		if int(a.zone) == zone {
			list.add(&a.version)
		}
	}
	for i := range w.evictors {
		list.add(&w.evictors[i].look[zone].version)
		w.evictors[i].paper.ofZone(zone, list)
	}
	for n := range c.processes() {
		o := &w.operators[n]
		list.add(&o.zones[zone].version)
		list.add(&o.zonesOnTheWay[zone].version)
		list.add(&o.look.zones[zone].version)
		list.add(&o.memory.written[zone])
		list.add(&o.memory.zones[zone])
		o.known.ofZone(zone, list)
		o.look.under.ofZone(zone, list)
		o.record.ofZone(zone, list)
		for i := range o.count {
			o.steps[i].ofZone(zone, list)
		}
	}
}

func (s *step) ofZone(zone int, list *mentions) {
	if (s.kind == adopt || s.kind == void || s.kind == size) && int(s.target) == zone {
		list.add(&s.version)
	}
}

func (l *lease) ofZone(zone int, list *mentions) {
	if int(l.recordedDownscale.zone) == zone+1 {
		list.add(&l.recordedDownscale.judged)
	}
}

func (w *world) ofLease(c Config, list *mentions) {
	list.add(&w.lease.version)
	list.add(&w.late.record.version)
	for i := range w.askers {
		list.add(&w.askers[i].known.version)
		list.add(&w.askers[i].record.version)
	}
	for i := range w.evictors {
		list.add(&w.evictors[i].paper.version)
	}
	for n := range c.processes() {
		list.add(&w.operators[n].known.version)
		list.add(&w.operators[n].look.under.version)
		list.add(&w.operators[n].record.version)
	}
}
