package walk

import (
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lockstep-dev/lockstep/internal/plan"
)

// All writes go through these methods: they store an object, judge the write and notify
// watches.

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
	w.stored(g, n, ofPods)
}

// handOver stores a new owner of a pod.
func (w *walk) handOver(g *simulatedGroup, n, ordinal int, owner string) {
	next := *g.pods[n][ordinal]
	next.owner = owner
	w.storePod(g, n, ordinal, next)
}

func (w *walk) removePod(g *simulatedGroup, n, ordinal int) {
	w.server.removePod(g, n, ordinal)
	w.stored(g, n, ofPods)
}

func (w *walk) putZone(g *simulatedGroup, n int, changed func(*zone)) {
	w.server.putZone(g, n, changed)
	w.stored(g, n, ofZones)
}

func (w *walk) respec(g *simulatedGroup, n int, changed func(*zone)) {
	w.server.respec(g, n, changed)
	w.stored(g, n, ofZones)
}

func (w *walk) stored(g *simulatedGroup, n int, k kind) {
	g.witness.watch(g, w.version, k == ofZones, w.wall())
	w.sync(g, n)
	w.show(k)
}

func (w *walk) show(k kind) {
	for _, p := range w.processes {
		p.await(k)
	}
}

// storeLease stores a Lease on the decision of a process, or of a user if p is nil.
func (w *walk) storeLease(p *process, g *simulatedGroup, next *coordinationv1.Lease) (*coordinationv1.Lease, error) {
	former := g.lease
	if err := w.server.putLease(g, next); err != nil {
		return nil, err
	}
	g.lease = w.recordOf(g)
	g.witness.notes(g, g.lease)
	w.show(ofLeases)
	if p == nil {
		return g.stored, nil
	}
	p.wrote()
	w.comes(aHoldIsWritten, g, p)
	if former != nil && former.Holder.Foreign() && g.lease.Holder != former.Holder && !former.Lapsed(w.known(g.lease.Renewed)) {
		w.violate(g, "HandsOff", string(former.Holder)+" still counts as "+p.name+" decides to write "+(*spelled)(g.lease).String())
	}
	return g.stored, nil
}

// known returns the time that counts for a decision: the time of the clock that the
// decision used. If clocks are true, it is never later than the current time.
func (w *walk) known(decided time.Time) time.Time {
	if w.schedule.TrueClocks && decided.After(w.wall()) {
		return w.wall()
	}
	return decided
}

// dropLease deletes the Lease for a process. It reports a violation if the Lease has a
// hold or records that must be respected.
func (w *walk) dropLease(p *process, g *simulatedGroup, only metav1.Preconditions) error {
	former := g.lease
	if err := w.deleteLease(g, only); err != nil {
		return err
	}
	g.lease = nil
	p.wrote()
	w.show(ofLeases)
	if former.Holder.Foreign() && !former.Lapsed(w.known(p.wallNow())) {
		w.violate(g, "HandsOff", string(former.Holder)+" still counts as "+p.name+" removes the Lease")
	}
	if len(former.Intents) > 0 || !former.Downscale.None() {
		w.violate(g, "NotedFirst", p.name+" removes the Lease that notes "+(*spelled)(former).String())
	}
	return nil
}

// touchPod changes the version of a pod that matches its intent.
func (w *walk) touchPod(g *simulatedGroup, n, ordinal int, i plan.Intent) bool {
	p := g.pods[n][ordinal]
	if p == nil || p.UID != i.UID || p.Version != i.Version {
		return false
	}
	w.wrote()
	w.report.Tallies[touches]++
	w.story(g, "touch of", p.Name)
	w.putPod(g, n, ordinal, p.Pod)
	return true
}

// deletePod deletes the pod that was judged, and judges the delete.
func (w *walk) deletePod(g *simulatedGroup, n, ordinal int, t disruption) bool {
	p := g.pods[n][ordinal]
	exact := p != nil && p.UID == t.uid && (t.version == 0 || p.Version == t.version)
	byName := t.evicted && t.uid == "" || !t.evicted && w.schedule.Rules.Unconditional
	if p == nil || !exact && !byName {
		return false
	}
	w.wrote()
	if p.Phase == plan.Leaving {
		return true
	}
	if !t.evicted && p.owner == "" {
		w.violate(g, "ExactTarget", t.by+" deletes "+p.Name+", which no StatefulSet controls")
	}
	up, version := p.serves(), p.Version
	w.leave(g, n, ordinal, t.by+" deletes")
	switch {
	case p.stranger():
		w.report.Faults[strangersEvicted]++
	case t.evicted:
		w.report.Tallies[evictions]++
	case up:
		w.report.Tallies[rolled]++
	default:
		w.report.Tallies[repairs]++
	}
	w.comes(aPodIsSentAway, g, nil)
	if !up {
		return true
	}
	if f := &g.witness.falls[n][ordinal]; f.since > 0 {
		f.ours = true
	}
	g.witness.recover(w.wall())
	if rule, how := g.witness.judgeDisruption(g, n, ordinal, t, version, exact, w.wall()); rule != "" {
		w.violate(g, rule, how)
	}
	return true
}

// changeZone changes a zone, except its replicas, if its version is the one that was
// judged.
func (w *walk) changeZone(what tally, g *simulatedGroup, n int, judged plan.Version, changed func(*zone)) bool {
	if g.zones[n].Version != judged {
		return false
	}
	w.wrote()
	w.report.Tallies[what]++
	w.putZone(g, n, changed)
	return true
}

// setReplicas changes the replicas of a zone if its version is the one that was judged,
// and judges a downscale.
func (w *walk) setReplicas(g *simulatedGroup, n int, d downscale) bool {
	z := g.zones[n]
	if z.Version != d.version {
		return false
	}
	w.wrote()
	w.story(g, d.by, "sets", z.Name)
	harms := d.to < z.Replicas && g.witness.harms(g, n, d)
	if harms {
		w.judgeHarm(g, n, d)
	}
	if d.to < z.Replicas {
		w.judgeTime(g, n)
	}
	what := raises
	if d.to < z.Replicas {
		what = downscales
	}
	w.report.Tallies[what]++
	w.respec(g, n, func(z *zone) { z.Replicas = d.to })
	g.witness.harmed[n] = g.witness.harmed[n] || harms
	return true
}

func (w *walk) judgeHarm(g *simulatedGroup, n int, d downscale) {
	g.witness.recover(w.wall())
	if rule, how := g.witness.judgeDownscale(g, n, d, w.wall()); rule != "" {
		w.violate(g, rule, how)
	}
}

// judgeTime judges the time between a downscale and the downscales of other zones, even
// if no pod that leaves is up.
func (w *walk) judgeTime(g *simulatedGroup, n int) {
	if w.schedule.TrueClocks {
		if how := g.witness.tooSoon(g, n, w.wall()); how != "" {
			w.violate(g, "TooSoon", how)
		}
		g.witness.shrank[n] = shrunk{w.wall(), g.zones[n].MinBetween.Duration}
	}
}
