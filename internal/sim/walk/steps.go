package walk

import (
	"fmt"
	"strconv"
	"time"

	"github.com/lockstep-dev/lockstep/internal/hold"
	"github.com/lockstep-dev/lockstep/internal/plan"
)

// begins lets a step happen, or lie in wait.
func (w *walk) begins(s Step) {
	if s.Waits == anytime {
		w.do(s)
		return
	}
	w.waiting = append(w.waiting, s)
}

// do lets a step happen.
func (w *walk) do(s Step) {
	w.tell(s.what())
	switch {
	case s.Kind < firstFault:
		w.report.Wishes[s.Kind]++
		w.wish(s, w.groups[s.Group])
	case s.Kind <= Churn:
		w.disturb(s, w.groups[s.Group])
	default:
		w.upset(s, w.processes[s.Group])
	}
}

func (w *walk) wish(s Step, g *group) {
	z := g.zones[s.Zone]
	switch s.Kind {
	case Template:
		w.retemplate(g, s.Zone, s.Value, false)
	case BadTemplate:
		w.retemplate(g, s.Zone, s.Value, true)
		w.after(s.Lasts, func() { w.repair(g, s.Zone) })
	case Pause:
		w.pause(s, g)
	case Resize:
		if n := g.sizable(s.Zone); n >= 0 {
			g.wishes[n]++
			w.respec(g, n, func(z *zone) { z.Replicas = 1 + s.Value%4 })
		}
	case Shrink:
		if n := g.sizable(s.Zone); n >= 0 {
			w.shrink(g, n, max(0, g.zones[n].Replicas-1-s.Value%2))
		}
	case Force:
		w.force(g, s)
	case Evict:
		if z.Replicas > 0 {
			w.drain(g, s.Zone, s.Value%z.Replicas)
		}
	case Maintain:
		w.maintain(g, s.Lasts)
	default: // no wish
	}
}

// sizable returns the zone whose size people change in place of this one; -1 where
// lockstep alone does, since it is forced.
func (g *group) sizable(n int) int {
	if g.zones[n].Leader != "" {
		n = 0
	}
	if g.forced[n] {
		return -1
	}
	return n
}

func (w *walk) retemplate(g *group, n, revision int, bad bool) {
	name := "r" + strconv.Itoa(revision)
	if bad {
		name += "-bad"
		g.bad[name] = true
	}
	if g.zones[n].template != name {
		w.respec(g, n, func(z *zone) { z.template = name })
	}
}

// repair replaces a template whose pods never become Ready.
func (w *walk) repair(g *group, n int) {
	if g.bad[g.zones[n].template] {
		w.respec(g, n, func(z *zone) { z.template += "-repaired" })
	}
}

// pause keeps a zone still until somebody ends that, or for a time.
func (w *walk) pause(s Step, g *group) {
	until := plan.Moment{}
	if s.Value%2 == 0 {
		until.Time = w.wall().Add(s.Lasts).Truncate(time.Second)
	}
	w.respec(g, s.Zone, func(z *zone) { z.Paused, z.PausedUntil = true, until })
	if until.Time.IsZero() {
		w.after(s.Lasts, func() { w.resume(g, s.Zone) })
	}
}

func (w *walk) resume(g *group, n int) {
	if g.zones[n].Paused {
		w.respec(g, n, func(z *zone) { z.Paused, z.PausedUntil = false, plan.Moment{} })
	}
}

// force lets a person demand a number of replicas, or end that.
func (w *walk) force(g *group, s Step) {
	n := s.Zone
	if g.zones[n].Leader != "" {
		n = 0
	}
	g.wishes[n]++
	g.forced[n] = s.Value > 0
	w.respec(g, n, func(z *zone) { z.Forced = plan.Force{Given: s.Value > 0, Replicas: s.Value % 4} })
}

// maintain lets somebody take the hold by hand, if it is free, and give it back later.
func (w *walk) maintain(g *group, lasts time.Duration) {
	record := plan.Hold{}
	if g.lease != nil {
		record = *g.lease
	}
	next, because := hold.Take(record, "manual/maintenance", w.wall(), lasts, false)
	if !because.None() {
		return
	}
	if _, ok := w.storeLease(nil, g, next); ok {
		w.story(g, "somebody takes the hold by hand")
		if w.chance.IntN(2) == 0 {
			w.after(w.between(0, lasts), func() { w.giveBack(g) })
		}
	}
}

func (w *walk) giveBack(g *group) {
	if g.lease == nil {
		return
	}
	if next, ok := hold.GiveBack(*g.lease, true); ok {
		w.story(g, "somebody gives the hold back")
		w.storeLease(nil, g, next)
	}
}

// disturb does something to a pod that is none of lockstep's business.
func (w *walk) disturb(s Step, g *group) {
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

// upset does something to a process, or to what surrounds all of them.
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
	default: // nothing about processes
	}
}

// kill ends a process, which begins again with the caches of now, of some time ago or of
// the very beginning.
func (w *walk) kill(p *process, lasts time.Duration, how int) {
	if p.dead {
		return
	}
	w.report.Faults[processesDie]++
	p.dead = true
	p.life++
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

// first returns how far a log goes that every group is on.
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

// elect lets another process lead than the one that does, which hears of it later.
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

// windUp gives a process a clock of its own.
func (w *walk) windUp(p *process) {
	switch {
	case w.schedule.Rules.HastyClocks:
		p.clock.steady = 3
	case !w.schedule.TrueClocks:
		p.clock.steady = slowest + (fastest-slowest)*w.chance.Float64()
		rate := []float64{0.5, 1, 2, 0.5 + 1.5*w.chance.Float64()}[w.chance.IntN(4)]
		w.setClock(p, w.between(-mostWrong/2, mostWrong/2), rate)
	}
}

// setClock sets a wall clock, and sets it again when it is too wrong.
func (w *walk) setClock(p *process, ahead time.Duration, rate float64) {
	p.clock.set, p.clock.ahead, p.clock.rate = w.now, ahead, rate
	this := p.clock
	if at, ever := this.tooWrongAt(); ever && at > w.now {
		w.agenda.add(at, func() {
			if p.clock == this && w.now < w.schedule.Ends {
				w.setClock(p, w.between(-mostWrong/2, mostWrong/2), rate)
			}
		})
	}
}

func (w *walk) jump(p *process, value int) {
	if w.schedule.TrueClocks {
		return
	}
	w.report.Faults[clocksJump]++
	w.setClock(p, time.Duration(value-500)*mostWrong/500, p.clock.rate)
}

// mend ends all faults, and everything that keeps a group from its goal on purpose.
func (w *walk) mend() {
	w.tell("faults end")
	w.network, w.slowness, w.waiting = 0, 0, nil
	for _, p := range w.processes {
		p.asleep = 0
		w.setClock(p, 0, 1)
		if p != w.elected {
			p.resign()
		}
	}
	for _, g := range w.groups {
		w.giveBack(g)
		for n := range g.zones {
			w.repair(g, n)
			w.resume(g, n)
		}
	}
	w.after(time.Second, w.audit)
}

// audit looks whether every group has got to its goal.
func (w *walk) audit() {
	if w.elected.dead {
		w.elect(w.elected)
	}
	w.elected.lead()
	for _, g := range w.groups {
		if why := g.unfinished(); why != "" {
			if w.now > w.schedule.Ends+patience {
				w.report.Missed++
				w.violate(g, "Progress", why)
				return
			}
			w.after(10*time.Second, w.audit)
			return
		}
	}
	w.report.Goals += len(w.groups)
	w.after(2*time.Minute, w.settle)
}

// settle wants silence: whoever is at the goal plans nothing and writes nothing.
func (w *walk) settle() {
	written, planned := w.report.Deeds[writes], w.report.Plans
	w.after(10*time.Minute, func() {
		for _, g := range w.groups {
			if why := g.unfinished(); why != "" {
				w.violate(g, "Progress", "the goal is left again: "+why)
			}
		}
		written, planned := w.report.Deeds[writes]-written, w.report.Plans-planned
		if written+planned > 0 {
			w.violate(nil, "Rests", fmt.Sprintf("%d plans and %d writes at the goal", planned, written))
		}
		w.agenda = agenda{}
	})
}

// unfinished says what keeps a group from its goal; "" for nothing.
func (g *group) unfinished() string {
	switch {
	case g.asking > 0:
		return "somebody still asks"
	case g.lease != nil && (!g.lease.Holder.Free() || len(g.lease.Intents) > 0 || !g.lease.Decrease.None()):
		return (*spelled)(g.lease).String()
	}
	for n, z := range g.zones {
		switch {
		case !z.Observed || z.UpdateRevision != z.template || z.CurrentRevision != z.template:
			return z.Name + " is not at its template"
		case z.Forced.Given && z.Replicas != z.Forced.Replicas, z.Leader != "" && !z.Forced.Given && z.Replicas != g.zones[0].Replicas:
			return z.Name + " has not the replicas that it should have"
		}
		for ordinal, p := range g.pods[n] {
			wanted := g.wanted(n, ordinal)
			if wanted != (p != nil) || (wanted && (!p.Up() || p.Revision != z.template)) {
				return plan.PodName(z.Name, ordinal) + " is not as it should be"
			}
		}
	}
	return ""
}
