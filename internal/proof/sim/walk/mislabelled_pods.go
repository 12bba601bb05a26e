package walk

import (
	"github.com/lockstep-dev/lockstep/internal/plan"
)

// otherLabels returns labels that the selector of a zone does not match: for half of the UIDs those of another zone.
func (g *simulatedGroup) otherLabels(n int, uid string) map[string]string {
	if uid[len(uid)-1]%2 == 0 {
		return map[string]string{"app": "shell"}
	}
	return g.podLabels((n + 1) % len(g.zones))
}

// released reports whether the StatefulSet gave up a pod because its selector no longer matches. The pod keeps the
// pod-name label.
func (p *pod) released() bool { return p.bare() && !p.userCreated }

// mislabel makes a user give a pod of a zone the labels of another zone for a time. Meanwhile and afterwards clients
// evict the pod that has the name.
func (w *walk) mislabel(g *simulatedGroup, s Step) {
	n, ordinal := s.Zone, s.Value%g.ordinals()
	p := g.pods[n][ordinal]
	if w.now >= w.schedule.FaultsEnd || !p.inZone() || p.Phase == plan.Terminating {
		return
	}
	w.report.Faults[podsMislabelled]++
	w.trace(g, "a user gives", p.Name, "the labels of another zone")
	w.setLabels(g, n, ordinal, g.podLabels((n+1)%len(g.zones)))
	duration := min(s.Duration, w.schedule.FaultsEnd-w.now)
	w.after(duration, func() { w.correctLabels(g, n, ordinal, p.UID) })
	for range w.chance.IntN(3) {
		w.after(w.between(0, duration), func() { w.drain(g, n, ordinal) })
	}
}

// correctLabels makes a user give a pod the labels of its zone again.
func (w *walk) correctLabels(g *simulatedGroup, n, ordinal int, uid string) {
	if p := g.pods[n][ordinal]; p != nil && p.UID == uid {
		w.fire(barePodReplaced, g, nil)
		w.trace(g, "a user gives", p.Name, "the labels of its zone")
		w.setLabels(g, n, ordinal, nil)
	}
}

func (w *walk) setLabels(g *simulatedGroup, n, ordinal int, mislabelled map[string]string) {
	next := *g.pods[n][ordinal]
	next.mislabelled = mislabelled
	w.storePod(g, n, ordinal, next)
}

// releaseMislabelled makes the StatefulSet controller give up the pods that the selector of a zone no longer matches.
func (w *walk) releaseMislabelled(g *simulatedGroup, n int) {
	for ordinal, p := range g.pods[n] {
		if p != nil && p.mislabelled != nil && p.owner == g.zones[n].UID {
			w.trace(g, "the StatefulSet controller releases", p.Name)
			w.setOwner(g, n, ordinal, "")
		}
	}
}
