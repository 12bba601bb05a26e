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
	for i := range twin.evictionClients {
		if ev := &twin.evictionClients[i]; ev.underReview() {
			ev.process = 1 - ev.process
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
	downPods := down(&w.pods, &w.zones)
	w.byLockstep &= downPods
	w.byPartition &= w.byLockstep
	w.lateRequest.evidence.knownDown &= downPods
	for n := range c.Zones {
		if w.zones[n].disrupted && !w.hasSurplus(n) {
			w.zones[n].disrupted = false
		}
	}
	for i := range w.evictionClients {
		w.evictionClients[i].downInRead &= downPods
		w.evictionClients[i].knownDown &= downPods
	}
	for n := range c.processes() {
		w.operators[n].downAtJoin &= downPods
		w.operators[n].evidence.knownDown &= downPods
		w.operators[n].liveRead.down &= downPods
	}
	least := ranks(0)
	if c.OldCaches {
		least.add(1) // keeps its rank: an operator can return to the first caches
	}
	list := make(versionRefs, 0, 64)
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
	if !c.hasAbsences() {
		least = 0 // there is no Lease at the start
	}
	list.rank(least)
}

// versionRefs are pointers to all versions of one object in a world.
type versionRefs []*uint8

func (m *versionRefs) add(v *uint8) {
	if *v > 0 {
		*m = append(*m, v)
	}
}

func (m *versionRefs) addPod(p *pod) {
	m.add(&p.uid)
	m.add(&p.version)
}

func (m *versionRefs) addIntent(i *intent) {
	m.add(&i.uid)
	m.add(&i.version)
}

// rank replaces versions by their ranks. The versions in there count in any case.
func (m versionRefs) rank(there ranks) {
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

// ofPod adds all versions of a pod name to the list.
func (w *world) ofPod(slot int, c Config, list *versionRefs) {
	list.addPod(&w.pods[slot])
	list.addIntent(&w.lease.intents[slot])
	list.addIntent(&w.lateRequest.record.intents[slot])
	for i := range w.downscaleClients {
		list.addPod(&w.downscaleClients[i].pods[slot])
		list.addIntent(&w.downscaleClients[i].known.intents[slot])
		list.addIntent(&w.downscaleClients[i].record.intents[slot])
	}
	for i := range w.evictionClients {
		ev := &w.evictionClients[i]
		list.addIntent(&ev.record.intents[slot])
		list.addPod(&ev.pods[slot])
		if int(ev.slot) == slot {
			list.add(&ev.uid)
			list.add(&ev.version)
		}
	}
	w.lateRequest.ofPod(slot, list)
	for n := range c.processes() {
		o := &w.operators[n]
		list.addPod(&o.pods[slot])
		list.addPod(&o.nextPods[slot])
		list.addPod(&o.liveRead.pods[slot])
		list.addIntent(&o.known.intents[slot])
		list.addIntent(&o.liveRead.record.intents[slot])
		list.addIntent(&o.record.intents[slot])
		list.add(&o.memory.podWrites[slot])
		list.add(&o.memory.pods[slot].version)
		for i := range o.count {
			o.steps[i].ofPod(slot, list)
		}
	}
}

func (s *step) ofPod(slot int, list *versionRefs) {
	if (s.kind == stepUpdatePod || s.kind == stepDeletePod) && int(s.target) == slot {
		list.add(&s.value)
		list.add(&s.version)
	}
}

// ofZone adds all versions of a zone to the list.
func (w *world) ofZone(zone int, c Config, list *versionRefs) {
	list.add(&w.zones[zone].version)
	w.lateRequest.ofZone(zone, list)
	w.lease.ofZone(zone, list)
	w.lateRequest.record.ofZone(zone, list)
	for i := range w.downscaleClients {
		a := &w.downscaleClients[i]
		list.add(&a.zones[zone].version)
		a.known.ofZone(zone, list)
		a.record.ofZone(zone, list)
		if int(a.zone) == zone {
			list.add(&a.version)
		}
	}
	for i := range w.evictionClients {
		list.add(&w.evictionClients[i].zones[zone].version)
		w.evictionClients[i].record.ofZone(zone, list)
	}
	for n := range c.processes() {
		o := &w.operators[n]
		list.add(&o.zones[zone].version)
		list.add(&o.nextZones[zone].version)
		list.add(&o.liveRead.zones[zone].version)
		list.add(&o.memory.zoneWrites[zone])
		list.add(&o.memory.zones[zone])
		o.known.ofZone(zone, list)
		o.liveRead.record.ofZone(zone, list)
		o.record.ofZone(zone, list)
		for i := range o.count {
			o.steps[i].ofZone(zone, list)
		}
	}
}

func (s *step) ofZone(zone int, list *versionRefs) {
	if (s.kind == stepAdoptRevision || s.kind == stepUpdateZone || s.kind == stepSetReplicas) && int(s.target) == zone {
		list.add(&s.version)
	}
}

func (l *lease) ofZone(zone int, list *versionRefs) {
	if int(l.recordedDownscale.zone) == zone+1 {
		list.add(&l.recordedDownscale.zoneVersion)
	}
}

// ofLease adds all versions of the Lease to the list.
func (w *world) ofLease(c Config, list *versionRefs) {
	list.add(&w.lease.version)
	list.add(&w.lateRequest.record.version)
	for i := range w.downscaleClients {
		list.add(&w.downscaleClients[i].known.version)
		list.add(&w.downscaleClients[i].record.version)
	}
	for i := range w.evictionClients {
		list.add(&w.evictionClients[i].record.version)
	}
	for n := range c.processes() {
		list.add(&w.operators[n].known.version)
		list.add(&w.operators[n].liveRead.record.version)
		list.add(&w.operators[n].record.version)
	}
}
