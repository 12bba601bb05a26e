package pools

import (
	"slices"
	"strings"
	"time"

	"github.com/lockstep-dev/lockstep/internal/lock/freshness"
	"github.com/lockstep-dev/lockstep/internal/lock/hold"
	"github.com/lockstep-dev/lockstep/internal/lock/invariant/pools"
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
	lease plan.Record            // the newest that it knows
	own   bool                   // it wrote that
	ages  map[recorded]time.Time // since when it knows of an intent

	steps []func() // of the reconcile that it is in
}

// recorded identifies an intent. A second intent for the same pod is a different one.
type recorded struct {
	uid     string
	version plan.Version
	since   time.Time
}

// restart makes a process that knows nothing but what its caches show, which may be old.
func (p *process) restart() {
	p.server.log("%s restarts", p.name)
	p.known, p.lease, p.own, p.ages, p.steps = freshness.Known{}, plan.Record{}, false, map[recorded]time.Time{}, nil
	p.server.evictions = slices.DeleteFunc(p.server.evictions, func(e *eviction) bool { return e.process == p })
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
	s.Hold = p.held()
	return s
}

// held returns the newest hold that the process knows, with how long it has known each intent.
func (p *process) held() plan.Hold {
	held, ages := p.lease.Hold, map[recorded]time.Time{}
	held.Own, held.Intents = p.own, slices.Clone(held.Intents)
	for n, i := range held.Intents {
		this := recorded{i.UID, i.Version, i.Since}
		since, known := p.ages[this]
		if !known {
			since = p.server.now
		}
		ages[this] = since
		held.Intents[n].Known = p.server.now.Sub(since)
	}
	p.ages = ages
	return held
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
	p.steps = p.readLive(func(live pool.Snapshot) {
		steps := pool.Plan(live)
		p.plans("plans live", live, steps)
		p.carryOut(began, live, steps, hold.Decide(&live, steps))
	})
}

// readLive returns the steps of a live read, in the order of internal/cluster/pools.
func (p *process) readLive(then func(pool.Snapshot)) []func() {
	var objects, claims plan.Version
	return []func(){
		func() { p.lease, p.own = p.server.lease, p.own && p.server.lease.Version == p.lease.Version },
		func() { objects = p.server.version },
		func() { claims = p.server.version },
		func() {
			live := p.server.snapshot(objects, p.server.version, claims, true)
			live.Hold = p.held()
			p.known.ReadLive(live.Shown())
			then(live)
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
	if broken := pools.Check(seen, steps, decision); broken != nil {
		p.server.history.breaks("%v", broken)
	}
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
