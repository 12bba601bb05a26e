package sim

import (
	"fmt"
	"slices"

	"github.com/lockstep-dev/lockstep/internal/lock/hold"
	"github.com/lockstep-dev/lockstep/internal/lock/invariant"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// decision is what an operator does about a view.
type decision struct {
	look   bool
	steps  []step
	record lease
	claims bool  // the record is the operator's own from then on
	joins  bool  // the operator had not looked since another one wrote it, or it was about another zone
	shown  slots // in order in the view
	beside bool  // takes a pod down while another one of its zone is down
	adopts bool  // notes a downscale that nobody admitted
	lapses bool  // takes a granted eviction off the hold
	broken string
	rule   string
	notes  string // the plan, for people
}

// decide asks the real planner and the real rules of the hold. Equal views get
// equal decisions: nothing else is given to them.
func (e *explorer) decide(v view) *decision {
	if d, ok := e.decisions[v]; ok {
		return d
	}
	d := e.ponder(&v)
	e.decisions[v] = d
	return d
}

func (e *explorer) ponder(v *view) *decision {
	s := v.snapshot(e.config)
	actions := plan.Group(s)
	holdDecision := hold.Decide(s, actions)
	d := &decision{shown: ^v.hold.downIn(&v.pods, &v.zones), notes: plan.Notation(actions)}
	if broken := invariant.Check(s, actions, holdDecision); broken != nil {
		d.rule, d.broken = broken.Name, "the plan breaks it: "+broken.Detail
		return d
	}
	if holdDecision.Need == hold.Look {
		d.look = true
		return d
	}
	d.steps = v.requests(actions, holdDecision, e.rules.NotedLate)
	if d.rule, d.broken = v.unasked(d.steps); d.rule != "" {
		return d
	}
	d.beside = v.beside(d.steps)
	d.adopts = slices.ContainsFunc(actions, func(a plan.Action) bool { n, is := a.(plan.RecordDownscale); return is && !n.Downscale.Ours })
	d.lapses = slices.ContainsFunc(actions, func(a plan.Action) bool { return a.Reason() == reason.EvictionLapsed })
	if holdDecision.Need == hold.Write {
		d.record = v.written(holdDecision.Record)
		d.claims = holdDecision.Record.Own
		d.joins = d.record.holder != free && (!v.own || v.hold.holder != d.record.holder)
	}
	return d
}

// requests puts a plan in the order in which internal/act carries it out: withdrawals, the Lease,
// deletes, adoptions. Small worlds have no pods that prepare and no client that reads stamps.
func (v *view) requests(actions []plan.Action, holdDecision hold.Decision, late bool) []step {
	var touches, writes, deletes, adoptions []step
	for _, action := range actions {
		switch a := action.(type) {
		case plan.CancelDeletion:
			touches = append(touches, podStep(touch, a.Intent.Pod, a.Intent.UID, a.Intent.Version, false))
		case plan.DeletePod:
			deletes = append(deletes, podStep(remove, a.Pod, a.UID, a.Version, a.Up))
		case plan.AdoptRevision:
			adoptions = append(adoptions, step{
				kind: adopt, target: uint8(zoneNumber(a.Zone)), born: number(a.Revision), version: uint8(a.Version),
			})
		case plan.CancelDownscale:
			adoptions = append(adoptions, step{kind: void, target: uint8(zoneNumber(a.Downscale.Zone)), version: uint8(a.Downscale.Version)})
		case plan.SetReplicas:
			adoptions = append(adoptions, step{kind: size, target: uint8(zoneNumber(a.Zone)), born: uint8(a.To), version: uint8(a.Version)})
		}
	}
	if holdDecision.Need == hold.Write {
		writes = append(writes, step{kind: write})
	}
	all := append(touches, writes...)
	if late {
		all = append(touches, deletes...)
		deletes = writes
	}
	return append(append(all, deletes...), adoptions...)
}

func podStep(kind stepKind, name, uid string, version plan.Version, up bool) step {
	return step{kind: kind, target: uint8(slotNumber(name)), born: number(uid), version: seen(version), up: up}
}

// unasked returns the rule that deletes break of which the view itself says
// that nobody asked for them.
func (v *view) unasked(steps []step) (rule, how string) {
	for _, s := range steps {
		if s.kind != remove {
			continue
		}
		slot := int(s.target)
		z := zoneOf(slot)
		if v.pods[slot].revision == v.zones[z].revision {
			return "AsAsked", fmt.Sprintf("%s is to be replaced and runs revision %d, which is asked for", podNames[slot], v.zones[z].revision)
		}
		for other := z * maxPods; s.up && other < (z+1)*maxPods; other++ {
			if v.pods[other].exists() && !v.zones.wanted(other) {
				return "ShrinksFirst", fmt.Sprintf("%s is taken down before %s, which is one too many, has left", podNames[slot], podNames[other])
			}
		}
	}
	return "", ""
}

// beside reports whether the budget is used: a pod is taken down while the view
// shows another one of its zone down.
func (v *view) beside(steps []step) bool {
	broken := down(&v.pods, &v.zones)
	for _, s := range steps {
		if s.kind == remove && s.up && broken&zoneSlots(zoneOf(int(s.target))) != 0 {
			return true
		}
	}
	return false
}
