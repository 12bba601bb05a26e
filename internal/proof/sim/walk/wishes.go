package walk

import (
	"strconv"
	"time"

	"github.com/lockstep-dev/lockstep/internal/lock/hold"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
)

func (w *walk) wish(s Step, g *simulatedGroup) {
	z := g.zones[s.Zone]
	switch s.Kind {
	case Template:
		w.retemplate(g, s.Zone, s.Value, false)
	case BadTemplate:
		w.retemplate(g, s.Zone, s.Value, true)
		w.after(s.Lasts, func() { w.repair(g, s.Zone) })
	case Pause:
		w.pause(s, g)
	case Stop:
		w.stop(s, g)
	case Resize:
		if n := g.sizable(s.Zone); n >= 0 {
			g.wishes[n]++
			w.respec(g, n, func(z *zone) { z.Replicas = 1 + s.Value%4*g.ordinals()/mostPods })
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
	case Orphan:
		w.leaves(g, s.Zone, orphaned, s)
	case Unlabel:
		w.leaves(g, s.Zone, unlabelled, s)
	case Stranger, Adoptee:
		w.claim(g, s)
	default: // not a user action
	}
}

// sizable returns the zone whose replicas users change instead of this one's; -1 if only
// lockstep sets them because they are forced.
func (g *simulatedGroup) sizable(n int) int {
	if g.zones[n].Leader != "" {
		n = 0
	}
	if g.forced[n] {
		return -1
	}
	return n
}

func (w *walk) retemplate(g *simulatedGroup, n, revision int, bad bool) {
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
func (w *walk) repair(g *simulatedGroup, n int) {
	if g.bad[g.zones[n].template] {
		w.respec(g, n, func(z *zone) { z.template += "-repaired" })
	}
}

// pause pauses a zone until a user ends the pause, or for a time.
func (w *walk) pause(s Step, g *simulatedGroup) {
	until := group.Moment{}
	if s.Value%2 == 0 {
		until.Time = w.wall().Add(s.Lasts).Truncate(time.Second)
	}
	w.respec(g, s.Zone, func(z *zone) { z.Paused, z.PausedUntil = true, until })
	if until.Time.IsZero() {
		w.after(s.Lasts, func() { w.resume(g, s.Zone) })
	}
}

// stop pauses a zone for a time, and lets no watch show changes of StatefulSets meanwhile.
func (w *walk) stop(s Step, g *simulatedGroup) {
	for _, p := range w.processes {
		p.watches[ofZones].stuck = max(p.watches[ofZones].stuck, min(w.now+s.Lasts, w.schedule.Ends))
	}
	s.Value = 1 // until a user ends it
	w.pause(s, g)
}

func (w *walk) resume(g *simulatedGroup, n int) {
	if g.zones[n].Paused {
		w.respec(g, n, func(z *zone) { z.Paused, z.PausedUntil = false, group.Moment{} })
	}
}

// force makes a user force a number of replicas, or end that.
func (w *walk) force(g *simulatedGroup, s Step) {
	n := s.Zone
	if g.zones[n].Leader != "" {
		n = 0
	}
	g.wishes[n]++
	g.forced[n] = s.Value > 0
	w.respec(g, n, func(z *zone) { z.Forced = group.Force{Given: s.Value > 0, Replicas: s.Value % 4} })
}

// maintain makes a user acquire the hold manually, if it is free, and release it later.
func (w *walk) maintain(g *simulatedGroup, lasts time.Duration) {
	record := plan.Record{}
	if g.lease != nil {
		record = g.lease.Record()
	}
	next, because := hold.Take(record, "manual/maintenance", w.wall(), lasts, false)
	if because.None() && w.byHand(g, next) {
		w.story(g, "somebody takes the hold by hand")
		if w.chance.IntN(2) == 0 {
			w.after(w.between(0, lasts), func() { w.giveBack(g) })
		}
	}
}

// byHand writes the hold for a user, as kubectl lockstep does. It reports whether the
// write was stored.
func (w *walk) byHand(g *simulatedGroup, next plan.Record) bool {
	return w.people.Write(w.ctx, g.key, next) == nil
}

func (w *walk) giveBack(g *simulatedGroup) {
	if g.lease == nil {
		return
	}
	if next, ok := hold.GiveBack(g.lease.Record(), true); ok {
		w.story(g, "somebody gives the hold back")
		w.byHand(g, next)
	}
}
