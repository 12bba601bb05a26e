package pools

import (
	"maps"
	"slices"
	"time"

	"github.com/lockstep-dev/lockstep/internal/lock/hold"
	"github.com/lockstep-dev/lockstep/internal/lock/invariant/pools"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/pool"
)

// eviction is a request of a client that a process reviews, one step at a time. It does what the webhook pod-eviction does.
type eviction struct {
	process *process
	ask     plan.EvictionRequest
	version plan.Version // of the pod, if it was down when the eviction was bound to it
	until   time.Time    // then the API server gives the request up
	steps   []func()
}

// evicts makes a client evict a pod, mostly one that serves. The eviction is bound to the pod as it is now.
func (f *faults) evicts(s *server, p *process) {
	serving := !f.oneIn(20)
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(s.pods)), func(name string) bool {
		pod := s.pods[name]
		return serving && !serves(&pod)
	})
	if len(names) == 0 {
		return
	}
	pod := s.pods[names[f.IntN(len(names))]]
	e := &eviction{process: p, ask: plan.EvictionRequest{Pod: pod.Name, UID: pod.UID}, until: s.now.Add(plan.RequestLimit)}
	if !pod.Up() && pod.Phase != plan.Terminating {
		e.version = pod.Version
	}
	s.log("a client evicts %s at %d, %s reviews it", pod.Name, e.version, p.name)
	e.steps = []func(){e.review}
	s.evictions = append(s.evictions, e)
}

// step does the next step of a review. A process that has restarted, or a request that takes too long, reviews nothing.
func (e *eviction) step() {
	s := e.process.server
	next := e.steps[0]
	e.steps = e.steps[1:]
	if s.now.Before(e.until) {
		next()
	} else {
		e.steps = nil
	}
}

func (e *eviction) review() {
	p := e.process
	seen := p.cached()
	answer, decision := e.judge(&seen)
	behind := decision.Need == hold.Write && p.known.Missing(seen.Shown()) != ""
	if decision.Need != hold.ReadLive && !behind {
		e.answer(seen, answer, decision)
		return
	}
	e.steps = p.readLive(func(live pool.Snapshot) {
		answer, decision := e.judge(&live)
		e.answer(live, answer, decision)
	})
}

// judge calls the real planner and the real rules of the hold.
func (e *eviction) judge(seen *pool.Snapshot) (plan.EvictionAnswer, hold.Decision) {
	answer, decision := pool.OutlookOf(*seen).Evict(e.ask), hold.Decision{}
	if answer.NeedsRecord() {
		decision = hold.DecideGrant(seen, answer.Record)
	}
	if broken := pools.CheckEviction(*seen, e.ask, answer, decision); broken != nil {
		e.process.server.history.breaks("%v", broken)
	}
	return answer, decision
}

// answer records a grant, or the place of the client in the queue, and allows the eviction.
func (e *eviction) answer(seen pool.Snapshot, answer plan.EvictionAnswer, decision hold.Decision) {
	p := e.process
	switch {
	case !answer.Allowed():
		if record, changes := hold.Enqueued(seen.Record(), answer.Place); answer.Place.Zone != "" && changes {
			e.steps = []func(){func() { p.writeLease(&seen, hold.Decision{Need: hold.Write, Record: record}) }}
		}
	case !answer.NeedsRecord():
		if answer.Version != 0 && e.version != answer.Version {
			return // the pod was up when the eviction was bound to it, or has changed
		}
		e.carriedOut(&seen)
	case e.version == 0 || e.version >= answer.Record.Version:
		e.steps = []func(){func() {
			if p.writeLease(&seen, decision) {
				e.carriedOut(&seen)
			}
		}}
	}
}

// carriedOut makes the API server carry an allowed eviction out, now or later, or never.
func (e *eviction) carriedOut(seen *pool.Snapshot) {
	s, f := e.process.server, e.process.faults
	apply := func() {
		pod, exists := s.pods[e.ask.Pod]
		if !exists || pod.UID != e.ask.UID || e.version != 0 && pod.Version != e.version || pod.Phase == plan.Terminating {
			return
		}
		s.log("the API server evicts %s", pod.Name)
		s.history.evicted(s, &pod, seen)
		s.changePod(pod.Name, func(p *pool.Pod) { p.Disrupted = true })
		s.history.endedByOthers(s, pod.Name)
		s.terminate(pod.Name)
	}
	switch {
	case f.oneIn(4): // another webhook refuses it
	case f.oneIn(2):
		s.late = append(s.late, lateRequest{e.until, apply})
	default:
		apply()
	}
}
