package walk

import (
	"strconv"
	"time"

	"github.com/lockstep-dev/lockstep/internal/lock/hold"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
)

// runUserAction runs a user action.
func (w *walk) runUserAction(s Step, g *simulatedGroup) {
	z := g.zones[s.Zone]
	switch s.Kind {
	case Template:
		w.changeTemplate(g, s.Zone, s.Value, false)
	case BadTemplate:
		w.changeTemplate(g, s.Zone, s.Value, true)
		w.after(s.Duration, func() { w.repairTemplate(g, s.Zone) })
	case Pause:
		w.pause(s, g)
	case UnseenPause:
		w.pauseUnseen(s, g)
	case Resize:
		if n := g.scalableZone(s.Zone); n >= 0 {
			g.sizeRequests[n]++
			w.putSpec(g, n, func(z *zone) { z.Replicas = 1 + s.Value%4*g.ordinals()/maxOrdinals })
		}
	case Downscale:
		if n := g.scalableZone(s.Zone); n >= 0 {
			w.requestDownscale(g, n, max(0, g.zones[n].Replicas-1-s.Value%2))
		}
	case ForceReplicas:
		w.forceReplicas(g, s)
	case Evict:
		if z.Replicas > 0 {
			w.drain(g, s.Zone, s.Value%z.Replicas)
		}
	case ManualHold:
		w.acquireHold(g, s.Duration)
	case Orphan:
		w.leaveGroup(g, s.Zone, orphaned, s)
	case Unlabel:
		w.leaveGroup(g, s.Zone, unlabelled, s)
	case BarePod, AdoptedBarePod:
		w.createBarePodLater(g, s)
	case Mislabel:
		w.mislabel(g, s)
	case OptOut:
		w.optOut(g, s)
	default: // not a user action
	}
}

// scalableZone returns the zone whose replicas a user changes in order to scale this zone: its leader, if
// it has one. It returns -1 if lockstep sets the replicas because a user forces them.
func (g *simulatedGroup) scalableZone(n int) int {
	if g.zones[n].Leader != "" {
		n = 0
	}
	if g.forced[n] {
		return -1
	}
	return n
}

func (w *walk) changeTemplate(g *simulatedGroup, n, revision int, bad bool) {
	name := "r" + strconv.Itoa(revision)
	if bad {
		name += "-bad"
		g.badRevisions[name] = true
	}
	if g.zones[n].template != name {
		w.putSpec(g, n, func(z *zone) { z.template = name })
	}
}

// repairTemplate replaces a template whose pods never become Ready.
func (w *walk) repairTemplate(g *simulatedGroup, n int) {
	if g.badRevisions[g.zones[n].template] {
		w.putSpec(g, n, func(z *zone) { z.template += "-repaired" })
	}
}

// pause pauses a zone until a user ends the pause, or until a time in the annotation.
func (w *walk) pause(s Step, g *simulatedGroup) {
	until := plan.Moment{}
	if s.Value%2 == 0 {
		until.Time = w.wall().Add(s.Duration).Truncate(time.Second)
	}
	w.putSpec(g, s.Zone, func(z *zone) { z.Paused, z.PausedUntil = true, until })
	if until.Time.IsZero() {
		w.after(s.Duration, func() { w.resume(g, s.Zone) })
	}
}

// pauseUnseen pauses a zone for a time. Meanwhile no watch shows changes of StatefulSets.
func (w *walk) pauseUnseen(s Step, g *simulatedGroup) {
	for _, p := range w.processes {
		p.watches[zoneKind].stuckUntil = max(p.watches[zoneKind].stuckUntil, min(w.now+s.Duration, w.schedule.FaultsEnd))
	}
	s.Value = 1 // a user ends the pause
	w.pause(s, g)
}

func (w *walk) resume(g *simulatedGroup, n int) {
	if g.zones[n].Paused {
		w.putSpec(g, n, func(z *zone) { z.Paused, z.PausedUntil = false, plan.Moment{} })
	}
}

// forceReplicas makes a user force a number of replicas, or stop forcing it.
func (w *walk) forceReplicas(g *simulatedGroup, s Step) {
	n := s.Zone
	if g.zones[n].Leader != "" {
		n = 0
	}
	g.sizeRequests[n]++
	g.forced[n] = s.Value > 0
	w.putSpec(g, n, func(z *zone) { z.Forced = group.Force{Given: s.Value > 0, Replicas: s.Value % 4} })
}

// acquireHold makes a user acquire the hold manually, if it is free, and release it later.
func (w *walk) acquireHold(g *simulatedGroup, duration time.Duration) {
	record := plan.Record{}
	if g.lease != nil {
		record = g.lease.Record()
	}
	next, because := hold.Take(record, "manual/maintenance", w.wall(), duration, false)
	if because.None() && w.writeHold(g, next) {
		w.trace(g, "a user acquires the hold manually")
		if w.chance.IntN(2) == 0 {
			w.after(w.between(0, duration), func() { w.releaseHold(g) })
		}
	}
}

// writeHold writes the hold for a user, as kubectl lockstep does. It reports whether the
// write was stored.
func (w *walk) writeHold(g *simulatedGroup, next plan.Record) bool {
	return w.userLeases.Write(w.ctx, g.key, next) == nil
}

func (w *walk) releaseHold(g *simulatedGroup) {
	if g.lease == nil {
		return
	}
	if next, ok := hold.GiveBack(g.lease.Record(), true); ok {
		w.trace(g, "a user releases the hold")
		w.writeHold(g, next)
	}
}
