package sim

import "github.com/lockstep-dev/lockstep/internal/plan"

// world is one state of everything. It is a value: copying it is a snapshot,
// and two worlds are the same when they are equal after renumbering.
type world struct {
	pods  pods
	zones zones
	lease lease
	ours  slots // down by us: see the package comment

	operators [maxOperators]operator

	tracks      [maxTracks]uint8 // edits made so far
	crashes     uint8            // left
	losses      uint8
	churn       uint8
	kills       uint8
	lostReplies uint8
	minutes     uint8
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

// up tells whether the pod serves.
func (p pod) up() bool { return p.exists() && p.phase == ready }

type pods [maxSlots]pod

// zone is a StatefulSet: what users ask for, and what the controller has seen
// of it and acts upon.
type zone struct {
	version      uint8
	revision     uint8
	replicas     uint8
	paused       bool
	observed     bool // seen is the newest
	seenRevision uint8
	seenReplicas uint8
	current      uint8 // status.currentRevision
}

type zones [maxZones]zone

// lease is the group's Lease, or a copy of it.
type lease struct {
	version uint8 // zero: there is none
	holder  uint8 // zero: free; else the zone's number plus one
	expired bool
	intents [maxSlots]intent
}

type intent struct {
	born    uint8 // zero: none
	version uint8
}

// slots is a set of pod names.
type slots uint16

func (s slots) has(slot int) bool   { return s&(1<<slot) != 0 }
func (s slots) with(slot int) slots { return s | 1<<slot }

// operator is a process of ours: what it sees, what it remembers, and where in
// its round it is.
type operator struct {
	pods    pods
	zones   zones
	known   lease           // the newest record it knows of
	own     bool            // it wrote that record
	moved   [maxSlots]uint8 // freshness: pods sent away, at which version
	written [maxZones]uint8 // freshness: zones written, the version that came back

	podsOnTheWay  pods  // what the cache of pods will show next, where caches trickle
	zonesOnTheWay zones // the same of zones
	podsBehind    behind
	zonesBehind   behind

	at     place // of its round
	look   zones // what the live look has read, from zonesRead on
	steps  [maxSteps]step
	count  uint8 // of steps left
	record lease // what a write step writes, with the version it requires
	claims bool  // knows that record as its own once it is written
	shown  slots // in order in the view that was decided on
	before slots // down when this operator joined the hold, and ever since
}

// behind tells whether a cache is older than what the last live look showed.
type behind uint8

const (
	caughtUp behind = iota
	nextCatchesUp
	bothBehind
)

// place is where in its round an operator is.
type place uint8

const (
	idle      place = iota
	leaseRead       // a live look has begun
	zonesRead
	acting
)

const maxSteps = 12

// step is one request that an operator is going to send.
type step struct {
	kind    stepKind
	target  uint8 // slot, or zone for adopt
	born    uint8 // or the revision for adopt
	version uint8
	up      bool
}

type stepKind uint8

const (
	touch stepKind = iota + 1
	write
	remove
	adopt
)

func (o *operator) rest() {
	o.at, o.look, o.steps, o.count = idle, zones{}, [maxSteps]step{}, 0
	o.record, o.claims, o.shown = lease{}, false, 0
}

func (o *operator) pop() {
	copy(o.steps[:], o.steps[1:])
	o.steps[maxSteps-1] = step{}
	if o.count--; o.count == 0 {
		o.rest()
	}
}

func zoneOf(slot int) int    { return slot / maxPods }
func ordinalOf(slot int) int { return slot % maxPods }

// wanted tells whether a zone's users ask for the ordinal.
func (z zones) wanted(slot int) bool { return ordinalOf(slot) < int(z[zoneOf(slot)].replicas) }

// down returns the wanted pods that do not serve.
func down(p *pods, z *zones) slots {
	var set slots
	for slot := range p {
		if z.wanted(slot) && !p[slot].up() {
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
	for n := range c.Operators {
		w.operators[n] = operator{pods: w.pods, zones: w.zones}
		if c.Trickle {
			w.operators[n].podsOnTheWay, w.operators[n].zonesOnTheWay = w.pods, w.zones
		}
	}
	w.crashes, w.losses, w.churn = uint8(c.Crashes), uint8(c.Losses), uint8(c.Churn)
	w.kills, w.lostReplies, w.minutes = uint8(c.Kills), uint8(c.LostReplies), uint8(c.Minutes)
	return w
}

func at(revisions []int, n int) uint8 {
	if n < len(revisions) {
		return uint8(revisions[n])
	}
	return 1
}

// reached tells whether the goal is reached: all as the users ask for, nothing
// held, nobody busy.
func (w *world) reached(c Config) bool {
	if w.lease.holder != 0 || w.lease.intents != [maxSlots]intent{} {
		return false
	}
	for n := range c.Operators {
		if w.operators[n].at != idle {
			return false
		}
	}
	for n := range c.Zones {
		if z := w.zones[n]; !z.observed || z.current != z.revision {
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

// fulfillable tells whether the users ask for something that can be had.
func (w *world) fulfillable(c Config) bool {
	for n := range c.Zones {
		if w.zones[n].paused || c.bad(w.zones[n].revision) {
			return false
		}
	}
	return true
}
