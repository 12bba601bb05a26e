package walk

import (
	"slices"
	"strconv"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
)

// A stranger is a pod that a user created under the name of a pod of a zone, and that no StatefulSet
// controls. The zone lacks the pod of that name until the stranger is deleted, or until the StatefulSet
// adopts it because its labels match.

// bare reports whether a pod is a stranger. It accepts nil, as the other methods do.
func (p *pod) bare() bool { return p != nil && p.userCreated && p.owner == "" }

// inZone reports whether a pod exists and is a pod of its zone.
func (p *pod) inZone() bool { return p != nil && !p.bare() }

// upInZone reports whether a pod is up and is a pod of its zone.
func (p *pod) upInZone() bool { return p.inZone() && p.Up() }

// podName is what users and strangers do with the name of a pod.
type podName struct {
	waiting        Step         // of a user who waits until the name is free
	waitsUntil     instant      // until then
	barePodChanged plan.Version // of the last change of a stranger with this name
}

// barePodSince reports whether a stranger has had a name at a version or later.
func (g *simulatedGroup) barePodSince(n, ordinal int, version plan.Version) bool {
	return g.pods[n][ordinal].bare() || g.podNames[n][ordinal].barePodChanged > version
}

// createBarePodLater makes a user create a stranger, at the latest when its name has become free. Half of the users
// delete the pod that has the name.
func (w *walk) createBarePodLater(g *simulatedGroup, s Step) {
	s.Value %= g.ordinals()
	at, p := &g.podNames[s.Zone][s.Value], g.pods[s.Zone][s.Value]
	switch {
	case at.waitsUntil > w.now || p.bare():
		return // another user is faster
	case p == nil:
		w.createBarePod(g, s)
		return
	}
	at.waiting, at.waitsUntil = s, min(w.now+s.Duration+time.Minute, w.schedule.Ends)
	if p.Up() && w.chance.IntN(2) == 0 {
		w.report.Faults[podsDeletedByOthers]++
		w.terminatePod(g, s.Zone, s.Value, "a user deletes")
	}
}

// nameReleased makes the user who waits for a name create a stranger, if the StatefulSet controller does
// not create a pod before.
func (w *walk) nameReleased(g *simulatedGroup, n, ordinal int) {
	at := &g.podNames[n][ordinal]
	if at.waitsUntil <= w.now {
		return
	}
	at.waitsUntil = 0
	w.after(w.between(0, 20*time.Millisecond), func() {
		if g.pods[n][ordinal] == nil {
			w.createBarePod(g, at.waiting)
		}
	})
}

// createBarePod creates a stranger that lasts for a time. Meanwhile and afterwards clients evict the
// pod that has its name.
func (w *walk) createBarePod(g *simulatedGroup, s Step) {
	if w.now >= w.schedule.Ends {
		return
	}
	n, ordinal := s.Zone, s.Value
	w.uids++
	uid := "pod-" + strconv.Itoa(w.uids)
	next := pod{userCreated: true, unselected: true, Pod: plan.Pod{
		Name: plan.PodName(g.zones[n].Name, ordinal), Ordinal: ordinal, UID: uid,
		Created: plan.UnixTimeOf(w.wall()), IP: "10.0.0.1", Phase: plan.Starting,
	}}
	w.report.Faults[barePodsCreated]++
	w.trace(g, "a user creates", next.Name)
	w.storePod(g, n, ordinal, next)
	w.startPod(g, n, ordinal)
	lasts := min(s.Duration, w.schedule.Ends-w.now)
	w.after(lasts, func() { w.endBarePod(g, s, uid) })
	for range w.chance.IntN(4) {
		w.after(w.between(0, min(lasts+time.Minute, w.schedule.Ends-w.now)), func() { w.drain(g, n, ordinal) })
	}
}

// endBarePod makes a user delete a stranger, or label it so that its StatefulSet adopts it.
func (w *walk) endBarePod(g *simulatedGroup, s Step, uid string) {
	p := g.pods[s.Zone][s.Value]
	if !p.bare() || p.UID != uid || p.Phase == plan.Leaving {
		return
	}
	if s.Kind == BarePod {
		w.terminatePod(g, s.Zone, s.Value, "a user deletes")
		return
	}
	w.fire(barePodReplaced, g, nil)
	w.trace(g, "a user gives", p.Name, "the labels of its zone")
	next := *p
	next.unselected = false
	w.storePod(g, s.Zone, s.Value, next)
}

// processedOrdinals returns the number of ordinals that the StatefulSet controller processes. It creates pods in
// order and stops at the first name that a stranger has.
func (g *simulatedGroup) processedOrdinals(n int) int {
	if taken := slices.IndexFunc(g.pods[n][:g.zones[n].Replicas], (*pod).bare); taken >= 0 {
		return taken
	}
	return g.ordinals()
}

// countBarePodAdoption counts the adoption of a stranger.
func (w *walk) countBarePodAdoption(g *simulatedGroup, p *pod) {
	if p.bare() {
		w.report.Faults[barePodsAdopted]++
		w.fire(barePodReplaced, g, nil)
	}
}

// addNameLabel makes the StatefulSet controller give an adopted pod the pod-name label.
func (w *walk) addNameLabel(g *simulatedGroup, n, ordinal int) {
	next := *g.pods[n][ordinal]
	next.userCreated = false
	w.storePod(g, n, ordinal, next)
}

// skipsWebhook reports whether a process evicts the pod of a name without a webhook, because its caches show
// a stranger.
func (p *process) skipsWebhook(g *simulatedGroup, n, ordinal int) bool {
	if !p.schedule.Deviations.BarePodsNotReviewed {
		return false
	}
	for _, c := range slices.Backward(p.logs[podKind][:p.watches[podKind].shown]) {
		if c.group == g.no && c.zone == n && c.ordinal == ordinal {
			return c.pod.bare()
		}
	}
	return false
}
