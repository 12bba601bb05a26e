package walk

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
)

// enqueueZone makes the StatefulSet controller process a zone soon.
func (w *walk) enqueueZone(g *simulatedGroup, n int) {
	key := [2]int{g.no, n}
	if w.zonesQueued[key] {
		return
	}
	w.zonesQueued[key] = true
	w.after(w.between(time.Millisecond, 50*time.Millisecond)+w.controllerDelay(), func() {
		delete(w.zonesQueued, key)
		w.reconcileZone(g, n)
	})
}

// reconcileZone is a reconcile of the StatefulSet controller: it releases, adopts, creates and deletes
// pods, and writes the status. Zones are OnDelete, so it replaces no pods.
func (w *walk) reconcileZone(g *simulatedGroup, n int) {
	z := g.zones[n]
	if z.absence == orphaned {
		return
	}
	w.releaseMislabelled(g, n)
	if w.adopts(g, n) && w.chance.IntN(2) == 0 {
		w.enqueueZone(g, n) // its cache of pods lags
	} else {
		w.adoptOrphans(g, n)
	}
	if counting := w.counting(g, n); !z.Observed || z.Counting != counting || z.UpdateRevision != z.template {
		w.putZone(g, n, func(z *zone) { z.observe(counting) })
		z = g.zones[n]
	}
	for ordinal := g.processedOrdinals(n) - 1; ordinal >= 0; ordinal-- {
		switch p := g.pods[n][ordinal]; {
		case p == nil && ordinal < z.Replicas:
			w.createPod(g, n, ordinal)
		case p != nil && p.owner == z.UID && p.userCreated && ordinal < z.Replicas && p.Phase != plan.Terminating:
			w.addNameLabel(g, n, ordinal)
		case p != nil && p.owner == z.UID && ordinal >= z.Replicas && p.Phase != plan.Terminating:
			w.terminatePod(g, n, ordinal, "the StatefulSet controller deletes")
		}
	}
}

// adopts reports whether orphans exist that the StatefulSet adopts.
func (w *walk) adopts(g *simulatedGroup, n int) bool {
	return slices.ContainsFunc(g.pods[n], g.zones[n].adopts)
}

// adopts reports whether a StatefulSet adopts a pod: it must not control the pod, its selector must
// match the pod, and the pod must not be terminating.
func (z *zone) adopts(p *pod) bool {
	return p != nil && p.owner != z.UID && p.mislabelled == nil && p.Phase != plan.Terminating
}

// adoptOrphans makes the current StatefulSet the owner of orphans.
func (w *walk) adoptOrphans(g *simulatedGroup, n int) {
	for ordinal, p := range g.pods[n] {
		if g.zones[n].adopts(p) {
			w.trace(g, "the StatefulSet controller adopts", p.Name)
			w.countBarePodAdoption(g, p)
			w.setOwner(g, n, ordinal, g.zones[n].UID)
		}
	}
}

// observe writes the status of a zone. The first status of a StatefulSet has the current
// template as the revision of all pods.
func (z *zone) observe(counting bool) {
	z.Observed, z.UpdateRevision, z.Counting = true, z.template, counting
	z.CurrentRevision = cmp.Or(z.CurrentRevision, z.template)
}

// counting reports whether the status names two revisions and does not yet say that every pod
// is Ready at the newer one.
func (w *walk) counting(g *simulatedGroup, n int) bool {
	z := g.zones[n]
	if z.CurrentRevision == z.template || z.CurrentRevision == "" {
		return false
	}
	for ordinal := range z.Replicas {
		if p := g.pods[n][ordinal]; !p.upInZone() || p.Revision != z.template {
			return true
		}
	}
	return false
}

// createPod makes the StatefulSet controller create a pod.
func (w *walk) createPod(g *simulatedGroup, n, ordinal int) {
	z := g.zones[n]
	w.uids++
	now := w.wall()
	p := plan.Pod{
		Name: plan.PodName(z.Name, ordinal), Ordinal: ordinal, UID: "pod-" + strconv.Itoa(w.uids), Revision: z.template,
		Created: plan.UnixTimeOf(now), IP: "10.0.0.1", Phase: plan.Starting,
	}
	w.trace(g, "the StatefulSet controller creates", p.Name, "at", p.Revision)
	w.putPod(g, n, ordinal, p)
	w.startPod(g, n, ordinal)
}

// startPod makes the kubelet report a pod as Ready, or as failing if its revision is bad.
func (w *walk) startPod(g *simulatedGroup, n, ordinal int) {
	uid := g.pods[n][ordinal].UID
	w.after(w.between(100*time.Millisecond, 20*time.Second)+w.controllerDelay(), func() {
		p := g.pods[n][ordinal]
		if p == nil || p.UID != uid || (p.Phase != plan.Starting && p.Phase != plan.Failing) {
			return
		}
		next := p.Pod
		next.Phase, next.ReadySince = plan.Ready, w.wall().Truncate(time.Second)
		if g.badRevisions[p.Revision] {
			if p.Phase == plan.Failing {
				return
			}
			next.Phase, next.ReadySince, next.Why = plan.Failing, time.Time{}, "CrashLoopBackOff"
		}
		w.trace(g, "kubelet:", p.Name, "is", phaseNames[next.Phase])
		w.putPod(g, n, ordinal, next)
	})
}

var phaseNames = [...]string{plan.Starting: "starting", plan.Failing: "failing", plan.Ready: "ready", plan.Terminating: "terminating"}

// terminatePod makes a pod terminate, and makes the kubelet remove it later.
func (w *walk) terminatePod(g *simulatedGroup, n, ordinal int, actor string) {
	if g.pods[n][ordinal].bare() {
		w.fire(barePodReplaced, g, nil)
	}
	p := g.pods[n][ordinal].Pod
	w.trace(g, actor, p.Name)
	p.Phase, p.ReadySince, p.Why = plan.Terminating, time.Time{}, ""
	w.putPod(g, n, ordinal, p)
	w.after(w.between(50*time.Millisecond, 10*time.Second)+w.controllerDelay(), func() {
		if now := g.pods[n][ordinal]; now != nil && now.UID == p.UID {
			w.trace(g, "kubelet:", p.Name, "no longer exists")
			w.removePod(g, n, ordinal)
			w.nameReleased(g, n, ordinal)
		}
	})
}

// crashPod makes a pod that is up crash and restart.
func (w *walk) crashPod(g *simulatedGroup, n, ordinal int) {
	p := g.pods[n][ordinal].Pod
	w.trace(g, "crash:", p.Name)
	p.Phase, p.ReadySince = plan.Starting, time.Time{}
	w.putPod(g, n, ordinal, p)
	w.startPod(g, n, ordinal)
}

// updatePod changes only the version of a pod.
func (w *walk) updatePod(g *simulatedGroup, n, ordinal int) {
	w.trace(g, "another client updates", g.pods[n][ordinal].Name)
	w.putPod(g, n, ordinal, g.pods[n][ordinal].Pod)
}
