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

// decision is the reaction of an operator to a view.
type decision struct {
	look   bool
	verify bool // the zones must still ask for what the caches show
	steps  []step
	record lease
	claims bool  // once it is written, the operator knows the record as its own
	joins  bool  // no live read since another process wrote the hold, or the hold was for another zone
	shown  slots // pods that are not down in the view
	beside bool  // disrupts a pod while another pod of its zone is down
	adopts bool  // records a downscale that was not admitted
	lapses bool  // removes a granted eviction from the hold
	broken string
	rule   string
	notes  string // the plan, for readers of the story
}

// decide calls the real planner and the real rules of the hold. Equal views lead to equal
// decisions, because the view is their only input.
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
	actions := group.Plan(s)
	holdDecision := hold.Decide(&s, actions)
	d := &decision{shown: ^v.hold.downIn(&v.pods, &v.zones), notes: plan.Notation(actions)}
	if broken := invariant.Check(s, actions, holdDecision); broken != nil {
		d.rule, d.broken = broken.Name, "the plan breaks it: "+broken.Detail
		return d
	}
	if holdDecision.Need == hold.ReadLive {
		d.look = true
		return d
	}
	d.steps = v.requests(actions, holdDecision, e.rules.NotedLate)
	if d.rule, d.broken = v.unasked(d.steps); d.rule != "" {
		return d
	}
	d.beside = v.beside(d.steps)
	d.adopts = slices.ContainsFunc(actions, func(a plan.Action) bool { n, is := a.(group.RecordDownscale); return is && !n.Downscale.Ours })
	d.lapses = slices.ContainsFunc(actions, func(a plan.Action) bool { return a.Reason() == reason.EvictionLapsed })
	d.verify = holdDecision.Verify
	if holdDecision.Need == hold.Write {
		d.record = v.written(group.HoldOf(holdDecision.Record))
		d.claims = holdDecision.Record.Own
		d.joins = d.record.holder != free && (!v.own || v.hold.holder != d.record.holder)
	}
	return d
}

// requests returns the requests of a plan in the order of internal/act: cancelled deletions, the
// Lease, deletes, adoptions. Small worlds have no pods that prepare and no client that reads
// stamps.
func (v *view) requests(actions []plan.Action, holdDecision hold.Decision, late bool) []step {
	var touches, writes, deletes, adoptions []step
	for _, action := range actions {
		switch a := action.(type) {
		case plan.CancelDeletion:
			touches = append(touches, podStep(touch, a.Intent.Pod, a.Intent.UID, a.Intent.Version, false))
		case plan.DeletePod:
			deletes = append(deletes, podStep(remove, a.Pod, a.UID, a.Version, a.Up))
		case group.AdoptRevision:
			adoptions = append(adoptions, step{
				kind: adopt, target: uint8(zoneNumber(a.Zone)), born: number(a.Revision), version: uint8(a.Version),
			})
		case group.CancelDownscale:
			adoptions = append(adoptions, step{kind: void, target: uint8(zoneNumber(a.Downscale.Zone)), version: uint8(a.Downscale.Version)})
		case group.SetReplicas:
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

// unasked returns the rule that a delete breaks because the view itself shows that it should not
// happen.
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

// beside reports whether the plan uses the budget: it disrupts a pod while the view shows another
// pod of its zone down.
func (v *view) beside(steps []step) bool {
	broken := down(&v.pods, &v.zones)
	for _, s := range steps {
		if s.kind == remove && s.up && broken&zoneSlots(zoneOf(int(s.target))) != 0 {
			return true
		}
	}
	return false
}
