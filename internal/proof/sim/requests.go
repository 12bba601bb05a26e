package sim

import (
	"fmt"
	"strings"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// carryOut processes a request as the API server does. It reports whether the request was accepted.
func (e *explorer) carryOut(m *move, r request) bool {
	switch r.kind {
	case stepUpdatePod:
		return m.next.updatePod(r.step)
	case stepWriteLease:
		return e.writeLease(m, r.record)
	case stepDeletePod:
		return e.deletePod(m, r)
	case stepAdoptRevision:
		return m.next.adoptRevision(r.step)
	case stepUpdateZone:
		return m.next.updateZone(r.step)
	case stepSetReplicas:
		return e.setReplicas(m, r)
	}
	return false
}

// setReplicas changes the replicas of a zone if its version is the one of the decision. It checks a
// downscale.
func (e *explorer) setReplicas(m *move, r request) bool {
	before := *m
	z := &m.next.zones[r.target]
	if z.version != r.version {
		return false
	}
	client := downscaleClient{zone: r.target, to: r.value, notDown: r.evidence.notDown &^ r.evidence.knownDown}
	disrupts := client.disrupts(&before.next)
	z.version++
	z.replicas, z.observed = r.value, false
	if r.value < before.next.zones[r.target].replicas {
		m.covers |= covering(ownDownscales)
	}
	if disrupts {
		z.disrupted = true
		m.rule, m.detail = e.checkDownscale(&before.next, &client)
	}
	return true
}

// updateZone changes only the version of a zone.
func (w *world) updateZone(s step) bool {
	z := &w.zones[s.target]
	if z.version != s.version {
		return false
	}
	z.version++
	return true
}

// updatePod changes only the version of a pod.
func (w *world) updatePod(s step) bool {
	p := &w.pods[s.target]
	if p.uid != s.value || p.version != s.version {
		return false
	}
	p.version++
	return true
}

// writeLease writes the Lease by compare-and-swap.
func (e *explorer) writeLease(m *move, record lease) bool {
	current := &m.next.lease
	if record.version != current.version && !e.deviations.Overwriting {
		return false
	}
	if current.holder == foreign && !current.expired && record.holder != foreign {
		m.rule, m.detail = "ManualHoldKept", "a hold that a user acquired manually is overwritten before it expires"
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
	z.current = s.value
	return true
}

// deletePod deletes a pod if it has the UID and the version of the decision. It checks the delete.
func (e *explorer) deletePod(m *move, r request) bool {
	w := &m.next
	p := &w.pods[r.target]
	exact := p.uid == r.value && p.version == r.version
	meets := exact || e.deviations.Unconditional || (e.deviations.Versionless && p.uid == r.value)
	if !p.exists() || !meets {
		return false
	}
	if p.phase == terminating {
		return true
	}
	up := p.up()
	p.version++
	p.phase = terminating
	if up {
		w.byLockstep = w.byLockstep.with(int(r.target))
	}
	if rule, detail := e.checkDelete(w, r, exact, up); rule != "" {
		m.rule, m.detail = rule, detail
	}
	return true
}

// describeSend describes a request, with its plan if the request is the first one of a decision.
func (e *explorer) describeSend(w *world, n int, r request, fresh *decision) string {
	what := r.describe(w)
	if fresh != nil && fresh.notation != what {
		return operatorNames[n] + ": plans on its caches" + indented(fresh.notation) + "\n    " + operatorNames[n] + ": " + what
	}
	return operatorNames[n] + ": " + what
}

// describe describes a request in the planner's notation.
func (r request) describe(w *world) string {
	switch r.kind {
	case stepUpdatePod:
		return plan.CancelDeletion{
			Intent: plan.Intent{Pod: podNames[r.target], Zone: zoneNames[zoneOf(int(r.target))]}, Because: plan.Refusal{Code: reason.DeletionCancelled},
		}.String()
	case stepWriteLease:
		if r.record.version != w.lease.version {
			return "write " + r.record.String() + " (conflict)"
		}
		return "write " + r.record.String()
	case stepDeletePod:
		because := reason.OutdatedRevision
		if !r.up {
			because = reason.OutdatedAndUnavailable
		}
		text := plan.DeletePod{Pod: podNames[r.target], Zone: zoneNames[zoneOf(int(r.target))], Because: because}.String()
		if p := w.pods[r.target]; p.uid != r.value || p.version != r.version {
			text += " (not the pod of the decision)"
		}
		return text
	case stepAdoptRevision:
		return group.AdoptRevision{Zone: zoneNames[r.target], Revision: numbers[r.value]}.String()
	case stepUpdateZone:
		return "update " + zoneNames[r.target]
	case stepSetReplicas:
		return fmt.Sprintf("set %s to %d", zoneNames[r.target], r.value)
	}
	return "nothing"
}

// inFlight describes a request that is in flight when its sender dies.
func (r request) inFlight() string {
	switch r.kind {
	case stepUpdatePod:
		return ", its update of " + podNames[r.target] + " is in flight"
	case stepWriteLease:
		return ", its write of " + r.record.String() + " is in flight"
	case stepDeletePod:
		return ", its delete of " + podNames[r.target] + " is in flight"
	case stepAdoptRevision:
		return ", its adoption of the revision of " + zoneNames[r.target] + " is in flight"
	case stepUpdateZone:
		return ", its update of " + zoneNames[r.target] + " is in flight"
	case stepSetReplicas:
		return ", its resize of " + zoneNames[r.target] + " is in flight"
	}
	return ""
}

// String returns the record as a part of a trace.
func (l lease) String() string {
	holder := "free"
	if l.holder != free {
		holder = string(l.identity())
	}
	var records []string
	for slot, i := range l.intents {
		if i.uid > 0 {
			records = append(records, podNames[slot])
		}
	}
	if d := l.recordedDownscale.asInput(); !d.None() {
		records = append(records, d.String())
	}
	return fmt.Sprintf("hold %s [%s]", holder, strings.Join(records, " "))
}

func indented(notation string) string {
	if notation == "" {
		return ": nothing"
	}
	return "\n        " + strings.ReplaceAll(notation, "\n", "\n        ")
}
