package sim

import (
	"fmt"
	"strings"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// carryOut does what the API server does with a request. It reports whether the request
// was accepted.
func (e *explorer) carryOut(m *move, r request) bool {
	switch r.kind {
	case touch:
		return m.next.touch(r.step)
	case write:
		return e.write(m, r.record)
	case remove:
		return e.remove(m, r)
	case adopt:
		return m.next.adoptRevision(r.step)
	case void:
		return m.next.touchZone(r.step)
	case size:
		return e.resize(m, r)
	}
	return false
}

// resize changes the replicas of a zone if its version is the one that was judged, and
// judges a downscale.
func (e *explorer) resize(m *move, r request) bool {
	before := *m
	z := &m.next.zones[r.target]
	if z.version != r.version {
		return false
	}
	a := asker{zone: r.target, to: r.born, shown: r.evidence.shown &^ r.evidence.before}
	harms := a.harms(&before.next)
	z.version++
	z.replicas, z.observed = r.born, false
	if r.born < before.next.zones[r.target].replicas {
		m.exercises |= one(downscalesOfOurOwn)
	}
	if harms {
		z.harmed = true
		m.rule, m.how = e.judgeHarm(&before.next, &a)
	}
	return true
}

func (w *world) touchZone(s step) bool {
	z := &w.zones[s.target]
	if z.version != s.version {
		return false
	}
	z.version++
	return true
}

func (w *world) touch(s step) bool {
	p := &w.pods[s.target]
	if p.born != s.born || p.version != s.version {
		return false
	}
	p.version++
	return true
}

func (e *explorer) write(m *move, record lease) bool {
	current := &m.next.lease
	if record.version != current.version && !e.rules.Overwriting {
		return false
	}
	if current.holder == foreign && !current.expired && record.holder != foreign {
		m.rule, m.how = "HandsOff", "the hold is taken from somebody who took it by hand and may still keep it"
	}
	version := current.version
	*current = record
	current.version = version + 1
	return true
}

func (w *world) adoptRevision(s step) bool {
	z := &w.zones[s.target]
	if z.version != s.version {
		return false
	}
	z.version++
	z.current = s.born
	return true
}

// remove deletes a pod if it is the pod that was judged, and judges the delete.
func (e *explorer) remove(m *move, r request) bool {
	w := &m.next
	p := &w.pods[r.target]
	exact := p.born == r.born && p.version == r.version
	meets := exact || e.rules.Unconditional || (e.rules.Versionless && p.born == r.born)
	if !p.exists() || !meets {
		return false
	}
	if p.phase == leaving {
		return true
	}
	up := p.up()
	p.version++
	p.phase = leaving
	if up {
		w.ours = w.ours.with(int(r.target))
	}
	if rule, how := e.judge(w, r, exact, up); rule != "" {
		m.rule, m.how = rule, how
	}
	return true
}

// tell describes a request, with the plan if that is new.
func (e *explorer) tell(w *world, n int, r request, just *decision) string {
	what := r.describe(w)
	if just != nil && just.notes != what {
		return operatorNames[n] + ": plans on its caches" + indented(just.notes) + "\n    " + operatorNames[n] + ": " + what
	}
	return operatorNames[n] + ": " + what
}

// describe describes a request in the planner's notation.
func (r request) describe(w *world) string {
	switch r.kind {
	case touch:
		return plan.CancelDeletion{
			Intent: plan.Intent{Pod: podNames[r.target], Zone: zoneNames[zoneOf(int(r.target))]}, Because: plan.Refusal{Code: reason.DeletionCancelled},
		}.String()
	case write:
		if r.record.version != w.lease.version {
			return "write " + r.record.String() + " (conflict)"
		}
		return "write " + r.record.String()
	case remove:
		because := reason.OutdatedRevision
		if !r.up {
			because = reason.OutdatedAndUnavailable
		}
		what := plan.DeletePod{Pod: podNames[r.target], Zone: zoneNames[zoneOf(int(r.target))], Because: because}.String()
		if p := w.pods[r.target]; p.born != r.born || p.version != r.version {
			what += " (not the pod that was judged)"
		}
		return what
	case adopt:
		return group.AdoptRevision{Zone: zoneNames[r.target], Revision: numbers[r.born]}.String()
	case void:
		return "touch " + zoneNames[r.target]
	case size:
		return fmt.Sprintf("set %s to %d", zoneNames[r.target], r.born)
	}
	return "nothing"
}

// onItsWay describes the request that is on its way when an operator dies.
func (r request) onItsWay() string {
	switch r.kind {
	case touch:
		return ", its touch of " + podNames[r.target] + " on its way"
	case write:
		return ", its write of " + r.record.String() + " on its way"
	case remove:
		return ", its delete of " + podNames[r.target] + " on its way"
	case adopt:
		return ", its adoption of " + zoneNames[r.target] + " on its way"
	case void:
		return ", its touch of " + zoneNames[r.target] + " on its way"
	case size:
		return ", its change of " + zoneNames[r.target] + " on its way"
	}
	return ""
}

// String returns the record as a part of a story.
func (l lease) String() string {
	holder := "free"
	if l.holder != free {
		holder = string(l.identity())
	}
	var noted []string
	for slot, i := range l.intents {
		if i.born > 0 {
			noted = append(noted, podNames[slot])
		}
	}
	if d := l.recordedDownscale.noted(); !d.None() {
		noted = append(noted, d.String())
	}
	return fmt.Sprintf("hold %s [%s]", holder, strings.Join(noted, " "))
}

func indented(notes string) string {
	if notes == "" {
		return ": nothing"
	}
	return "\n        " + strings.ReplaceAll(notes, "\n", "\n        ")
}
