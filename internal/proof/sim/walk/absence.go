package walk

import (
	"slices"

	"github.com/lockstep-dev/lockstep/internal/plan/group"
)

// absence is how a zone has left its group.
type absence int

const (
	inGroup    absence = iota
	orphaned           // its StatefulSet was deleted without its pods
	unlabelled         // its StatefulSet no longer has the label of the group
)

// leaves makes a zone leave its group for a time.
func (w *walk) leaves(g *simulatedGroup, n int, how absence, s Step) {
	if g.zones[n].away != inGroup {
		return
	}
	w.story(g, g.zones[n].Name, [...]string{orphaned: "is deleted without its pods", unlabelled: "loses the label of the group"}[how])
	w.putZone(g, n, func(z *zone) { z.away = how })
	if how == orphaned {
		w.orphan(g, n)
	}
	g.moved[n] = w.version
	w.after(s.Lasts, func() { w.comesBack(g, n) })
}

// orphan simulates the garbage collector: it removes the owner of the pods of a zone.
func (w *walk) orphan(g *simulatedGroup, n int) {
	for ordinal, p := range g.pods[n] {
		if p.ofZone() {
			w.handOver(g, n, ordinal, "")
		}
	}
}

// comesBack ends an absence: the StatefulSet is applied again, or its label is restored.
func (w *walk) comesBack(g *simulatedGroup, n int) {
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
		g.witness.shrank[n] = shrunk{} // its time was deleted with the StatefulSet
	}
	g.moved[n] = w.version
}

// made resets a StatefulSet to its state after a user has applied only its manifest.
func (z *zone) made() {
	z.UID += "'"
	z.Generation, z.Observed = 1, false
	z.UpdateRevision, z.CurrentRevision, z.Counting = "", "", false
	z.Downscaled = group.Moment{}
}

// returns ends the absence of all zones.
func (w *walk) returns(g *simulatedGroup) {
	for n := range g.zones {
		w.comesBack(g, n)
	}
}

// gone reports whether a StatefulSet was deleted and none of its pods exists.
func (g *simulatedGroup) gone(n int) bool {
	return g.zones[n].away == orphaned && !slices.ContainsFunc(g.pods[n], (*pod).ofZone)
}

// remembers reports whether the Lease remembers a zone.
func (g *simulatedGroup) remembers(n int) bool {
	return g.lease != nil && slices.ContainsFunc(g.lease.Members, func(m group.Member) bool { return m.Zone == g.zones[n].Name })
}

// remembersAll reports whether the Lease remembers the current StatefulSet of every zone.
func (g *simulatedGroup) remembersAll() bool {
	return !slices.ContainsFunc(g.zones, func(z *zone) bool {
		return g.lease == nil || !slices.ContainsFunc(g.lease.Members, func(m group.Member) bool { return m.Zone == z.Name && m.UID == z.UID })
	})
}
