package walk

import (
	"fmt"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
)

// endFaults ends all faults, and every user action that prevents a group from reaching its goal.
func (w *walk) endFaults() {
	w.traceAll("faults end")
	w.badNetworkUntil, w.slowUntil, w.waitingSteps = 0, 0, nil
	for _, p := range w.processes {
		p.asleepUntil = 0
		w.setClock(p, 0, 1)
		if p != w.elected {
			p.resign()
		}
	}
	for _, g := range w.groups {
		w.releaseHold(g)
		w.endAbsences(g)
		for n := range g.zones {
			w.repairTemplate(g, n)
			w.resume(g, n)
		}
	}
	w.after(time.Second, w.checkGoals)
}

// checkGoals checks whether every group has reached its goal.
func (w *walk) checkGoals() {
	if w.elected.dead {
		w.elect(w.elected)
	}
	w.elected.lead()
	for _, g := range w.groups {
		if why := g.unfinished(); why != "" {
			if w.now > w.schedule.FaultsEnd+goalTimeout {
				w.report.GoalsMissed++
				w.violate(g, "Progress", why)
				return
			}
			w.after(10*time.Second, w.checkGoals)
			return
		}
	}
	w.report.Goals += len(w.groups)
	w.after(2*time.Minute, w.checkQuiet)
}

// checkQuiet checks that at the goal no process plans and no process writes.
func (w *walk) checkQuiet() {
	written, planned := w.report.Actions[writes], w.report.Plans
	w.after(10*time.Minute, func() {
		for _, g := range w.groups {
			if why := g.unfinished(); why != "" {
				w.violate(g, "Progress", "the group has left its goal: "+why)
			}
		}
		written, planned := w.report.Actions[writes]-written, w.report.Plans-planned
		if written+planned > 0 {
			w.violate(nil, "Quiet", fmt.Sprintf("%d plans and %d writes at the goal", planned, written))
		}
		w.agenda = agenda{}
	})
}

// unfinished returns why a group is not at its goal; "" if it is.
func (g *simulatedGroup) unfinished() string {
	switch {
	case g.pendingRequests > 0:
		return "a user request is pending"
	case g.lease != nil && (!g.lease.Holder.Free() || len(g.lease.Intents) > 0 || !g.lease.Downscale.None()):
		return (*holdText)(g.lease).String()
	}
	if !g.remembersAll() {
		return "not all zones are remembered"
	}
	for n, z := range g.zones {
		switch {
		case !z.Observed || z.UpdateRevision != z.template || z.CurrentRevision != z.template:
			return z.Name + " is not at its template"
		case z.Forced.Given && z.Replicas != z.Forced.Replicas, z.Leader != "" && !z.Forced.Given && z.Replicas != g.zones[0].Replicas:
			return z.Name + " does not have the replicas that it should have"
		}
		for ordinal, p := range g.pods[n] {
			wanted := g.wanted(n, ordinal)
			if wanted != (p != nil) || (wanted && (!p.Up() || p.Revision != z.template)) {
				return plan.PodName(z.Name, ordinal) + " is missing, surplus, not up or outdated"
			}
		}
	}
	return ""
}
