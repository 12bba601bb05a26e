package main

import (
	"slices"
	"strings"
	"time"

	"github.com/lockstep-dev/lockstep/integration-tests/faultproxy"
	"github.com/lockstep-dev/lockstep/integration-tests/judge"
)

// staleWindows returns the periods in which caches could not show changes by others in time: for each
// process by its proxy, and for all processes while the control plane was away and until its own
// caches were up to date.
func (t *trial) staleWindows() []judge.Window {
	var all []judge.Window
	for _, r := range t.replicas {
		all = append(all, r.staleWindows()...)
		for _, a := range t.env.absencesSince(t.began) {
			recovered := endOrNow(a.cachesRecovered)
			if late := endOrNow(a.laggingRecovered); r.lag(late) > 0 {
				recovered = late
			}
			all = append(all, judge.Window{From: a.from, To: recovered, Agent: r.agent()})
		}
	}
	return all
}

func endOrNow(at time.Time) time.Time {
	if at.IsZero() {
		return time.Now()
	}
	return at
}

// agent returns the part of the user agent that identifies one replica's requests in audit logs.
func (r *replica) agent() string { return "(" + ordinals[r.number] + " " }

// judgedResources returns the resources that the judge uses.
func (p plan) judgedResources() []string {
	resources := []string{"pods", "statefulsets"}
	if p.pool != nil {
		resources = append(resources, "statefulclusters", "persistentvolumeclaims")
	}
	return resources
}

// staleWindows returns the periods in which a replica's caches could not show changes in time: while
// it had no watch of one of these kinds, and while watches were delayed. A process begins with a new
// list.
func (r *replica) staleWindows() []judge.Window {
	var all []judge.Window
	for _, resource := range r.trial.plan.judgedResources() {
		w := judge.Window{From: r.trial.began, To: time.Now(), Delay: r.watchDelay(resource), Agent: r.agent(), Resource: resource}
		if w.Delay > 0 {
			all = append(all, w)
		}
		if since := r.laggingSince(); !since.IsZero() {
			w.From, w.Delay = since.Add(-lag), lag+w.Delay
			all = append(all, w)
		}
	}
	for _, g := range r.proxy.Unheard() {
		if slices.Contains(r.trial.plan.judgedResources(), g.Resource) {
			late := r.watchDelay(g.Resource)
			all = append(all, r.splitByProcess(judge.Window{From: g.From.Add(-late), To: g.To.Add(late + r.lag(g.To)), Resource: g.Resource})...)
		}
	}
	return all
}

// splitByProcess splits a window by the processes that ran in it.
func (r *replica) splitByProcess(w judge.Window) []judge.Window {
	var all []judge.Window
	for _, l := range r.processes() {
		part := w
		part.Agent = l.agent()
		if l.from.After(w.From) {
			part.From = l.from
		}
		if !l.to.IsZero() && l.to.Before(w.To) {
			part.To = l.to
		}
		if part.From.Before(part.To) {
			all = append(all, part)
		}
	}
	return all
}

// delays returns the requests of all operators that were delayed, and the periods in which an operator
// was stopped.
func (t *trial) delays() []judge.Delay {
	t.mu.Lock()
	all := append([]judge.Delay(nil), t.stopped...)
	t.mu.Unlock()
	for _, r := range t.replicas {
		for _, d := range r.proxy.Delays() {
			all = append(all, judge.Delay{
				Request: judge.Request{Agent: "(" + d.Agent + ")", Verb: verbOf(d.Request), Resource: d.Resource, Name: d.Name},
				Group:   t.plan.groupOf(d.Request), From: d.From, To: d.To, AbandonedAt: d.From.Add(r.requestTimeout()),
			})
		}
	}
	return all
}

// requestTimeout returns how long a replica waits for an answer, by its own timers.
func (r *replica) requestTimeout() time.Duration {
	for _, f := range r.trial.plan.faults {
		if f.clocks != nil && f.affects(r.number) {
			return faultproxy.Patience * 1000 / time.Duration(f.clocks[r.number].steadyPace)
		}
	}
	return faultproxy.Patience
}

// verbOf returns the verb of a request as in audit logs.
func verbOf(q faultproxy.Request) string {
	if q.Method == "GET" && q.Name == "" {
		return "list"
	}
	return map[string]string{"GET": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}[q.Method]
}

// groupOf returns the group that a request concerns, or an empty string if that is unknown.
func (p plan) groupOf(q faultproxy.Request) string {
	if p.pool != nil && (strings.Contains(q.Name, p.pool.name) || strings.Contains(q.Selector, p.pool.name)) {
		return p.pool.name
	}
	for _, g := range p.groups {
		moves := func(f fault) bool { return f.movedGroup == g.name }
		if slices.ContainsFunc(p.faults, moves) {
			continue
		}
		if strings.Contains(q.Name, g.name) || strings.Contains(q.Selector, g.name) {
			return g.name
		}
	}
	return ""
}

// watchDelay returns the delay of a replica's watches of a resource.
func (r *replica) watchDelay(resource string) time.Duration {
	longest := time.Duration(0)
	for _, f := range r.trial.plan.faults {
		if f.affects(r.number) {
			longest = max(longest, f.watchDelays[resource])
		}
	}
	return longest
}

// hasSingleDelay reports whether a replica receives only one resource late.
func (p plan) hasSingleDelay(replica int) bool {
	return slices.ContainsFunc(p.faults, func(f fault) bool { return f.singleDelay && f.affects(replica) })
}

// setLagging records that the stale API server fills the caches from now on.
func (r *replica) setLagging() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stale = time.Now()
}

func (r *replica) laggingSince() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stale
}

// lag returns how far behind the API server of a replica's caches was at a time.
func (r *replica) lag(at time.Time) time.Duration {
	if since := r.laggingSince(); since.IsZero() || at.Before(since) {
		return 0
	}
	return lag
}
