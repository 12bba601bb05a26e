package sim

import (
	"hash/maphash"
	"math/bits"
)

// key identifies a world up to renumbering.
type key [2]uint64

var seeds = [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}

// key returns the identity of a world that is already renumbered; it is the
// same for both orders of two operators.
func (w *world) key() key {
	a := w.digest()
	if w.operators[1] == (operator{}) {
		return a
	}
	twin := *w
	twin.operators[0], twin.operators[1] = w.operators[1], w.operators[0]
	b := twin.digest()
	if a[0] < b[0] || (a[0] == b[0] && a[1] < b[1]) {
		return a
	}
	return b
}

// digest hashes a world to 128 bits, so that two worlds are never taken for one.
func (w *world) digest() key {
	return key{maphash.Comparable(seeds[0], *w), maphash.Comparable(seeds[1], *w)}
}

// ranks is a set of versions; a version's rank is its number among them.
type ranks uint64

func (r *ranks) add(version uint8) { *r |= 1 << version }

func (r ranks) of(version uint8) uint8 {
	if version == 0 {
		return 0
	}
	return uint8(bits.OnesCount64(uint64(r)&(1<<version-1)&^1)) + 1
}

// renumber replaces every version by its rank among those that are mentioned,
// and drops what no longer means anything.
func (w *world) renumber(c Config) {
	broken := down(&w.pods, &w.zones)
	w.ours &= broken
	for n := range c.Operators {
		w.operators[n].before &= broken
	}
	for slot := range c.Zones * maxPods {
		w.renumberSlot(slot, c)
	}
	for n := range c.Zones {
		w.renumberZone(n, c)
	}
	w.renumberLease(c)
}

func (w *world) renumberSlot(slot int, c Config) {
	var r ranks
	if c.OldCaches {
		r.add(1)
	}
	w.eachVersion(slot, c, func(v *uint8) { r.add(*v) })
	w.eachVersion(slot, c, func(v *uint8) { *v = r.of(*v) })
}

// eachVersion visits all places where a version of the pod name stands.
func (w *world) eachVersion(slot int, c Config, visit func(*uint8)) {
	visitPod := func(p *pod) { visit(&p.born); visit(&p.version) }
	visitIntent := func(l *lease) { visit(&l.intents[slot].born); visit(&l.intents[slot].version) }
	visitPod(&w.pods[slot])
	visitIntent(&w.lease)
	for n := range c.Operators {
		o := &w.operators[n]
		visitPod(&o.pods[slot])
		visitPod(&o.podsOnTheWay[slot])
		visitIntent(&o.known)
		visitIntent(&o.record)
		visit(&o.moved[slot])
		for i := range o.count {
			if s := &o.steps[i]; (s.kind == touch || s.kind == remove) && int(s.target) == slot {
				visit(&s.born)
				visit(&s.version)
			}
		}
	}
}

func (w *world) renumberZone(zone int, c Config) {
	var r ranks
	if c.OldCaches {
		r.add(1)
	}
	w.eachZoneVersion(zone, c, func(v *uint8) { r.add(*v) })
	w.eachZoneVersion(zone, c, func(v *uint8) { *v = r.of(*v) })
}

func (w *world) eachZoneVersion(zone int, c Config, visit func(*uint8)) {
	visit(&w.zones[zone].version)
	for n := range c.Operators {
		o := &w.operators[n]
		visit(&o.zones[zone].version)
		visit(&o.zonesOnTheWay[zone].version)
		visit(&o.look[zone].version)
		visit(&o.written[zone])
		for i := range o.count {
			if s := &o.steps[i]; s.kind == adopt && int(s.target) == zone {
				visit(&s.version)
			}
		}
	}
}

func (w *world) renumberLease(c Config) {
	var r ranks
	w.eachLeaseVersion(c, func(v *uint8) { r.add(*v) })
	w.eachLeaseVersion(c, func(v *uint8) { *v = r.of(*v) })
}

func (w *world) eachLeaseVersion(c Config, visit func(*uint8)) {
	visit(&w.lease.version)
	for n := range c.Operators {
		visit(&w.operators[n].known.version)
		visit(&w.operators[n].record.version)
	}
}
