package main

import (
	"slices"
	"strings"
	"time"

	"github.com/lockstep-dev/lockstep/integration-tests/faultproxy"
	"github.com/lockstep-dev/lockstep/integration-tests/judge"
)

// windows are all times in which caches could not show in time what others did: for each
// process as its proxy has seen it, and for all while the control plane was away and until
// its own caches showed again what was written.
func (t *trial) windows() []judge.Window {
	var all []judge.Window
	for _, r := range t.replicas {
		all = append(all, r.windows()...)
		for _, a := range t.ground.absencesSince(t.began) {
			heard := ended(a.heard)
			if late := ended(a.heardLate); r.lag(late) > 0 {
				heard = late
			}
			all = append(all, judge.Window{From: a.from, To: heard, Agent: r.agent()})
		}
	}
	return all
}

func ended(at time.Time) time.Time {
	if at.IsZero() {
		return time.Now()
	}
	return at
}

// agent is how audit logs tell one replica's requests from the other's.
func (r *replica) agent() string { return "(" + ordinals[r.number] + " " }

// judged are the resources by which operators are judged.
var judged = []string{"pods", "statefulsets"}

// windows are the times in which a replica's caches could not show in time what others
// did: while it had no watch of pods or StatefulSets, and as far as what watches tell is
// late. A process begins with what it lists then.
func (r *replica) windows() []judge.Window {
	var all []judge.Window
	for _, resource := range judged {
		w := judge.Window{From: r.trial.began, To: time.Now(), Delay: r.late(resource), Agent: r.agent(), Resource: resource}
		if w.Delay > 0 {
			all = append(all, w)
		}
		if since := r.lagsSince(); !since.IsZero() {
			w.From, w.Delay = since.Add(-lag), lag+w.Delay
			all = append(all, w)
		}
	}
	for _, g := range r.proxy.Unheard() {
		if slices.Contains(judged, g.Resource) {
			late := r.late(g.Resource)
			all = append(all, r.unheard(judge.Window{From: g.From.Add(-late), To: g.To.Add(late + r.lag(g.To)), Resource: g.Resource})...)
		}
	}
	return all
}

// unheard divides a window among the processes that lived in it.
func (r *replica) unheard(w judge.Window) []judge.Window {
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

// delays are the requests of all operators that were on their way for long, and the times
// in which an operator itself was stopped.
func (t *trial) delays() []judge.Delay {
	t.mu.Lock()
	all := append([]judge.Delay(nil), t.stopped...)
	t.mu.Unlock()
	for _, r := range t.replicas {
		for _, d := range r.proxy.Delays() {
			all = append(all, judge.Delay{
				Request: judge.Request{Agent: "(" + d.Agent + ")", Verb: verbOf(d.Request), Resource: d.Resource, Name: d.Name},
				Group:   t.plan.groupOf(d.Request), From: d.From, To: d.To, AbandonedAt: d.From.Add(r.patience()),
			})
		}
	}
	return all
}

// patience is for how long a replica waits for an answer, by its own timers.
func (r *replica) patience() time.Duration {
	for _, f := range r.trial.plan.faults {
		if f.clocks != nil && f.befalls(r.number) {
			return faultproxy.Patience * 1000 / time.Duration(f.clocks[r.number].steady)
		}
	}
	return faultproxy.Patience
}

// verbOf says it as audit logs do.
func verbOf(q faultproxy.Request) string {
	if q.Method == "GET" && q.Name == "" {
		return "list"
	}
	return map[string]string{"GET": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}[q.Method]
}

// groupOf is the group that a request is about; empty: that cannot be told.
func (p plan) groupOf(q faultproxy.Request) string {
	for _, g := range p.groups {
		moves := func(f fault) bool { return f.elsewhere == g.name }
		if slices.ContainsFunc(p.faults, moves) {
			continue
		}
		if strings.Contains(q.Name, g.name) || strings.Contains(q.Selector, g.name) {
			return g.name
		}
	}
	return ""
}

// late is how late a replica's watches of a resource tell.
func (r *replica) late(resource string) time.Duration {
	longest := time.Duration(0)
	for _, f := range r.trial.plan.faults {
		if f.befalls(r.number) {
			longest = max(longest, f.late[resource])
		}
	}
	return longest
}

// seesAloneLate reports whether a replica sees one resource late by seconds, and no other.
func (p plan) seesAloneLate(replica int) bool {
	return slices.ContainsFunc(p.faults, func(f fault) bool { return f.alone && f.befalls(replica) })
}

// lags notes that from now on caches are filled by the API server that lags.
func (r *replica) lags() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stale = time.Now()
}

func (r *replica) lagsSince() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stale
}

// lag is how far behind a replica's API server for caches was at a time.
func (r *replica) lag(at time.Time) time.Duration {
	if since := r.lagsSince(); since.IsZero() || at.Before(since) {
		return 0
	}
	return lag
}
