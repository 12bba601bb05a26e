package walk

import (
	"slices"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
)

// absence is how a zone has left its group.
type absence int

const (
	inGroup    absence = iota
	orphaned           // its StatefulSet was deleted without its pods
	unlabelled         // its StatefulSet no longer has the label of the group
)

// readsAnew is how often a look is begun in all, as in internal/observe.
const readsAnew = 3

// leaves lets a zone leave its group for a while.
func (w *walk) leaves(g *group, n int, how absence, s Step) {
	if g.zones[n].away != inGroup {
		return
	}
	w.story(g, g.zones[n].Name, [...]string{orphaned: "is deleted without its pods", unlabelled: "loses the label of the group"}[how])
	w.putZone(g, n, func(z *zone) { z.away = how })
	if how == orphaned {
		w.handOver(g, n)
	}
	w.after(s.Lasts, func() { w.comesBack(g, n) })
}

// handOver lets somebody write who the pods of a zone belong to now.
func (w *walk) handOver(g *group, n int) {
	for ordinal := range g.pods[n] {
		w.after(w.between(time.Millisecond, 5*time.Second), func() {
			if g.pods[n][ordinal] != nil {
				w.churn(g, n, ordinal)
			}
		})
	}
}

// comesBack ends an absence: the StatefulSet is applied again, or gets its label back.
func (w *walk) comesBack(g *group, n int) {
	former := g.zones[n].away
	if former == inGroup {
		return
	}
	w.story(g, g.zones[n].Name, "comes back")
	g.witness.comesBack(g, n, w.version+1)
	w.putZone(g, n, func(z *zone) {
		z.away = inGroup
		if former == orphaned {
			z.made()
		}
	})
	if former == orphaned {
		g.witness.shrank[n] = shrunk{} // its date went with the StatefulSet
		w.handOver(g, n)
	}
}

// made lets a StatefulSet begin as somebody applies it who has its manifest alone.
func (z *zone) made() {
	z.UID += "'"
	z.Generation, z.Observed = 1, false
	z.UpdateRevision, z.CurrentRevision, z.Counting = "", "", false
	z.Downscaled = plan.Moment{}
}

// returns brings all zones back.
func (w *walk) returns(g *group) {
	for n := range g.zones {
		w.comesBack(g, n)
	}
}

// gone reports whether a StatefulSet was deleted and none of its pods is left.
func (g *group) gone(n int) bool {
	return g.zones[n].away == orphaned && !slices.ContainsFunc(g.pods[n], func(p *plan.Pod) bool { return p != nil })
}

// remembers reports whether the Lease remembers a zone.
func (g *group) remembers(n int) bool {
	return g.lease != nil && slices.ContainsFunc(g.lease.Members, func(m plan.Member) bool { return m.Zone == g.zones[n].Name })
}

// remembersAll reports whether the Lease remembers every zone's very StatefulSet.
func (g *group) remembersAll() bool {
	return !slices.ContainsFunc(g.zones, func(z *zone) bool {
		return g.lease == nil || !slices.ContainsFunc(g.lease.Members, func(m plan.Member) bool { return m.Zone == z.Name && m.UID == z.UID })
	})
}

// absent returns the zones that a record remembers and a snapshot does not show.
func (r Rules) absent(s plan.Snapshot) []plan.Member {
	var all []plan.Member
	if r.Blind {
		return nil
	}
	for _, m := range s.Hold.Members {
		if _, shown := s.Zone(m.Zone); !shown {
			all = append(all, m)
		}
	}
	return all
}

// leftZone returns a zone that left, as it is remembered and as it is known.
func leftZone(m plan.Member, away absence, z plan.Zone) plan.LeftZone {
	if away == unlabelled {
		return plan.LeftZone{Zone: z, Exists: true}
	}
	return plan.LeftZone{
		Zone:     plan.Zone{Name: m.Zone, UID: m.UID, Pods: z.Pods, PodsAt: z.PodsAt},
		Orphaned: len(z.Pods) > 0,
	}
}

// strays returns the noted pods that no zone of a snapshot shows and that exist.
func strays(s plan.Snapshot, known func(zone, ordinal int) *plan.Pod) []plan.Pod {
	var all []plan.Pod
	for _, i := range s.Hold.Intents {
		if _, shown := s.Pod(i.Pod); shown {
			continue
		}
		zone, ordinal := place(i.Zone, i.Pod)
		if p := known(zone, ordinal); p != nil {
			all = append(all, plan.Pod{Name: p.Name, UID: p.UID, Version: p.Version, Phase: p.Phase})
		}
	}
	return all
}

// knowsAway reports whether a process sees a zone outside of the group and does not know
// that it is remembered. Nobody guards the pods of such a zone.
func (p *process) knowsAway(g *group, n int) bool {
	if p.sights[g.no].away[n] == inGroup {
		return false
	}
	name := g.zones[n].Name
	return !slices.ContainsFunc(p.hold(g).Members, func(m plan.Member) bool { return m.Zone == name })
}
