package sim

import "github.com/lockstep-dev/lockstep/internal/plan"

// world is one state of everything. It is a value: a copy is a snapshot, and two worlds are the
// same if they are equal after renumbering.
type world struct {
	pods        pods
	zones       zones
	lease       lease
	byLockstep  slots // down by lockstep: see the package comment
	byPartition slots // the part of byLockstep that evictions by partition disrupted

	operators        [maxOperators]operator
	lateRequest      request // a request that its sender has given up
	downscaleClients [maxDownscaleClients]downscaleClient
	evictionClients  [maxEvictionClients]evictionClient

	tracks    [maxTracks]uint8 // edits made so far
	remaining faultCounts
}

// faultCounts has how often each fault can still happen.
type faultCounts struct {
	crashes, podDeletes, podUpdates, kills, lostRequests, lateRequests, expiries, manualHolds, vetoes, handovers uint8
}

// pod is the state of a pod name. The version changes when a pod is created, changed or
// removed. A pod's UID is the version at its creation.
type pod struct {
	uid      uint8 // zero: there is none
	version  uint8
	revision uint8
	phase    podPhase
}

// podPhase is a plan.Phase in one byte.
type podPhase uint8

const (
	starting    = podPhase(plan.Starting)
	ready       = podPhase(plan.Ready)
	terminating = podPhase(plan.Terminating)
)

func (p pod) exists() bool { return p.uid != 0 }

// up reports whether the pod is up.
func (p pod) up() bool { return p.exists() && p.phase == ready }

type pods [maxSlots]pod

// zone is a StatefulSet: its spec, and the part of it that the controller has observed and acts
// on.
type zone struct {
	version          uint8
	revision         uint8
	replicas         uint8
	paused           bool
	rolling          bool // the update strategy is not OnDelete
	observed         bool // the controller has observed the newest spec
	observedRevision uint8
	observedReplicas uint8
	current          uint8 // status.currentRevision
	disrupted        bool  // by an admitted downscale, until no surplus pod exists
	forced           uint8 // the forced replicas plus one; zero: none
	absence          absence
	recreations      uint8 // how often its StatefulSet was recreated
}

// absence is how a zone has left the group.
type absence uint8

const (
	present    absence = iota
	orphaned           // its StatefulSet was deleted without its pods
	unlabelled         // its StatefulSet is outside of the group
)

type zones [maxZones]zone

// sameSpecs reports whether group.Zone.SameDesiredState holds for each zone.
func (z *zones) sameSpecs(other *zones) bool {
	for n := range z {
		a, b := &z[n], &other[n]
		if a.revision != b.revision || a.replicas != b.replicas || a.rolling != b.rolling ||
			a.paused != b.paused || a.absence != b.absence || a.recreations != b.recreations {
			return false
		}
	}
	return true
}

// lease is the group's Lease, or a copy of it.
type lease struct {
	version   uint8 // zero: there is none
	holder    uint8 // free, foreign, partitions, or the zone's number plus one
	operation uint8 // of the holder
	expired   bool
	intents   [maxSlots]intent
	overtook  slots           // pods whose intents have overtaken a waiting operation
	members   [maxZones]uint8 // remembered zones: how often each was recreated, plus one
	recordedDownscale
	queue
}

// Operations of holders.
const (
	rollout uint8 = iota
	downscale
	eviction
)

// recordedDownscale is the downscale in a Lease.
type recordedDownscale struct {
	zone        uint8 // its number plus one; zero: none
	zoneVersion uint8 // of the zone on which it was decided
	from, to    uint8
	overdue     bool // the time limit for its update has passed
	byLockstep  bool // lockstep scales the zone down itself
}

// Holders that are not zones.
const (
	free       = 0
	foreign    = maxZones + 1 // a user who acquired the hold manually
	partitions = maxZones + 2 // evictions that are counted by partition
)

type intent struct {
	uid     uint8 // zero: none
	version uint8
	grant   grant
}

// grant has whether an intent is a granted eviction, and how old the grant is.
type grant uint8

const (
	noGrant grant = iota
	freshGrant
	expiredGrant // no API server can carry out the eviction any more
)

// slots is a set of pod names.
type slots uint16

func (s slots) has(slot int) bool   { return s&(1<<slot) != 0 }
func (s slots) with(slot int) slots { return s | 1<<slot }

func zoneOf(slot int) int    { return slot / maxPods }
func ordinalOf(slot int) int { return slot % maxPods }

// wanted reports whether the spec of a zone includes the ordinal.
func (z *zones) wanted(slot int) bool { return ordinalOf(slot) < int(z[zoneOf(slot)].replicas) }

// wantedInGroup reports whether a zone of the group wants the ordinal.
func (z *zones) wantedInGroup(slot int) bool {
	return z[zoneOf(slot)].absence == present && z.wanted(slot)
}

// goneWithPods reports whether a zone left with all of its pods. Then none of them is missing.
func (z *zones) goneWithPods(zone int, p *pods) bool {
	if z[zone].absence != orphaned {
		return false
	}
	for slot := zone * maxPods; slot < (zone+1)*maxPods; slot++ {
		if p[slot].exists() {
			return false
		}
	}
	return true
}

// anyWanted reports whether zones of the group want one of these pods.
func (z *zones) anyWanted(of slots) bool {
	for slot := range maxSlots {
		if of.has(slot) && z.wantedInGroup(slot) {
			return true
		}
	}
	return false
}

// deletedAndUnwanted returns the recorded pods that do not exist, that no zone wants, and that
// no zone will want when it returns.
func (l *lease) deletedAndUnwanted(p *pods, z *zones) slots {
	var set slots
	for slot, i := range l.intents {
		if i.uid > 0 && !p[slot].exists() && !z.wantedInGroup(slot) && !l.willRecreate(slot, p, z) {
			set = set.with(slot)
		}
	}
	return set
}

// willRecreate reports whether a remembered zone that left will create the pod again.
func (l *lease) willRecreate(slot int, p *pods, z *zones) bool {
	zone := zoneOf(slot)
	switch {
	case l.members[zone] == 0, z[zone].absence == present:
		return false
	case z[zone].absence == orphaned:
		return !z.goneWithPods(zone, p)
	}
	return z.wanted(slot)
}

// remembersAbsent reports whether the hold remembers a zone that has left.
func (l *lease) remembersAbsent(z *zones) bool {
	for n := range z {
		if z[n].absence != present && l.members[n] > 0 {
			return true
		}
	}
	return false
}

// downIn returns the wanted pods that are down in a view under a record. A reader of the view
// knows a zone that left only if the record remembers it.
func (l *lease) downIn(p *pods, z *zones) slots {
	downPods := down(p, z)
	for n := range z {
		if z[n].absence != present && l.members[n] == 0 {
			downPods &^= zoneSlots(n)
		}
	}
	return downPods
}

// down returns the wanted pods that are not up.
func down(p *pods, z *zones) slots {
	var set slots
	for slot := range p {
		if z.wanted(slot) && !p[slot].up() && !z.goneWithPods(zoneOf(slot), p) {
			set = set.with(slot)
		}
	}
	return set
}

func (c Config) start() world {
	var w world
	for n := range c.Zones {
		revision := revisionAt(c.Templates, n)
		w.zones[n] = zone{
			version: 1, revision: revision, replicas: uint8(c.Replicas), observed: true,
			observedRevision: revision, observedReplicas: uint8(c.Replicas), current: 1,
		}
		var revisions []int
		if n < len(c.Pods) {
			revisions = c.Pods[n]
		}
		for o := range c.Replicas {
			w.pods[n*maxPods+o] = pod{uid: 1, version: 1, revision: revisionAt(revisions, o), phase: ready}
		}
	}
	w.lease = c.Restored.lease()
	if c.hasAbsences() { // this world does not cover the time before a zone joined
		w.lease.version = 1
		for n := range c.Zones {
			w.lease.members[n] = 1
		}
	}
	for n := range c.processes() {
		w.operators[n] = operator{leads: n == 0 || c.Handovers == 0, pods: w.pods, zones: w.zones}
		if c.hasAbsences() {
			w.operators[n].known = w.lease
		}
		if c.StepwiseCaches {
			w.operators[n].nextPods, w.operators[n].nextZones = w.pods, w.zones
		}
	}
	w.remaining = faultCounts{
		crashes: uint8(c.Crashes), podDeletes: uint8(c.PodDeletes), podUpdates: uint8(c.PodUpdates), kills: uint8(c.Kills),
		lostRequests: uint8(c.LostRequests), lateRequests: uint8(c.LateRequests), expiries: uint8(c.Expiries), manualHolds: uint8(c.ManualHolds), vetoes: uint8(c.Vetoes),
		handovers: uint8(c.Handovers),
	}
	return w
}

func revisionAt(revisions []int, n int) uint8 {
	if n < len(revisions) {
		return uint8(revisions[n])
	}
	return 1
}

// atGoal reports whether the goal is reached: all zones match their specs, the hold is free,
// and no actor is busy.
func (w *world) atGoal(c Config) bool {
	if w.lease.holder != free || w.lease.intents != [maxSlots]intent{} || w.lease.recordedDownscale != (recordedDownscale{}) || w.downscaleClients != [maxDownscaleClients]downscaleClient{} || w.evictionClients != [maxEvictionClients]evictionClient{} {
		return false
	}
	for n := range c.Operators {
		if w.operators[n].state != roundIdle {
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

// fulfillable reports whether the specs of all zones can be fulfilled.
func (w *world) fulfillable(c Config) bool {
	for n := range c.Zones {
		if z := w.zones[n]; z.absence != present || z.paused || z.rolling || c.bad(z.revision) {
			return false
		}
	}
	return true
}
