package pools

import (
	"fmt"
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
	by      int // the process that reviews it
	ask     plan.EvictionRequest
	version plan.Version // of the pod, if it was down when the eviction was bound to it
	until   time.Time    // then the API server gives the request up
	read    liveRead
	doing   string // what the process has seen and decided
	said    plan.EvictionAnswer
	steps   []func(*eviction, *process)
}

// evicts makes a client evict a pod, mostly one that serves.
func (f *faults) evicts(s *server, p *process) {
	serving := !f.oneIn(20)
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(s.pods)), func(name string) bool {
		pod := s.pods[name]
		return serving && !serves(&pod)
	})
	if len(names) == 0 {
		return
	}
	s.review(s.pods[names[f.IntN(len(names))]], p)
}

// review makes a process review the eviction of a pod. The eviction is bound to the pod as it is now.
func (s *server) review(pod pool.Pod, p *process) *eviction {
	e := &eviction{by: p.no, ask: plan.EvictionRequest{Pod: pod.Name, UID: pod.UID}, until: s.now.Add(plan.RequestLimit)}
	if !pod.Up() && pod.Phase != plan.Terminating {
		e.version = pod.Version
	}
	s.log("a client evicts %s at %d, %s reviews it", pod.Name, e.version, p.name)
	e.steps = []func(*eviction, *process){(*eviction).review}
	s.evictions = append(s.evictions, e)
	return e
}

// step does the next step of a review. A process that has restarted, or a request that takes too long, reviews nothing.
func (e *eviction) step(s *server) {
	next := e.steps[0]
	e.steps = e.steps[1:]
	if s.now.Before(e.until) {
		next(e, s.processes[e.by])
	} else {
		e.steps = nil
	}
}

func (e *eviction) review(p *process) {
	seen := p.cached()
	answer, decision := e.judge(p, &seen)
	behind := decision.Need == hold.Write && p.known.Missing(seen.Shown()) != ""
	if decision.Need != hold.ReadLive && !behind {
		e.answer(p, seen, answer, decision)
		return
	}
	for part := range partsOfLiveRead {
		e.steps = append(e.steps, func(e *eviction, p *process) {
			if live, complete := p.readLive(part, &e.read); complete {
				answer, decision := e.judge(p, &live)
				e.answer(p, live, answer, decision)
			}
		})
	}
}

// judge calls the real planner and the real rules of the hold.
func (e *eviction) judge(p *process, seen *pool.Snapshot) (plan.EvictionAnswer, hold.Decision) {
	answer, decision := pool.OutlookOf(*seen).Evict(e.ask), hold.Decision{}
	if answer.NeedsRecord() {
		decision = hold.DecideGrant(seen, answer.Record)
	}
	if broken := pools.CheckEviction(*seen, e.ask, answer, decision); broken != nil {
		p.server.history.breaks("%v", broken)
	}
	return answer, decision
}

// answer records a grant, or the place of the client in the queue, and allows the eviction.
func (e *eviction) answer(p *process, seen pool.Snapshot, answer plan.EvictionAnswer, decision hold.Decision) {
	if e.said = answer; p.server.exploring {
		e.doing = fmt.Sprintf("%+v %+v %+v", withoutFunctions(seen), answer, decision)
	}
	switch {
	case !answer.Allowed():
		if record, changes := hold.Enqueued(seen.Record(), answer.Place); answer.Place.Zone != "" && changes {
			e.steps = []func(*eviction, *process){func(_ *eviction, p *process) { p.writeLease(&seen, hold.Decision{Need: hold.Write, Record: record}) }}
		}
	case !answer.NeedsRecord():
		if answer.Version != 0 && e.version != answer.Version {
			return // the pod was up when the eviction was bound to it, or has changed
		}
		e.carriedOut(p, &seen)
	case e.version == 0 || e.version >= answer.Record.Version:
		e.steps = []func(*eviction, *process){func(e *eviction, p *process) {
			if p.writeLease(&seen, decision) {
				e.carriedOut(p, &seen)
			}
		}}
	}
}

// carriedOut makes the API server carry an allowed eviction out, now or later, or never.
func (e *eviction) carriedOut(by *process, seen *pool.Snapshot) {
	ask, version, f := e.ask, e.version, by.server.faults
	apply := func(p *process) {
		s := p.server
		pod, exists := s.pods[ask.Pod]
		if !exists || pod.UID != ask.UID || version != 0 && pod.Version != version || pod.Phase == plan.Terminating {
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
		by.server.late = append(by.server.late, lateRequest{e.until, by.no, "eviction of " + ask.UID, apply})
	default:
		apply(by)
	}
}
