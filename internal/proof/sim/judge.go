package sim

import (
	"fmt"
	"math/bits"

	"github.com/lockstep-dev/lockstep/internal/proof/sim/judge"
)

// judge judges a delete that was just carried out. It returns the rule that the delete
// breaks and how, or nothing.
func (e *explorer) judge(w *world, r request, exact, up bool) (rule, how string) {
	slot := int(r.target)
	broken := down(&w.pods, &w.zones)
	excused := broken &^ w.ours &^ r.evidence.before
	disruption := judge.Disruption{
		Strange:   !exact,
		Elsewhere: up && (zonesIn(w.ours&broken) > 1 || w.apart&broken != 0 || w.othersHarmed(zoneOf(slot))),
		Unnoted:   up && !w.notes(r.step),
	}
	if up {
		disruption.Rest = count(broken &^ excused &^ zoneSlots(zoneOf(slot)))
		disruption.Down = count((broken &^ excused).with(slot) & zoneSlots(zoneOf(slot)) & wantedSlots(w))
		disruption.Budget = e.config.budget()
	}
	if rule = disruption.Broken(e.rules.judges); rule == "" {
		return "", ""
	}
	return rule, fmt.Sprintf("delete of %s; down: %v; of these by us: %v; excused: %v", podNames[slot], broken, w.ours&broken, excused)
}

// judgeEviction judges an eviction that was just carried out and disrupts a pod that is
// up.
func (e *explorer) judgeEviction(w *world, ev *evictor) (rule, how string) {
	slot := int(ev.slot)
	zone := zoneOf(slot)
	broken := down(&w.pods, &w.zones)
	excused := broken &^ w.ours &^ ev.before
	ours := w.ours & broken
	elsewhere := zonesIn(ours) > 1 || w.othersHarmed(zone)
	rest := broken &^ excused &^ zoneSlots(zone)
	beside := (broken &^ excused).with(slot) & zoneSlots(zone) & wantedSlots(w)
	if e.config.Partitions { // only pods of the same partition count
		elsewhere = ours&^w.apart != 0 || w.othersHarmed(maxZones)
		rest, beside = 0, (broken&^excused).with(slot)&partitionSlots(slot)
	}
	rule = judge.Disruption{
		Strange:   w.pods[slot].born != ev.born && !e.config.Unbound,
		Elsewhere: elsewhere,
		Rest:      count(rest),
		Down:      count(beside),
		Budget:    e.config.limit(),
		Unnoted:   !w.notesEviction(ev),
	}.Broken(e.rules.judges)
	if rule == "" {
		return "", ""
	}
	return rule, fmt.Sprintf("eviction of %s; down: %v; of these by us: %v; excused: %v", podNames[slot], broken, ours, excused)
}

// judgeState looks for disruptions that are under way, can succeed and are not recorded.
func (e *explorer) judgeState(w *world) (rule, how string) {
	if !e.rules.judges("NoLostIntent") {
		return "", ""
	}
	if w.unnoted(w.late.step) {
		return "NoLostIntent", w.says("a late request", w.late.step)
	}
	for i := range w.askers {
		if a := &w.askers[i]; a.unnoted(w) {
			return "NoLostIntent", fmt.Sprintf("%s may still shrink to %d, of which the Lease says %v", zoneNames[a.zone], a.to, w.lease)
		}
	}
	for i := range w.evictors {
		if ev := &w.evictors[i]; ev.unnoted(w, e.config) {
			return "NoLostIntent", fmt.Sprintf("%s may still be evicted, of which the Lease says %v", podNames[ev.slot], w.lease)
		}
	}
	for n := range e.config.Operators {
		o := &w.operators[n]
		for _, s := range o.steps[:o.count] {
			if s.kind == write {
				break // later steps are not recorded yet
			}
			if w.unnoted(s) {
				return "NoLostIntent", w.says(operatorNames[n], s)
			}
		}
	}
	return "", ""
}

// unnoted reports whether a step is a disruption that can succeed and that the Lease does
// not record.
func (w *world) unnoted(s step) bool {
	if s.kind == size {
		a := asker{at: approved, zone: s.target, to: s.born, version: s.version, shown: ^slots(0)}
		return a.unnoted(w)
	}
	p := w.pods[s.target]
	return s.kind == remove && s.up && p.born == s.born && p.version == s.version && !w.notes(s)
}

func (w *world) says(who string, s step) string {
	if s.kind == size {
		return fmt.Sprintf("%s may still set %s to %d, of which the Lease says %v", who, zoneNames[s.target], s.born, w.lease)
	}
	return fmt.Sprintf("%s may still delete %s, of which the Lease says %v", who, podNames[s.target], w.lease)
}

// notes reports whether the Lease records exactly this delete.
func (w *world) notes(s step) bool {
	return w.lease.intents[s.target] == intent{born: s.born, version: s.version} &&
		int(w.lease.holder) == zoneOf(int(s.target))+1
}

// unnoted reports whether an eviction can still take effect and the Lease does not record
// it.
func (ev *evictor) unnoted(w *world, c Config) bool {
	p := w.pods[ev.slot]
	takes := p.born == ev.born || c.Unbound
	return ev.at == underway && ev.version == 0 && p.exists() && takes && p.phase != leaving && !w.notesEviction(ev)
}

// notesEviction reports whether the Lease records exactly this eviction.
func (w *world) notesEviction(ev *evictor) bool {
	noted := w.lease.intents[ev.slot]
	zone := int(w.lease.holder) == zoneOf(int(ev.slot))+1
	apart := w.lease.holder == partitions && w.lease.operation == eviction
	return noted.born == ev.born && noted.grant != ownDisruption && (zone || apart)
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
