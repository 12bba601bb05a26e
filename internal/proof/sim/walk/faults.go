package walk

import "time"

// disturb changes a pod without lockstep.
func (w *walk) disturb(s Step, g *simulatedGroup) {
	p := g.pods[s.Zone][s.Value]
	switch {
	case p == nil:
	case s.Kind == Churn:
		w.report.Faults[podsTouched]++
		w.churn(g, s.Zone, s.Value)
	case !p.Up():
	case s.Kind == Crash:
		w.report.Faults[podsCrash]++
		w.crash(g, s.Zone, s.Value)
	default:
		w.report.Faults[podsLost]++
		w.leave(g, s.Zone, s.Value, "somebody else deletes")
	}
}

// upset disturbs a process, or the environment of all processes.
func (w *walk) upset(s Step, p *process) {
	until := min(w.now+s.Lasts, w.schedule.Ends)
	switch s.Kind {
	case Kill:
		w.kill(p, until-w.now, s.Value)
	case Sleep:
		w.report.Faults[processesSleep]++
		p.asleep = max(p.asleep, until)
		if p == w.elected && s.Lasts > 10*time.Second {
			w.elect(p)
		}
	case Lead:
		w.elect(w.elected)
	case Stick:
		w.report.Faults[watchesStuck]++
		p.watches[s.Value%int(kinds)].stuck = until
	case Network:
		w.network = max(w.network, until)
	case Slow:
		w.report.Faults[controllersSlow]++
		w.slowness = max(w.slowness, until)
	case Clock:
		w.jump(p, s.Value)
	default: // not about processes
	}
}

// kill ends a process. It restarts with the caches of now, of an earlier time or of the
// beginning.
func (w *walk) kill(p *process, lasts time.Duration, how int) {
	if p.dead {
		return
	}
	w.report.Faults[processesDie]++
	p.dead = true
	p.life++
	w.abandon(p.living)
	if p == w.elected {
		w.elect(p)
	}
	var shown [kinds]int
	for k := range kinds {
		shown[k] = len(w.logs[k])
	}
	if how%2 == 0 {
		w.report.Faults[startsWithOldCaches]++
		for k := range kinds {
			first := w.first(k)
			if how%4 == 0 {
				first = w.chance.IntN(shown[k]-first+1) + first
			}
			shown[k] = first
		}
	}
	w.after(lasts, func() {
		w.tell(p.name, "begins again")
		p.begin(shown)
		if p == w.elected {
			p.lead()
		}
	})
}

// first returns the length of a log after all groups were created.
func (w *walk) first(k kind) int {
	if k == ofLeases {
		return 0
	}
	n := 0
	for _, s := range w.schedule.Groups {
		n += s.Zones
		if k == ofPods {
			n += s.Zones * (s.Replicas - 1)
		}
	}
	return n
}

// elect elects another process as the leader. The former leader observes that later.
func (w *walk) elect(former *process) {
	var others []*process
	for _, p := range w.processes {
		if p != former && !p.dead && p.asleep <= w.now {
			others = append(others, p)
		}
	}
	if len(others) == 0 {
		return
	}
	next := others[w.chance.IntN(len(others))]
	w.elected = next
	if former == nil {
		next.lead()
		return
	}
	w.report.Faults[leadershipMoves]++
	next.after(w.between(time.Second, 17*time.Second), func() {
		if w.elected == next {
			next.lead()
		}
	})
	former.after(w.between(0, 20*time.Second), func() {
		if w.elected != former {
			former.resign()
		}
	})
}
