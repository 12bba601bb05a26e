package pools

import (
	"strings"
	"time"

	"github.com/lockstep-dev/lockstep/internal/lock/freshness"
	"github.com/lockstep-dev/lockstep/internal/lock/hold"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/pool"
)

// process is a process of lockstep that believes to lead. It does one step at a time, and anything may happen between two.
type process struct {
	name   string
	server *server
	faults *faults

	// What it sees: the versions that its watches have reached.
	objects, pods, claims, leases plan.Version

	known freshness.Known
	lease plan.Record // the newest that it knows
	own   bool        // it wrote that

	steps []func() // of the reconcile that it is in
}

// restart makes a process that knows nothing but what its caches show, which may be old.
func (p *process) restart() {
	p.server.log("%s restarts", p.name)
	p.known, p.lease, p.own, p.steps = freshness.Known{}, plan.Record{}, false, nil
	p.leases = p.faults.between(1, p.server.version)
	p.objects, p.pods, p.claims = p.faults.between(1, p.server.version), p.faults.between(1, p.server.version), p.faults.between(1, p.server.version)
}

// step does the next step of a reconcile, or begins one.
func (p *process) step() {
	if len(p.steps) == 0 {
		p.reconcile()
		return
	}
	next := p.steps[0]
	p.steps = p.steps[1:]
	next()
}

// cached returns what the caches show.
func (p *process) cached() pool.Snapshot {
	s := p.server.snapshot(p.objects, p.pods, p.claims, false)
	seen := p.server.past[p.leases].lease
	if seen.Version > p.lease.Version || !p.lease.Exists {
		p.lease, p.own = seen, false
	}
	s.Hold = p.lease.Hold
	s.Hold.Own = p.own
	return s
}

func (p *process) reconcile() {
	seen := p.cached()
	if p.known.Missing(seen.Shown()) != "" {
		return
	}
	began := p.server.now
	steps := pool.Plan(seen)
	decision := hold.Decide(&seen, steps)
	p.plans("plans", seen, steps)
	if decision.Need != hold.ReadLive {
		p.carryOut(began, seen, steps, decision)
		return
	}
	var objects, claims plan.Version
	p.steps = []func(){
		func() { p.lease, p.own = p.server.lease, p.own && p.server.lease.Version == p.lease.Version },
		func() { objects = p.server.version },
		func() { claims = p.server.version },
		func() {
			live := p.server.snapshot(objects, p.server.version, claims, true)
			live.Hold = p.lease.Hold
			live.Hold.Own = p.own
			p.known.ReadLive(live.Shown())
			steps := pool.Plan(live)
			p.plans("plans live", live, steps)
			p.carryOut(began, live, steps, hold.Decide(&live, steps))
		},
	}
}

func (p *process) plans(how string, seen pool.Snapshot, steps []plan.Action) {
	if len(steps) > 0 {
		p.server.log("%s %s at objects %d, pods %d, claims %d, Lease %d: %s", p.name, how, seen.ObjectsAt, seen.PodsAt, seen.ClaimsAt, seen.Hold.Version, strings.ReplaceAll(plan.Notation(steps), "\n", "; "))
	}
}

// carryOut appends the steps of the executor, in its order.
func (p *process) carryOut(began time.Time, seen pool.Snapshot, steps []plan.Action, decision hold.Decision) {
	confirmed, until := true, began.Add(hold.ConfirmedFor)
	if decision.Verify {
		p.steps = append(p.steps, func() {
			now := &p.server.object
			confirmed = now.Replicas == seen.Object.Replicas && now.Hash == seen.Object.Hash && now.Paused == seen.Object.Paused
		})
	}
	for _, a := range plan.In(plan.BeforeLease, steps) {
		p.steps = append(p.steps, p.requests(&seen, a, func() bool { return confirmed })...)
	}
	held := true
	switch decision.Need {
	case hold.Write, hold.Remove, hold.Label:
		p.steps = append(p.steps, func() { held = confirmed && p.writeLease(&seen, decision) })
	case hold.Carry, hold.ReadLive:
	}
	mayDisrupt := func() bool { return confirmed && held && p.server.now.Before(until) }
	for _, a := range plan.In(plan.Disrupting, steps) {
		p.steps = append(p.steps, p.requests(&seen, a, mayDisrupt)...)
	}
	for _, a := range plan.In(plan.UnderHold, steps) {
		p.steps = append(p.steps, p.requests(&seen, a, func() bool { return confirmed && held })...)
	}
	for _, a := range plan.In(plan.WithoutHold, steps) {
		p.steps = append(p.steps, p.requests(&seen, a, func() bool { return confirmed })...)
	}
}

// writeLease replaces the Lease with which the pool was observed.
func (p *process) writeLease(seen *pool.Snapshot, decision hold.Decision) bool {
	s := p.server
	written := p.faults.send(s, func() bool {
		if s.lease.Exists != (seen.Hold.UID != "") || s.lease.Version != seen.Hold.Version {
			return false
		}
		version := s.next()
		switch decision.Need {
		case hold.Remove:
			s.lease = plan.Record{}
		case hold.Write:
			s.lease = decision.Record
			s.lease.Exists, s.lease.UID, s.lease.Version, s.lease.Own = true, "lease", version, false
		case hold.Carry, hold.ReadLive, hold.Label:
		}
		s.commit()
		s.log("%s writes the Lease: %q with %d intents", p.name, s.lease.Holder, len(s.lease.Intents))
		return true
	})
	p.lease, p.own = s.lease, written && decision.Record.Own // after an error it reads the Lease again
	return written
}
