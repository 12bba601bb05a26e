package walk

import "time"

// podFault crashes, deletes or updates a pod without lockstep.
func (w *walk) podFault(s Step, g *simulatedGroup) {
	p := g.pods[s.Zone][s.Value]
	switch {
	case p == nil:
	case s.Kind == UpdatePod:
		w.report.Faults[podsUpdatedByOthers]++
		w.updatePod(g, s.Zone, s.Value)
	case !p.Up():
	case s.Kind == Crash:
		w.report.Faults[podsCrash]++
		w.crashPod(g, s.Zone, s.Value)
	default:
		w.report.Faults[podsDeletedByOthers]++
		w.terminatePod(g, s.Zone, s.Value, "another client deletes")
	}
}

// processFault causes a fault of a process, or of the environment of all processes.
func (w *walk) processFault(s Step, p *process) {
	until := min(w.now+s.Duration, w.schedule.FaultsEnd)
	switch s.Kind {
	case Kill:
		w.kill(p, until-w.now, s.Value)
	case Sleep:
		w.report.Faults[processesSleep]++
		p.asleepUntil = max(p.asleepUntil, until)
		if p == w.elected && s.Duration > 10*time.Second {
			w.elect(p)
		}
	case ChangeLeader:
		w.elect(w.elected)
	case StuckWatch:
		w.report.Faults[watchesStuck]++
		p.watches[s.Value%int(allKinds)].stuckUntil = until
	case BadNetwork:
		w.badNetworkUntil = max(w.badNetworkUntil, until)
	case SlowControllers:
		w.report.Faults[controllersSlow]++
		w.slowUntil = max(w.slowUntil, until)
	case ClockJump:
		w.jumpClock(p, s.Value)
	default: // not a fault of processes
	}
}

// kill makes a process die. It restarts with the present caches, with those of an earlier time or with
// those of the start.
func (w *walk) kill(p *process, duration time.Duration, variant int) {
	if p.dead {
		return
	}
	w.report.Faults[processesDie]++
	p.dead = true
	p.incarnation++
	w.endLifetime(p.lifetime)
	if p == w.elected {
		w.elect(p)
	}
	var shown [allKinds]int
	for k := range allKinds {
		shown[k] = len(w.logs[k])
	}
	if variant%2 == 0 {
		w.report.Faults[startsWithOldCaches]++
		for k := range allKinds {
			first := w.initialLogLength(k)
			if variant%4 == 0 {
				first = w.chance.IntN(shown[k]-first+1) + first
			}
			shown[k] = first
		}
	}
	w.after(duration, func() {
		w.traceAll(p.name, "restarts")
		p.start(shown)
		if p == w.elected {
			p.lead()
		}
	})
}

// initialLogLength returns the length of a log after all groups were created.
func (w *walk) initialLogLength(k kind) int {
	if k == leaseKind {
		return 0
	}
	n := 0
	for _, s := range w.schedule.Groups {
		n += s.Zones
		if k == podKind {
			n += s.Zones * (s.Replicas - 1)
		}
	}
	return n
}

// elect elects another process as the leader. The former leader stops later.
func (w *walk) elect(former *process) {
	var others []*process
	for _, p := range w.processes {
		if p != former && !p.dead && p.asleepUntil <= w.now {
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
