package sim

import (
	"fmt"
	"math/bits"

	"github.com/lockstep-dev/lockstep/internal/sim/judge"
)

// judge looks at a delete just carried out. It returns the rule that was
// broken and how, or nothing.
func (e *explorer) judge(w *world, r request, exact, up bool) (rule, how string) {
	slot := int(r.target)
	broken := down(&w.pods, &w.zones)
	excused := broken &^ w.ours &^ r.evidence.before
	deed := judge.Deed{
		Strange:   !exact,
		Elsewhere: up && (zonesIn(w.ours&broken) > 1 || w.apart&broken != 0 || w.othersHarmed(zoneOf(slot))),
		Unnoted:   up && !w.notes(r.step),
	}
	if up {
		deed.Rest = count(broken &^ excused &^ zoneSlots(zoneOf(slot)))
		deed.Down = count((broken &^ excused).with(slot) & zoneSlots(zoneOf(slot)) & wantedSlots(w))
		deed.Budget = e.config.budget()
	}
	if rule = deed.Broken(e.rules.judges); rule == "" {
		return "", ""
	}
	return rule, fmt.Sprintf("delete of %s; down: %v; of these by us: %v; excused: %v", podNames[slot], broken, w.ours&broken, excused)
}

// judgeState looks for takedowns that are under way, can succeed and are not noted.
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
		if ev := &w.evictors[i]; ev.unnoted(w) {
			return "NoLostIntent", fmt.Sprintf("%s may still be evicted, of which the Lease says %v", podNames[ev.slot], w.lease)
		}
	}
	for n := range e.config.Operators {
		o := &w.operators[n]
		for _, s := range o.steps[:o.count] {
			if s.kind == write {
				break // what comes after it is not noted yet
			}
			if w.unnoted(s) {
				return "NoLostIntent", w.says(operatorNames[n], s)
			}
		}
	}
	return "", ""
}

// unnoted tells whether a step is a takedown that can succeed and that the
// Lease does not account for.
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

// notes tells whether the Lease covers exactly this deed.
func (w *world) notes(s step) bool {
	return w.lease.intents[s.target] == intent{born: s.born, version: s.version} &&
		int(w.lease.holder) == zoneOf(int(s.target))+1
}

func zoneSlots(zone int) slots { return (1<<maxPods - 1) << (zone * maxPods) }

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
