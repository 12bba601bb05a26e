package walk

import (
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lockstep-dev/lockstep/internal/plan"
)

// All writes use these methods. They store an object, check the write and notify the watches.

// putPod stores a new pod of the current StatefulSet, or a changed pod.
func (w *walk) putPod(g *simulatedGroup, n, ordinal int, p plan.Pod) {
	next := pod{Pod: p, owner: g.zones[n].UID}
	if former := g.pods[n][ordinal]; former != nil {
		next = *former
		next.Pod = p
	}
	w.storePod(g, n, ordinal, next)
}

func (w *walk) storePod(g *simulatedGroup, n, ordinal int, next pod) {
	w.server.putPod(g, n, ordinal, next)
	w.afterStore(g, n, podKind)
}

// setOwner stores a new owner of a pod.
func (w *walk) setOwner(g *simulatedGroup, n, ordinal int, owner string) {
	next := *g.pods[n][ordinal]
	next.owner = owner
	w.storePod(g, n, ordinal, next)
}

func (w *walk) removePod(g *simulatedGroup, n, ordinal int) {
	w.server.removePod(g, n, ordinal)
	w.afterStore(g, n, podKind)
}

func (w *walk) putZone(g *simulatedGroup, n int, changed func(*zone)) {
	w.server.putZone(g, n, changed)
	w.afterStore(g, n, zoneKind)
}

func (w *walk) putSpec(g *simulatedGroup, n int, changed func(*zone)) {
	w.server.putSpec(g, n, changed)
	w.afterStore(g, n, zoneKind)
}

// afterStore updates the history of a group after a write, and notifies the StatefulSet controller and
// the watches.
func (w *walk) afterStore(g *simulatedGroup, n int, k kind) {
	g.history.update(g, w.version, k == zoneKind, w.wall())
	w.enqueueZone(g, n)
	w.notifyWatches(k)
}

func (w *walk) notifyWatches(k kind) {
	for _, p := range w.processes {
		p.scheduleWatch(k)
	}
}

// storeLease stores a Lease on the decision of a process, or of a user if p is nil.
func (w *walk) storeLease(p *process, g *simulatedGroup, next *coordinationv1.Lease) (*coordinationv1.Lease, error) {
	former := g.lease
	if err := w.server.putLease(g, next); err != nil {
		return nil, err
	}
	g.lease = w.recordOf(g)
	g.history.updateRecorded(g, g.lease)
	w.notifyWatches(leaseKind)
	if p == nil {
		return g.stored, nil
	}
	p.countWrite()
	w.fire(holdWritten, g, p)
	if former != nil && former.Holder.Foreign() && g.lease.Holder != former.Holder && !former.Lapsed(w.decisionTime(g.lease.Renewed)) {
		w.violate(g, "ManualHoldKept", string(former.Holder)+" still has the hold when "+p.name+" decides to write "+(*holdText)(g.lease).String())
	}
	return g.stored, nil
}

// decisionTime returns the time of a decision by the clock of the process. If clocks are true, it is
// never later than the current time.
func (w *walk) decisionTime(decided time.Time) time.Time {
	if w.schedule.TrueClocks && decided.After(w.wall()) {
		return w.wall()
	}
	return decided
}

// dropLease deletes the Lease for a process, which decided that at a time of its clock. It reports a violation if the Lease
// has a hold or records that must be respected.
func (w *walk) dropLease(p *process, g *simulatedGroup, only metav1.Preconditions, decided time.Time) error {
	former := g.lease
	if err := w.deleteLease(g, only); err != nil {
		return err
	}
	g.lease = nil
	clear(g.history.lastDownscales) // the group was gone when the process decided this; zones that return begin a new one
	p.countWrite()
	w.notifyWatches(leaseKind)
	if former.Holder.Foreign() && !former.Lapsed(w.decisionTime(decided)) {
		w.violate(g, "ManualHoldKept", string(former.Holder)+" still has the hold when "+p.name+" deletes the Lease")
	}
	if len(former.Intents) > 0 || !former.Downscale.None() {
		w.violate(g, "RecordedFirst", p.name+" deletes a Lease with records: "+(*holdText)(former).String())
	}
	return nil
}

// updateVersion changes the version of a pod that matches its intent.
func (w *walk) updateVersion(g *simulatedGroup, n, ordinal int, i plan.Intent) bool {
	p := g.pods[n][ordinal]
	if p == nil || p.UID != i.UID || p.Version != i.Version {
		return false
	}
	w.countWrite()
	w.report.Actions[podsUpdated]++
	w.trace(g, "update of", p.Name)
	w.putPod(g, n, ordinal, p.Pod)
	return true
}

// deletePod deletes a pod if it meets the preconditions, and checks the delete.
func (w *walk) deletePod(g *simulatedGroup, n, ordinal int, d disruption) bool {
	p := g.pods[n][ordinal]
	exact := p != nil && p.UID == d.uid && (d.version == 0 || p.Version == d.version)
	byName := d.evicted && d.uid == "" || !d.evicted && w.schedule.Deviations.Unconditional
	if p == nil || !exact && !byName {
		return false
	}
	w.countWrite()
	if p.Phase == plan.Terminating {
		return true
	}
	if !d.evicted && p.owner == "" {
		w.violate(g, "ExactTarget", d.actor+" deletes "+p.Name+", which no StatefulSet controls")
	}
	up, version := p.upInZone(), p.Version
	w.terminatePod(g, n, ordinal, d.actor+" deletes")
	switch {
	case p.bare():
		w.report.Faults[barePodsEvicted]++
	case d.evicted:
		w.report.Actions[podsEvicted]++
	case up:
		w.report.Actions[upPodsReplaced]++
	default:
		w.report.Actions[downPodsReplaced]++
	}
	w.fire(podDeleted, g, nil)
	if !up {
		return true
	}
	if dt := &g.history.downtimes[n][ordinal]; dt.since > 0 {
		dt.byLockstep = true
	}
	g.history.endDowntimes(w.wall())
	if rule, detail := g.history.checkDisruption(g, n, ordinal, d, version, exact, w.wall()); rule != "" {
		w.violate(g, rule, detail)
	}
	return true
}

// changeZone changes a zone, except its replicas, if its version is the one of the decision.
func (w *walk) changeZone(what action, g *simulatedGroup, n int, version plan.Version, changed func(*zone)) bool {
	if g.zones[n].Version != version {
		return false
	}
	w.countWrite()
	w.report.Actions[what]++
	w.putZone(g, n, changed)
	return true
}

// setReplicas changes the replicas of a zone if its version is the one of the decision. It checks a
// downscale.
func (w *walk) setReplicas(g *simulatedGroup, n int, d downscale) bool {
	z := g.zones[n]
	if z.Version != d.version {
		return false
	}
	w.countWrite()
	w.trace(g, d.actor, "sets", z.Name)
	disrupts := d.to < z.Replicas && g.history.disrupts(g, n, d)
	if disrupts {
		w.checkDownscale(g, n, d)
	}
	if d.to < z.Replicas {
		w.checkDownscaleInterval(g, n)
	}
	what := upscales
	if d.to < z.Replicas {
		what = downscales
	}
	w.report.Actions[what]++
	w.putSpec(g, n, func(z *zone) { z.Replicas = d.to })
	g.history.disrupted[n] = g.history.disrupted[n] || disrupts
	return true
}

// checkDownscale checks a downscale that is about to delete pods that are up.
func (w *walk) checkDownscale(g *simulatedGroup, n int, d downscale) {
	g.history.endDowntimes(w.wall())
	if rule, detail := g.history.checkDownscale(g, n, d, w.wall()); rule != "" {
		w.violate(g, rule, detail)
	}
}

// checkDownscaleInterval checks the time between a downscale and the downscales of other zones, even if
// no deleted pod is up.
func (w *walk) checkDownscaleInterval(g *simulatedGroup, n int) {
	if w.schedule.TrueClocks {
		if detail := g.history.tooSoon(g, n, w.wall()); detail != "" {
			w.violate(g, "TooSoon", detail)
		}
		g.history.lastDownscales[n] = pastDownscale{w.wall(), g.zones[n].MinBetween.Duration}
	}
}
