package sim

import (
	"fmt"
	"math/bits"

	"github.com/lockstep-dev/lockstep/internal/proof/sim/judge"
)

// checkDelete checks a delete that was just carried out. It returns the rule that the delete breaks
// and how, or nothing.
func (e *explorer) checkDelete(w *world, r request, exact, up bool) (rule, detail string) {
	slot := int(r.target)
	downPods := down(&w.pods, &w.zones)
	excused := downPods &^ w.byLockstep &^ r.evidence.knownDown
	disruption := judge.Disruption{
		WrongTarget:        !exact,
		OtherZoneDisrupted: up && (zonesIn(w.byLockstep&downPods) > 1 || w.byPartition&downPods != 0 || w.otherZoneDisrupted(zoneOf(slot))),
		Unrecorded:         up && !w.recordsDelete(r.step),
	}
	if up {
		disruption.OtherZonesDown = count(downPods &^ excused &^ zoneSlots(zoneOf(slot)))
		disruption.Down = count((downPods &^ excused).with(slot) & zoneSlots(zoneOf(slot)) & wantedSlots(w))
		disruption.Budget = e.config.budget()
	}
	if rule = disruption.BrokenRule(e.deviations.checks); rule == "" {
		return "", ""
	}
	return rule, fmt.Sprintf("delete of %s; down: %v; of these by lockstep: %v; excused: %v", podNames[slot], downPods, w.byLockstep&downPods, excused)
}

// checkEviction checks an eviction that has just disrupted a pod. It returns the rule that the
// eviction breaks and how, or nothing.
func (e *explorer) checkEviction(w *world, ev *evictionClient) (rule, detail string) {
	slot := int(ev.slot)
	zone := zoneOf(slot)
	downPods := down(&w.pods, &w.zones)
	excused := downPods &^ w.byLockstep &^ ev.knownDown
	byLockstep := w.byLockstep & downPods
	otherZoneDisrupted := zonesIn(byLockstep) > 1 || w.otherZoneDisrupted(zone)
	otherZonesDown := downPods &^ excused &^ zoneSlots(zone)
	zoneDown := (downPods &^ excused).with(slot) & zoneSlots(zone) & wantedSlots(w)
	if e.config.Partitions { // only pods of the same partition count
		otherZoneDisrupted = byLockstep&^w.byPartition != 0 || w.otherZoneDisrupted(maxZones)
		otherZonesDown, zoneDown = 0, (downPods&^excused).with(slot)&partitionSlots(slot)
	}
	rule = judge.Disruption{
		WrongTarget:        w.pods[slot].uid != ev.uid && !e.config.Unbound,
		OtherZoneDisrupted: otherZoneDisrupted,
		OtherZonesDown:     count(otherZonesDown),
		Down:               count(zoneDown),
		Budget:             e.config.limit(),
		Unrecorded:         !w.recordsEviction(ev),
	}.BrokenRule(e.deviations.checks)
	if rule == "" {
		return "", ""
	}
	return rule, fmt.Sprintf("eviction of %s; down: %v; of these by lockstep: %v; excused: %v", podNames[slot], downPods, byLockstep, excused)
}

// checkState finds a disruption that is in flight, can succeed and is not recorded. It returns the
// rule that the state breaks and how, or nothing.
func (e *explorer) checkState(w *world) (rule, detail string) {
	if !e.deviations.checks("NoLostIntent") {
		return "", ""
	}
	if w.unrecorded(w.lateRequest.step) {
		return "NoLostIntent", w.describeUnrecorded("a late request", w.lateRequest.step)
	}
	for i := range w.downscaleClients {
		if a := &w.downscaleClients[i]; a.unrecorded(w) {
			return "NoLostIntent", fmt.Sprintf("%s may still be scaled down to %d, but the Lease records %v", zoneNames[a.zone], a.to, w.lease)
		}
	}
	for i := range w.evictionClients {
		if ev := &w.evictionClients[i]; ev.unrecorded(w, e.config) {
			return "NoLostIntent", fmt.Sprintf("%s may still be evicted, but the Lease records %v", podNames[ev.slot], w.lease)
		}
	}
	for n := range e.config.Operators {
		o := &w.operators[n]
		for _, s := range o.steps[:o.count] {
			if s.kind == stepWriteLease {
				break // later steps are not recorded yet
			}
			if w.unrecorded(s) {
				return "NoLostIntent", w.describeUnrecorded(operatorNames[n], s)
			}
		}
	}
	return "", ""
}

// unrecorded reports whether a step is a disruption that can succeed and that the Lease does
// not record.
func (w *world) unrecorded(s step) bool {
	if s.kind == stepSetReplicas {
		a := downscaleClient{state: downscaleAdmitted, zone: s.target, to: s.value, version: s.version, notDown: ^slots(0)}
		return a.unrecorded(w)
	}
	p := w.pods[s.target]
	return s.kind == stepDeletePod && s.up && p.uid == s.value && p.version == s.version && !w.recordsDelete(s)
}

func (w *world) describeUnrecorded(sender string, s step) string {
	if s.kind == stepSetReplicas {
		return fmt.Sprintf("%s may still set %s to %d, but the Lease records %v", sender, zoneNames[s.target], s.value, w.lease)
	}
	return fmt.Sprintf("%s may still delete %s, but the Lease records %v", sender, podNames[s.target], w.lease)
}

// recordsDelete reports whether the Lease records exactly this delete.
func (w *world) recordsDelete(s step) bool {
	return w.lease.intents[s.target] == intent{uid: s.value, version: s.version} &&
		int(w.lease.holder) == zoneOf(int(s.target))+1
}

// unrecorded reports whether an eviction can still take effect and the Lease does not record
// it.
func (ev *evictionClient) unrecorded(w *world, c Config) bool {
	p := w.pods[ev.slot]
	takes := p.uid == ev.uid || c.Unbound
	return ev.state == evictionAllowed && ev.version == 0 && p.exists() && takes && p.phase != terminating && !w.recordsEviction(ev)
}

// recordsEviction reports whether the Lease records exactly this eviction.
func (w *world) recordsEviction(ev *evictionClient) bool {
	intent := w.lease.intents[ev.slot]
	byZone := int(w.lease.holder) == zoneOf(int(ev.slot))+1
	byPartition := w.lease.holder == partitions && w.lease.operation == eviction
	return intent.uid == ev.uid && intent.grant != noGrant && (byZone || byPartition)
}

func zoneSlots(zone int) slots { return (1<<maxPods - 1) << (zone * maxPods) }

// partitionSlots returns the pods with the same ordinal.
func partitionSlots(slot int) (set slots) {
	for zone := range maxZones {
		set = set.with(zone*maxPods + ordinalOf(slot))
	}
	return set
}

func wantedSlots(w *world) slots {
	var set slots
	for slot := range w.pods {
		if w.zones.wanted(slot) {
			set = set.with(slot)
		}
	}
	return set
}

func zonesIn(set slots) int {
	n := 0
	for zone := range maxZones {
		if set&zoneSlots(zone) != 0 {
			n++
		}
	}
	return n
}

func count(set slots) int { return bits.OnesCount16(uint16(set)) }

// String lists the names of the pods.
func (s slots) String() string {
	var names []string
	for slot := range maxSlots {
		if s.has(slot) {
			names = append(names, podNames[slot])
		}
	}
	return fmt.Sprint(names)
}
