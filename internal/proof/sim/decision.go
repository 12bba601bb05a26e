package sim

import (
	"fmt"
	"slices"

	"github.com/lockstep-dev/lockstep/internal/lock/hold"
	"github.com/lockstep-dev/lockstep/internal/lock/invariant"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// decision is the result of planning on a view.
type decision struct {
	needsLiveRead     bool
	verify            bool // before it acts, the operator checks that the specs of the zones are as in the caches
	steps             []step
	record            lease
	ownAfterWrite     bool  // after the write, the operator knows the record as its own
	joins             bool  // the record acquires the hold, or takes it over from another process
	notDown           slots // pods that are not down in the view
	usesBudget        bool  // disrupts a pod while another pod of its zone is down
	recordsUnadmitted bool  // records a downscale that was not admitted
	endsGrant         bool  // removes a granted eviction from the hold
	detail            string
	rule              string
	notation          string // the plan, for the trace
}

// decide returns the decision for a view. It caches decisions, because the view is their only
// input.
func (e *explorer) decide(v view) *decision {
	if d, ok := e.decisions[v]; ok {
		return d
	}
	d := e.evaluate(&v)
	e.decisions[v] = d
	return d
}

// evaluate calls the real planner and the real rules of the hold.
func (e *explorer) evaluate(v *view) *decision {
	s := v.snapshot(e.config)
	actions := group.Plan(s)
	holdDecision := hold.Decide(&s, actions)
	d := &decision{notDown: ^v.hold.downIn(&v.pods, &v.zones), notation: plan.Notation(actions)}
	if broken := invariant.Check(s, actions, holdDecision); broken != nil {
		d.rule, d.detail = broken.Name, "the plan breaks it: "+broken.Detail
		return d
	}
	if holdDecision.Need == hold.ReadLive {
		d.needsLiveRead = true
		return d
	}
	d.steps = v.requests(actions, holdDecision, e.deviations.LeaseWrittenLate)
	if d.rule, d.detail = v.unnecessaryDelete(d.steps); d.rule != "" {
		return d
	}
	d.usesBudget = v.usesBudget(d.steps)
	d.recordsUnadmitted = slices.ContainsFunc(actions, func(a plan.Action) bool { n, is := a.(group.RecordDownscale); return is && !n.Downscale.Ours })
	d.endsGrant = slices.ContainsFunc(actions, func(a plan.Action) bool { return a.Reason() == reason.EvictionLapsed })
	d.verify = holdDecision.Verify
	if holdDecision.Need == hold.Write {
		d.record = v.leaseOf(group.HoldOf(holdDecision.Record))
		d.ownAfterWrite = holdDecision.Record.Own
		d.joins = d.record.holder != free && (!v.own || v.hold.holder != d.record.holder)
	}
	return d
}

// requests returns the requests of a plan in the order of internal/act: cancelled deletions, the
// Lease, deletes, adoptions. Small worlds have no pods that prepare, and no client
// that reads the times of downscales.
func (v *view) requests(actions []plan.Action, holdDecision hold.Decision, late bool) []step {
	var updates, writes, deletes, adoptions []step
	for _, action := range actions {
		switch a := action.(type) {
		case plan.CancelDeletion:
			updates = append(updates, podStep(stepUpdatePod, a.Intent.Pod, a.Intent.UID, a.Intent.Version, false))
		case plan.DeletePod:
			deletes = append(deletes, podStep(stepDeletePod, a.Pod, a.UID, a.Version, a.Up))
		case group.AdoptRevision:
			adoptions = append(adoptions, step{
				kind: stepAdoptRevision, target: uint8(zoneNumber(a.Zone)), value: parseNumber(a.Revision), version: uint8(a.Version),
			})
		case group.CancelDownscale:
			adoptions = append(adoptions, step{kind: stepUpdateZone, target: uint8(zoneNumber(a.Downscale.Zone)), version: uint8(a.Downscale.Version)})
		case group.SetReplicas:
			adoptions = append(adoptions, step{kind: stepSetReplicas, target: uint8(zoneNumber(a.Zone)), value: uint8(a.To), version: uint8(a.Version)})
		}
	}
	if holdDecision.Need == hold.Write {
		writes = append(writes, step{kind: stepWriteLease})
	}
	all := append(updates, writes...)
	if late {
		all = append(updates, deletes...)
		deletes = writes
	}
	return append(append(all, deletes...), adoptions...)
}

func podStep(kind stepKind, name, uid string, version plan.Version, up bool) step {
	return step{kind: kind, target: uint8(slotNumber(name)), value: parseNumber(uid), version: originalVersion(version), up: up}
}

// unnecessaryDelete returns the rule that a delete breaks according to its own view, and how; or
// nothing.
func (v *view) unnecessaryDelete(steps []step) (rule, detail string) {
	for _, s := range steps {
		if s.kind != stepDeletePod {
			continue
		}
		slot := int(s.target)
		z := zoneOf(slot)
		if v.pods[slot].revision == v.zones[z].revision {
			return "OutdatedOnly", fmt.Sprintf("%s is to be replaced although it is at the update revision %d", podNames[slot], v.zones[z].revision)
		}
		for other := z * maxPods; s.up && other < (z+1)*maxPods; other++ {
			if v.pods[other].exists() && !v.zones.wanted(other) {
				return "SurplusFirst", fmt.Sprintf("%s is disrupted although the surplus pod %s still exists", podNames[slot], podNames[other])
			}
		}
	}
	return "", ""
}

// usesBudget reports whether the plan uses the budget: it disrupts a pod while the view shows
// another pod of its zone down.
func (v *view) usesBudget(steps []step) bool {
	downPods := down(&v.pods, &v.zones)
	for _, s := range steps {
		if s.kind == stepDeletePod && s.up && downPods&zoneSlots(zoneOf(int(s.target))) != 0 {
			return true
		}
	}
	return false
}
