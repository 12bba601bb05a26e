package walk

import (
	"github.com/lockstep-dev/lockstep/internal/hold"
	"github.com/lockstep-dev/lockstep/internal/invariant"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/reason"
)

// bound is an eviction with what it is bound to: the pod's UID and, where it was down,
// its version.
type bound struct {
	zone, ordinal int
	uid           string
	version       plan.Version
}

// pin binds an eviction to the pod that a process knows by its name or, where that is
// down or unknown, to the one that there is right now.
func (p *process) pin(g *group, zone, ordinal int, done func(bound, bool)) {
	b := bound{zone: zone, ordinal: ordinal}
	if known := p.sights[g.no].pods[zone][ordinal]; known != nil && (known.Up() || known.Phase == plan.Leaving) {
		b.uid = known.UID
		done(b, true)
		return
	}
	send(p, func() (*plan.Pod, error) { return g.pods[zone][ordinal], nil }, func(live *plan.Pod, err error) {
		if err != nil || live == nil {
			done(b, false)
			return
		}
		b.uid = live.UID
		if !live.Up() && live.Phase != plan.Leaving {
			b.version = live.Version
		}
		done(b, true)
	})
}

// granting is an eviction that a webhook judges.
type granting struct {
	*process
	g     *group
	bound bound
	done  func(answer)
	leave func()
	tries int
}

// evict decides about an eviction on caches alone; what they allow and the hold has to
// say waits for the group's turn.
func (p *process) evict(g *group, b bound, done func(answer)) {
	e := &granting{process: p, g: g, bound: b, done: done, leave: func() {}}
	known := p.sights[g.no].pods[b.zone][b.ordinal]
	if known == nil || known.UID != b.uid || p.knowsAway(g, b.zone) {
		e.answer(answer{})
		return
	}
	switch permit := e.permitted(p.cached(g)); {
	case !permit.Allowed():
		if p.sights[g.no].turn.taken {
			e.answer(answer{})
			return
		}
		p.take(g, func(leave func()) {
			e.leave = leave
			e.refuse(permit)
		})
	case !permit.NeedsNote():
		e.answer(answer{yes: true, shown: p.shown(g)})
	default:
		p.take(g, func(leave func()) {
			e.leave = leave
			e.attempt()
		})
	}
}

// permitted is what the planner says; one that is bound to another version would not
// succeed, or must not.
func (e *granting) permitted(s plan.Snapshot) plan.EvictionAnswer {
	name := plan.PodName(e.g.zones[e.bound.zone].Name, e.bound.ordinal)
	permit := plan.Evict(s, plan.EvictionRequest{Pod: name, UID: e.bound.uid})
	judged := max(permit.Version, permit.Note.Version)
	switch {
	case !permit.Allowed():
	case e.bound.version == 0 && permit.Version == 0:
	case e.bound.version == 0, e.bound.version > judged && !permit.NeedsNote():
		permit.Because = plan.Refusal{Code: reason.CacheBehind, Pod: name}
	case e.bound.version < judged:
		permit.Because = plan.Refusal{Code: reason.ObjectMoved, Pod: name}
	}
	return permit
}

// attempt decides again, on caches where they suffice, and has the hold say so.
func (e *granting) attempt() {
	if e.tries++; e.tries > attempts {
		e.answer(answer{})
		return
	}
	cached := e.cached(e.g)
	permit, decision := e.decideGrant(cached)
	missing := ""
	if decision.Need == hold.Write {
		missing, _ = e.fresh.Behind(cached)
	}
	if decision.Need != hold.Look && missing == "" {
		e.decide(cached, permit, decision, e.shown(e.g))
		return
	}
	e.look(e.g, true, func(live plan.Snapshot, err error) {
		if err != nil {
			e.answer(answer{})
			return
		}
		e.looked(e.g, live)
		permit, decision := e.decideGrant(live)
		e.decide(live, permit, decision, byLook(e.g, live))
	})
}

func (e *granting) decideGrant(s plan.Snapshot) (plan.EvictionAnswer, hold.Decision) {
	permit := e.permitted(s)
	if !permit.Allowed() || !permit.NeedsNote() {
		return permit, hold.Decision{}
	}
	return permit, hold.DecideGrant(s, permit.Note)
}

func (e *granting) decide(s plan.Snapshot, permit plan.EvictionAnswer, decision hold.Decision, shown served) {
	name := plan.PodName(e.g.zones[e.bound.zone].Name, e.bound.ordinal)
	if broken := invariant.CheckEviction(s, plan.EvictionRequest{Pod: name, UID: e.bound.uid}, permit, decision); broken != nil {
		e.violate(e.g, broken.Name, "the answer breaks it: "+broken.Detail)
		return
	}
	switch {
	case !permit.Allowed():
		e.refuse(permit)
		return
	case !permit.NeedsNote():
		e.answer(answer{yes: true, shown: shown})
		return
	}
	e.story(e.g, e.name, "grants the eviction of", name, "and writes", (*spelled)(&decision.Record))
	e.writeLease(e.g, decision.Record, func(err error) {
		if reason.ClassOf(err) == reason.Moved {
			e.attempt()
			return
		}
		e.answer(answer{yes: err == nil, shown: shown})
	})
}

func (e *granting) refuse(permit plan.EvictionAnswer) {
	e.report.Refusals++
	e.queue(e.g, permit.Place, permit.Because, func() { e.answer(answer{}) })
}

func (e *granting) answer(with answer) {
	e.leave()
	e.done(with)
}
