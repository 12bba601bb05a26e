package sim

import (
	"fmt"
	"math/bits"

	"github.com/lockstep-dev/lockstep/internal/proof/sim/judge"
)

// checkDelete judges a delete that was just carried out. It returns the rule that the delete
// breaks and how, or nothing.
func (e *explorer) checkDelete(w *world, r request, exact, up bool) (rule, detail string) {
	slot := int(r.target)
	broken := down(&w.pods, &w.zones)
	excused := broken &^ w.byLockstep &^ r.evidence.knownDown
	disruption := judge.Disruption{
		WrongTarget:        !exact,
		OtherZoneDisrupted: up && (zonesIn(w.byLockstep&broken) > 1 || w.byPartition&broken != 0 || w.otherZoneDisrupted(zoneOf(slot))),
		Unrecorded:         up && !w.recordsDelete(r.step),
	}
	if up {
		disruption.OtherZonesDown = count(broken &^ excused &^ zoneSlots(zoneOf(slot)))
		disruption.Down = count((broken &^ excused).with(slot) & zoneSlots(zoneOf(slot)) & wantedSlots(w))
		disruption.Budget = e.config.budget()
	}
	if rule = disruption.BrokenRule(e.deviations.judges); rule == "" {
		return "", ""
	}
	return rule, fmt.Sprintf("delete of %s; down: %v; of these by us: %v; excused: %v", podNames[slot], broken, w.byLockstep&broken, excused)
}

// checkEviction judges an eviction that was just carried out and disrupts a pod that is
// up.
func (e *explorer) checkEviction(w *world, ev *evictionClient) (rule, detail string) {
	slot := int(ev.slot)
	zone := zoneOf(slot)
	broken := down(&w.pods, &w.zones)
	excused := broken &^ w.byLockstep &^ ev.knownDown
	ours := w.byLockstep & broken
	elsewhere := zonesIn(ours) > 1 || w.otherZoneDisrupted(zone)
	rest := broken &^ excused &^ zoneSlots(zone)
	beside := (broken &^ excused).with(slot) & zoneSlots(zone) & wantedSlots(w)
	if e.config.Partitions { // only pods of the same partition count
		elsewhere = ours&^w.byPartition != 0 || w.otherZoneDisrupted(maxZones)
		rest, beside = 0, (broken&^excused).with(slot)&partitionSlots(slot)
	}
	rule = judge.Disruption{
		WrongTarget:        w.pods[slot].uid != ev.uid && !e.config.Unbound,
		OtherZoneDisrupted: elsewhere,
		OtherZonesDown:     count(rest),
		Down:               count(beside),
		Budget:             e.config.limit(),
		Unrecorded:         !w.recordsEviction(ev),
	}.BrokenRule(e.deviations.judges)
	if rule == "" {
		return "", ""
	}
	return rule, fmt.Sprintf("eviction of %s; down: %v; of these by us: %v; excused: %v", podNames[slot], broken, ours, excused)
}

// checkState looks for disruptions that are under way, can succeed and are not recorded.
func (e *explorer) checkState(w *world) (rule, detail string) {
	if !e.deviations.judges("NoLostIntent") {
		return "", ""
	}
	if w.unrecorded(w.lateRequest.step) {
		return "NoLostIntent", w.describeUnrecorded("a late request", w.lateRequest.step)
	}
	for i := range w.downscaleClients {
		if a := &w.downscaleClients[i]; a.unrecorded(w) {
			return "NoLostIntent", fmt.Sprintf("%s may still shrink to %d, of which the Lease says %v", zoneNames[a.zone], a.to, w.lease)
		}
	}
	for i := range w.evictionClients {
		if ev := &w.evictionClients[i]; ev.unrecorded(w, e.config) {
			return "NoLostIntent", fmt.Sprintf("%s may still be evicted, of which the Lease says %v", podNames[ev.slot], w.lease)
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

func (w *world) describeUnrecorded(who string, s step) string {
	if s.kind == stepSetReplicas {
		return fmt.Sprintf("%s may still set %s to %d, of which the Lease says %v", who, zoneNames[s.target], s.value, w.lease)
	}
	return fmt.Sprintf("%s may still delete %s, of which the Lease says %v", who, podNames[s.target], w.lease)
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
	return ev.state == evictionAllowed && ev.version == 0 && p.exists() && takes && p.phase != leaving && !w.recordsEviction(ev)
}

// recordsEviction reports whether the Lease records exactly this eviction.
func (w *world) recordsEviction(ev *evictionClient) bool {
	noted := w.lease.intents[ev.slot]
	zone := int(w.lease.holder) == zoneOf(int(ev.slot))+1
	apart := w.lease.holder == partitions && w.lease.operation == eviction
	return noted.uid == ev.uid && noted.grant != noGrant && (zone || apart)
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
