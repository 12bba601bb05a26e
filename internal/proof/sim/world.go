package sim

import "github.com/lockstep-dev/lockstep/internal/plan"

// world is one state of everything. It is a value: copying it is a snapshot,
// and two worlds are the same when they are equal after renumbering.
type world struct {
	pods  pods
	zones zones
	lease lease
	ours  slots // down by us: see the package comment
	apart slots // of these, by evictions that go by partitions

	operators [maxOperators]operator
	late      request // one that its sender has given up
	askers    [maxAskers]asker
	evictors  [maxEvictors]evictor

	tracks [maxTracks]uint8 // edits made so far
	left   accidents
}

// accidents is how often what need not happen can still happen.
type accidents struct {
	crashes, losses, churn, kills, lost, late, minutes, maintenance, vetoes, handovers uint8
}

// pod is what there is under one name. The version moves when a pod is
// created, changed or gone; a pod's UID is the version of its birth.
type pod struct {
	born     uint8 // zero: there is none
	version  uint8
	revision uint8
	phase    plan8
}

// plan8 is a plan.Phase in one byte.
type plan8 uint8

const (
	starting = plan8(plan.Starting)
	ready    = plan8(plan.Ready)
	leaving  = plan8(plan.Leaving)
)

func (p pod) exists() bool { return p.born != 0 }

// up reports whether the pod serves.
func (p pod) up() bool { return p.exists() && p.phase == ready }

type pods [maxSlots]pod

// zone is a StatefulSet: what users ask for, and what the controller has seen
// of it and acts upon.
type zone struct {
	version      uint8
	revision     uint8
	replicas     uint8
	paused       bool
	rolling      bool // the update strategy is not OnDelete
	observed     bool // seen is the newest
	seenRevision uint8
	seenReplicas uint8
	current      uint8 // status.currentRevision
	harmed       bool  // by a downscale that was admitted, until no pod is too many
	forced       uint8 // the replicas that are forced plus one; zero: none
	away         absence
	made         uint8 // how often its StatefulSet was made anew
}

// absence is how a zone has left the group.
type absence uint8

const (
	present    absence = iota
	orphaned           // its StatefulSet was deleted without its pods
	unlabelled         // its StatefulSet is outside of the group
)

type zones [maxZones]zone

// lease is the group's Lease, or a copy of it.
type lease struct {
	version   uint8 // zero: there is none
	holder    uint8 // free, foreign, partitions, or the zone's number plus one
	operation uint8 // of the holder
	expired   bool
	intents   [maxSlots]intent
	overtook  slots           // pods whose intents say so
	members   [maxZones]uint8 // zones that are remembered: how often each was made anew, plus one
	recordedDownscale
	queue
}

// Operations of holders.
const (
	rollout uint8 = iota
	downscale
	eviction
)

// downscale is the one that a Lease notes.
type recordedDownscale struct {
	zone     uint8 // its number plus one; zero: none
	judged   uint8 // version of the zone
	from, to uint8
	overdue  bool // its update has been waited for long enough
	ours     bool // lockstep itself makes it
}

// Holders that are no zones.
const (
	free       = 0
	foreign    = maxZones + 1 // somebody who maintains the group by hand
	partitions = maxZones + 2 // evictions that go by partitions
)

type intent struct {
	born    uint8 // zero: none
	version uint8
	grant   grant
}

// grant reports whether an intent is a granted eviction, and how old that is.
type grant uint8

const (
	ownDeed grant = iota
	justGranted
	timeOver // nobody can carry it out any more
)

// slots is a set of pod names.
type slots uint16

func (s slots) has(slot int) bool   { return s&(1<<slot) != 0 }
func (s slots) with(slot int) slots { return s | 1<<slot }

func zoneOf(slot int) int    { return slot / maxPods }
func ordinalOf(slot int) int { return slot % maxPods }

// wanted reports whether a zone's users ask for the ordinal.
func (z *zones) wanted(slot int) bool { return ordinalOf(slot) < int(z[zoneOf(slot)].replicas) }

// asked reports whether a zone of the group asks for the ordinal.
func (z *zones) asked(slot int) bool { return z[zoneOf(slot)].away == present && z.wanted(slot) }

// gone reports whether a zone left with all of its pods: then none of them is missing.
func (z *zones) gone(zone int, p *pods) bool {
	if z[zone].away != orphaned {
		return false
	}
	for slot := zone * maxPods; slot < (zone+1)*maxPods; slot++ {
		if p[slot].exists() {
			return false
		}
	}
	return true
}

// anyWanted reports whether users ask for one of some pods.
func (z *zones) anyWanted(of slots) bool {
	for slot := range maxSlots {
		if of.has(slot) && z.asked(slot) {
			return true
		}
	}
	return false
}

// deletedAndUnwanted returns the noted pods that do not exist and that the zones neither ask
// for nor will when they are back.
func (l *lease) deletedAndUnwanted(p *pods, z *zones) slots {
	var set slots
	for slot, i := range l.intents {
		if i.born > 0 && !p[slot].exists() && !z.asked(slot) && !l.awaits(slot, p, z) {
			set = set.with(slot)
		}
	}
	return set
}

// awaits reports whether a pod will be made anew by a zone that left and is remembered.
func (l *lease) awaits(slot int, p *pods, z *zones) bool {
	zone := zoneOf(slot)
	switch {
	case l.members[zone] == 0, z[zone].away == present:
		return false
	case z[zone].away == orphaned:
		return !z.gone(zone, p)
	}
	return z.wanted(slot)
}

// remembersAway reports whether a zone has left that the hold remembers.
func (l *lease) remembersAway(z *zones) bool {
	for n := range z {
		if z[n].away != present && l.members[n] > 0 {
			return true
		}
	}
	return false
}

// downIn returns the wanted pods that do not serve in a view under a record: who reads it knows
// of no zone that left unless it is remembered.
func (l *lease) downIn(p *pods, z *zones) slots {
	broken := down(p, z)
	for n := range z {
		if z[n].away != present && l.members[n] == 0 {
			broken &^= zoneSlots(n)
		}
	}
	return broken
}

// down returns the wanted pods that do not serve.
func down(p *pods, z *zones) slots {
	var set slots
	for slot := range p {
		if z.wanted(slot) && !p[slot].up() && !z.gone(zoneOf(slot), p) {
			set = set.with(slot)
		}
	}
	return set
}

func (c Config) start() world {
	var w world
	for n := range c.Zones {
		revision := at(c.Templates, n)
		w.zones[n] = zone{
			version: 1, revision: revision, replicas: uint8(c.Replicas), observed: true,
			seenRevision: revision, seenReplicas: uint8(c.Replicas), current: 1,
		}
		var revisions []int
		if n < len(c.Pods) {
			revisions = c.Pods[n]
		}
		for o := range c.Replicas {
			w.pods[n*maxPods+o] = pod{born: 1, version: 1, revision: at(revisions, o), phase: ready}
		}
	}
	w.lease = c.Restored.lease()
	if c.leaves() { // what a zone was before it joined is nobody's business here
		w.lease.version = 1
		for n := range c.Zones {
			w.lease.members[n] = 1
		}
	}
	for n := range c.processes() {
		w.operators[n] = operator{leads: n == 0 || c.Handovers == 0, pods: w.pods, zones: w.zones}
		if c.leaves() {
			w.operators[n].known = w.lease
		}
		if c.Trickle {
			w.operators[n].podsOnTheWay, w.operators[n].zonesOnTheWay = w.pods, w.zones
		}
	}
	w.left = accidents{
		crashes: uint8(c.Crashes), losses: uint8(c.Losses), churn: uint8(c.Churn), kills: uint8(c.Kills),
		lost: uint8(c.Lost), late: uint8(c.Late), minutes: uint8(c.Minutes), maintenance: uint8(c.Maintenance), vetoes: uint8(c.Vetoes),
		handovers: uint8(c.Handovers),
	}
	return w
}

func at(revisions []int, n int) uint8 {
	if n < len(revisions) {
		return uint8(revisions[n])
	}
	return 1
}

// reached reports whether the goal is reached: all as the users ask for, nothing
// held, nobody busy.
func (w *world) reached(c Config) bool {
	if w.lease.holder != free || w.lease.intents != [maxSlots]intent{} || w.lease.recordedDownscale != (recordedDownscale{}) || w.askers != [maxAskers]asker{} || w.evictors != [maxEvictors]evictor{} {
		return false
	}
	for n := range c.Operators {
		if w.operators[n].at != idle {
			return false
		}
	}
	for n := range c.Zones {
		z := w.zones[n]
		if !z.observed || z.current != z.revision || (z.forced > 0 && z.replicas != z.forced-1) {
			return false
		}
	}
	for slot, p := range w.pods {
		if w.zones.wanted(slot) != p.exists() || (p.exists() && (!p.up() || p.revision != w.zones[zoneOf(slot)].revision)) {
			return false
		}
	}
	return true
}

// fulfillable reports whether the users ask for something that can be had.
func (w *world) fulfillable(c Config) bool {
	for n := range c.Zones {
		if z := w.zones[n]; z.away != present || z.paused || z.rolling || c.bad(z.revision) {
			return false
		}
	}
	return true
}
