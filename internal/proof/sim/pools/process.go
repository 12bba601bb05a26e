package pools

import (
	"fmt"
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
	no     int // its index among the processes of the server
	name   string
	server *server

	// What it sees: the versions that its watches have reached.
	objects, pods, claims, leases plan.Version

	known freshness.Known
	lease plan.Record            // the newest that it knows
	own   bool                   // it wrote that
	ages  map[recorded]time.Time // since when it knows of an intent
	taken map[pool.ID]bool       // identities of which it could not create a claim, because another object has it
	found pool.Orphans           // what its last look for orphans has shown

	steps    []step // of the reconcile that it is in
	attempt  attempt
	deferred bool // it has put a live read off
}

// step is a step of a process. It keeps nothing that changes, so that a copy of the process can take it as well.
type step func(*process)

// attempt is what a reconcile has come to.
type attempt struct {
	doing     string // what it has seen and decided
	read      liveRead
	confirmed bool // the object still asks for the same
	held      bool // the Lease has been written, if it has to be
	stopped   int  // the number of the action whose request failed last; 0: none
}

// liveRead is a live read in progress.
type liveRead struct{ objects, claims plan.Version }

// recorded identifies an intent. A second intent for the same pod is a different one.
type recorded struct {
	uid     string
	version plan.Version
	since   time.Time
}

// restart makes a process that knows nothing but what its caches show, which may be old.
func (p *process) restart() {
	p.server.log("%s restarts", p.name)
	p.known, p.lease, p.own, p.ages, p.taken, p.found, p.steps, p.attempt, p.deferred = freshness.Known{}, plan.Record{}, false, map[recorded]time.Time{}, map[pool.ID]bool{}, pool.Orphans{}, nil, attempt{}, false
	p.server.evictions = slices.DeleteFunc(p.server.evictions, func(e *eviction) bool { return e.by == p.no })
	f := p.server.faults
	p.leases = f.between(1, p.server.version)
	p.objects, p.pods, p.claims = f.between(1, p.server.version), f.between(1, p.server.version), f.between(1, p.server.version)
}

// step does the next step of a reconcile, or begins one.
func (p *process) step() {
	if len(p.steps) == 0 {
		p.reconcile()
		return
	}
	next := p.steps[0]
	p.steps = p.steps[1:]
	next(p)
}

// cached returns what the caches show.
func (p *process) cached() pool.Snapshot {
	s := p.server.snapshot(p.objects, p.pods, p.claims, false)
	seen := p.server.past[p.leases].lease
	if seen.Version > p.lease.Version || !p.lease.Exists {
		p.lease, p.own = seen, false
	}
	s.Hold, s.Part, s.Taken, s.Orphans = p.held(), pool.PartOf(p.lease.Part), p.taken, p.found
	return s
}

// held returns the newest hold that the process knows, with how long it has known each intent.
func (p *process) held() plan.Hold {
	held, ages := p.lease.Hold, map[recorded]time.Time{}
	held.Own, held.Intents = p.own, slices.Clone(held.Intents)
	if held.Unreadable != "" {
		held.Intents = nil
	}
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
	if !slices.ContainsFunc(steps, pool.TakesPlace) {
		p.decideOnCaches(began, seen, steps, decision, true)
		return
	}
	p.steps = append(p.steps, func(p *process) {
		p.decideOnCaches(began, seen, steps, decision, p.server.lease.Version == seen.Hold.Version)
	})
}

// decideOnCaches appends the steps of a plan on caches, or of a live read and the places that are filled before it. No new identity takes a
// place if the hold has changed since.
func (p *process) decideOnCaches(began time.Time, seen pool.Snapshot, steps []plan.Action, decision hold.Decision, sameHold bool) {
	if decision.Need != hold.ReadLive && sameHold {
		p.carryOut(began, seen, steps, decision)
		return
	}
	fills := pool.FillingPlaces(steps)
	if !sameHold {
		fills = slices.DeleteFunc(fills, pool.TakesPlace)
	}
	if len(fills) == 0 {
		p.decideOnLiveRead()
		return
	}
	p.begin(began, seen, fills, hold.Decision{})
	for n, a := range fills {
		p.steps = append(p.steps, requests(&seen, a, n+1, func(*process) bool { return true })...)
	}
	p.steps = append(p.steps, func(p *process) {
		if creates := len(plan.Only[pool.CreatePods](fills)) > 0; creates && p.attempt.stopped == 0 && !p.deferred {
			p.deferred = true
			p.reportCurrent(seen, steps)
			return
		}
		p.decideOnLiveRead()
	})
}

// decideOnLiveRead appends the steps of a live read, after which the process plans again. Places that it failed to fill are not tried
// again.
func (p *process) decideOnLiveRead() {
	p.deferred = false
	began := p.server.now
	for part := range partsOfLiveRead {
		p.steps = append(p.steps, func(p *process) {
			if live, complete := p.readLive(part, &p.attempt.read); complete {
				steps := pool.Plan(live)
				if p.attempt.stopped > 0 {
					steps = slices.DeleteFunc(steps, pool.FillsPlace)
				}
				p.plans("plans live", live, steps)
				p.carryOut(began, live, steps, hold.Decide(&live, steps))
			}
		})
	}
}

const partsOfLiveRead = 4

// readLive does a part of a live read, in the order of internal/cluster/pools.
func (p *process) readLive(part int, read *liveRead) (live pool.Snapshot, complete bool) {
	switch part {
	case 0:
		p.lease, p.own = p.server.lease, p.own && p.server.lease.Version == p.lease.Version
	case 1:
		read.claims = p.server.version
	case 2:
		read.objects = p.server.version
	default:
		live = p.server.snapshot(read.objects, p.server.version, read.claims, true)
		if p.server.lease.Version != p.lease.Version {
			return pool.Snapshot{}, false // it is made again in the next turn
		}
		live.Hold, live.Part, live.Taken, live.Orphans, live.Unlabelled = p.held(), pool.PartOf(p.lease.Part), p.taken, p.found, p.server.unlabelled(&live)
		p.known.ReadLive(live.Shown())
		return live, true
	}
	return pool.Snapshot{}, false
}

func (p *process) plans(how string, seen pool.Snapshot, steps []plan.Action) {
	if len(steps) > 0 {
		p.server.log("%s %s at objects %d, pods %d, claims %d, Lease %d: %s", p.name, how, seen.ObjectsAt, seen.PodsAt, seen.ClaimsAt, seen.Hold.Version, strings.ReplaceAll(plan.Notation(steps), "\n", "; "))
	}
}

// begin begins to carry a plan out.
func (p *process) begin(began time.Time, seen pool.Snapshot, steps []plan.Action, decision hold.Decision) {
	if broken := pools.Check(seen, steps, decision); broken != nil {
		p.server.history.breaks("%v", broken)
	}
	if p.server.plans != nil {
		p.server.plans(steps)
	}
	p.attempt = attempt{confirmed: true, held: true}
	if p.server.exploring {
		p.attempt.doing = fmt.Sprintf("%v %+v %+v %+v", began, withoutFunctions(seen), steps, decision)
	}
}

// carryOut appends the steps of the executor, in its order.
func (p *process) carryOut(began time.Time, seen pool.Snapshot, steps []plan.Action, decision hold.Decision) {
	decision.Record.Rollouts = p.server.traced(decision.Record.Rollouts)
	p.begin(began, seen, steps, decision)
	until, actions := began.Add(hold.ConfirmedFor), 0
	if decision.Verify {
		p.steps = append(p.steps, func(p *process) {
			now := &p.server.object
			p.attempt.confirmed = now.UID == seen.Object.UID && now.Deleting == seen.Object.Deleting && now.Replicas == seen.Object.Replicas && now.Hash == seen.Object.Hash && now.Paused == seen.Object.Paused && now.PausedUntil == seen.Object.PausedUntil
		})
	}
	send := func(order plan.Order, may func(*process) bool) {
		for _, a := range plan.In(order, steps) {
			actions++
			p.steps = append(p.steps, requests(&seen, a, actions, may)...)
		}
	}
	confirmed := func(p *process) bool { return p.attempt.confirmed }
	held := func(p *process) bool { return p.attempt.confirmed && p.attempt.held }
	send(plan.BeforeLease, confirmed)
	switch decision.Need {
	case hold.Write, hold.Remove, hold.Label:
		p.steps = append(p.steps, func(p *process) { p.attempt.held = p.attempt.confirmed && p.writeLease(&seen, decision) })
	case hold.Carry, hold.ReadLive:
	}
	send(plan.Disrupting, func(p *process) bool { return held(p) && p.server.now.Before(until) })
	send(plan.UnderHold, held)
	send(plan.WithoutHold, confirmed)
	p.reportCurrent(seen, steps)
}

// reportCurrent appends the write of the status, if it names another revision than the plan.
func (p *process) reportCurrent(seen pool.Snapshot, steps []plan.Action) {
	if current := pool.Describe(seen, steps).Current; seen.Object.Exists() && current != seen.Object.Current {
		p.steps = append(p.steps, func(p *process) { p.writeStatus(seen.Object.UID, seen.Object.Version, current) })
	}
}

// writeStatus writes the revision that pods had before the newest one, if the object is still at the version that the process was shown.
func (p *process) writeStatus(object string, version plan.Version, current string) {
	p.server.faults.send(p, func(p *process) bool {
		s := p.server
		if s.object.UID != object || s.object.Version != version || s.object.Current == current {
			return false
		}
		s.faults.changeObject(s, func(o *pool.Object) { o.Current = current })
		return true
	})
}

// traced returns the record of updates with the trace of the present one, and without the replacements that are over. Worlds that are explored do not contain the record,
// because no decision depends on it.
func (s *server) traced(r plan.Rollouts) plan.Rollouts {
	if s.exploring {
		return plan.Rollouts{}
	}
	if r.Current.Begun() {
		r.Current.Trace = "00-0123456789abcdef0123456789abcdef-0123456789abcdef-01"
	}
	r.Replacements = slices.DeleteFunc(slices.Clone(r.Replacements), func(one plan.Replacement) bool { return !one.Open })
	return r
}

// withoutFunctions returns a snapshot as it can be printed.
func withoutFunctions(s pool.Snapshot) pool.Snapshot {
	s.Draw = nil
	return s
}

// writeLease replaces the Lease with which the pool was observed.
func (p *process) writeLease(seen *pool.Snapshot, decision hold.Decision) bool {
	written := p.server.faults.send(p, func(p *process) bool {
		s := p.server
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
	p.lease, p.own = p.server.lease, written && decision.Record.Own // after an error it reads the Lease again
	return written
}
