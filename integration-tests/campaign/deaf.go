package main

import (
	"slices"
	"time"

	"github.com/lockstep-dev/lockstep/integration-tests/judge"
)

// recovering is how long an API server, or its caches, may need to go on where they
// were when a part of the control plane is back.
const recovering = 5 * time.Second

// excuse keeps a time in which operators could not know in time.
func (t *trial) excuse(w judge.Window) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.deaf = append(t.deaf, w)
}

// windows are all times in which operators could not know in time: for each of them
// as its proxy has seen them, and for both while the control plane was away.
func (t *trial) windows() []judge.Window {
	t.mu.Lock()
	all := slices.Clone(t.deaf)
	t.mu.Unlock()
	for _, r := range t.replicas {
		all = append(all, r.windows()...)
	}
	for _, a := range t.ground.absencesSince(t.began) {
		for _, r := range t.replicas {
			all = append(all, judge.Window{From: a.from, To: ended(a.to).Add(recovering + 3*r.lag(a.to)), Agent: r.agent()})
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
func (r *replica) agent() string { return "(" + ordinals[r.number] + ")" }

// windows are the times in which a replica could not know in time: while it had no
// watch of pods or StatefulSets, as far as what watches tell is late, and while a
// request of its was on its way, which rests on what was read before.
func (r *replica) windows() []judge.Window {
	var all []judge.Window
	add := func(w judge.Window) {
		w.Agent = r.agent()
		all = append(all, w)
	}
	late := r.late()
	if late > 0 {
		add(judge.Window{From: r.trial.began, To: time.Now(), Late: late})
	}
	if since := r.lagsSince(); !since.IsZero() {
		add(judge.Window{From: since.Add(-lag), To: time.Now(), Late: lag + late})
	}
	for _, g := range r.proxy.Unheard() {
		if g.Resource == "pods" || g.Resource == "statefulsets" {
			add(judge.Window{From: g.From.Add(-late), To: g.To.Add(late + r.lag(g.To))})
		}
	}
	for _, g := range r.proxy.Held() {
		add(judge.Window{From: g.From, To: g.To, Live: true})
	}
	return all
}

// late is how late a replica's watches of what is judged tell.
func (r *replica) late() time.Duration {
	longest := time.Duration(0)
	for _, f := range r.trial.plan.faults {
		if f.befalls(r.number) {
			longest = max(longest, f.late["pods"], f.late["statefulsets"])
		}
	}
	return longest
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

// grace says at how much grace a plan was judged.
type grace struct {
	Usual   float64 `json:"usual"`   // seconds, at all times
	Longer  float64 `json:"longer"`  // seconds of the plan with more, for one operator at least
	Longest float64 `json:"longest"` // seconds, of one disturbance
	Excused int     `json:"excused"` // pods that served and were taken down at more, out of all
}

func graceOf(windows []judge.Window, from, to time.Time) grace {
	g := grace{Usual: judge.DefaultGrace.Seconds()}
	slices.SortFunc(windows, func(a, b judge.Window) int { return a.From.Compare(b.From) })
	longer, reached := time.Duration(0), from
	for _, w := range windows {
		long := w.Late
		if long == 0 {
			long = w.To.Sub(w.From)
		}
		g.Longest = max(g.Longest, (long + judge.DefaultGrace).Seconds())
		begins, ends := later(w.From, reached), earlier(w.To, to)
		if ends.After(begins) {
			longer += ends.Sub(begins)
			reached = ends
		}
	}
	g.Longer = longer.Round(100 * time.Millisecond).Seconds()
	g.Longest = time.Duration(g.Longest * float64(time.Second)).Round(100 * time.Millisecond).Seconds()
	return g
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
