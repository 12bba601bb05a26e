package walk

import (
	"slices"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
)

// absence is how a zone has left its group.
type absence int

const (
	inGroup    absence = iota
	orphaned           // its StatefulSet was deleted without its pods
	unlabelled         // its StatefulSet no longer has the label of the group
)

// leaveGroup makes a zone leave its group for a time.
func (w *walk) leaveGroup(g *simulatedGroup, n int, how absence, s Step) {
	if g.zones[n].absence != inGroup {
		return
	}
	w.trace(g, g.zones[n].Name, [...]string{orphaned: "is deleted without its pods", unlabelled: "loses the label of the group"}[how])
	w.putZone(g, n, func(z *zone) { z.absence = how })
	if how == orphaned {
		w.orphanPods(g, n)
	}
	g.absenceChanged[n] = w.version
	w.after(s.Duration, func() { w.returnToGroup(g, n) })
}

// orphanPods simulates the garbage collector: it removes the owner of the pods of a zone.
func (w *walk) orphanPods(g *simulatedGroup, n int) {
	for ordinal, p := range g.pods[n] {
		if p.inZone() {
			w.setOwner(g, n, ordinal, "")
		}
	}
}

// returnToGroup ends an absence: the StatefulSet is applied again, or its label is restored.
func (w *walk) returnToGroup(g *simulatedGroup, n int) {
	former := g.zones[n].absence
	if former == inGroup {
		return
	}
	w.trace(g, g.zones[n].Name, "returns to the group")
	g.history.zoneReturns(g, n, w.version+1)
	w.putZone(g, n, func(z *zone) {
		z.absence = inGroup
		if former == orphaned {
			z.resetToManifest()
		}
	})
	if former == orphaned {
		g.history.lastDownscales[n] = pastDownscale{} // the annotation with its time was deleted with the StatefulSet
	}
	g.absenceChanged[n] = w.version
}

// resetToManifest resets a StatefulSet to its state after a user has applied only its manifest.
func (z *zone) resetToManifest() {
	z.UID += "'"
	z.Generation, z.Observed = 1, false
	z.UpdateRevision, z.CurrentRevision, z.Counting = "", "", false
	z.Downscaled = plan.Moment{}
}

// endAbsences ends the absence of all zones.
func (w *walk) endAbsences(g *simulatedGroup) {
	for n := range g.zones {
		w.returnToGroup(g, n)
	}
}

// goneWithPods reports whether a StatefulSet was deleted and none of its pods exists.
func (g *simulatedGroup) goneWithPods(n int) bool {
	return g.zones[n].absence == orphaned && !slices.ContainsFunc(g.pods[n], (*pod).inZone)
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
