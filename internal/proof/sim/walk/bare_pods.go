package walk

import (
	"slices"
	"strconv"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
)

// A bare pod is a pod with the name of a pod of a zone that no StatefulSet controls, because a user created it
// or changed its labels. The zone lacks the pod of that name until the bare pod is deleted, or until the
// StatefulSet adopts it because its labels match.

// bare reports whether a pod is a bare pod. It accepts nil, as the other methods do.
func (p *pod) bare() bool {
	return p != nil && p.owner == "" && (p.userCreated || p.mislabelled != nil)
}

// inZone reports whether a pod exists and is a pod of its zone.
func (p *pod) inZone() bool { return p != nil && !p.bare() }

// upInZone reports whether a pod is up and is a pod of its zone.
func (p *pod) upInZone() bool { return p.inZone() && p.Up() }

// podName has the user actions and the bare pods of one pod name.
type podName struct {
	waiting        Step         // of the user that waits until the name is free
	waitsUntil     instant      // the user waits until then
	barePodChanged plan.Version // of the last change of a bare pod with this name
}

// barePodSince reports whether a bare pod has had a name at a version or later.
func (g *simulatedGroup) barePodSince(n, ordinal int, version plan.Version) bool {
	return g.pods[n][ordinal].bare() || g.podNames[n][ordinal].barePodChanged > version
}

// createBarePodLater makes a user create a bare pod: at once if the name is free, otherwise once it
// becomes free. Half of the users delete the pod that has the name.
func (w *walk) createBarePodLater(g *simulatedGroup, s Step) {
	s.Value %= g.ordinals()
	name, p := &g.podNames[s.Zone][s.Value], g.pods[s.Zone][s.Value]
	switch {
	case name.waitsUntil > w.now || p.bare():
		return // another user has the name or waits for it
	case p == nil:
		w.createBarePod(g, s)
		return
	}
	name.waiting, name.waitsUntil = s, min(w.now+s.Duration+time.Minute, w.schedule.FaultsEnd)
	if p.Up() && w.chance.IntN(2) == 0 {
		w.report.Faults[podsDeletedByOthers]++
		w.terminatePod(g, s.Zone, s.Value, "a user deletes")
	}
}

// nameReleased makes the user that waits for a name create a bare pod, unless the StatefulSet controller
// creates a pod before.
func (w *walk) nameReleased(g *simulatedGroup, n, ordinal int) {
	name := &g.podNames[n][ordinal]
	if name.waitsUntil <= w.now {
		return
	}
	name.waitsUntil = 0
	w.after(w.between(0, 20*time.Millisecond), func() {
		if g.pods[n][ordinal] == nil {
			w.createBarePod(g, name.waiting)
		}
	})
}

// createBarePod makes a user create a bare pod for a time. Meanwhile and afterwards clients evict the pod
// that has the name.
func (w *walk) createBarePod(g *simulatedGroup, s Step) {
	if w.now >= w.schedule.FaultsEnd {
		return
	}
	n, ordinal := s.Zone, s.Value
	w.uids++
	uid := "pod-" + strconv.Itoa(w.uids)
	next := pod{userCreated: true, mislabelled: g.otherLabels(n, uid), Pod: plan.Pod{
		Name: plan.PodName(g.zones[n].Name, ordinal), Ordinal: ordinal, UID: uid,
		Created: plan.UnixTimeOf(w.wall()), IP: "10.0.0.1", Phase: plan.Starting,
	}}
	w.report.Faults[barePodsCreated]++
	w.trace(g, "a user creates", next.Name)
	w.storePod(g, n, ordinal, next)
	w.startPod(g, n, ordinal)
	duration := min(s.Duration, w.schedule.FaultsEnd-w.now)
	w.after(duration, func() { w.endBarePod(g, s, uid) })
	for range w.chance.IntN(4) {
		w.after(w.between(0, min(duration+time.Minute, w.schedule.FaultsEnd-w.now)), func() { w.drain(g, n, ordinal) })
	}
}

// endBarePod makes a user delete a bare pod, or label it so that the StatefulSet adopts it.
func (w *walk) endBarePod(g *simulatedGroup, s Step, uid string) {
	p := g.pods[s.Zone][s.Value]
	if !p.bare() || p.UID != uid || p.Phase == plan.Terminating {
		return
	}
	if s.Kind == BarePod {
		w.terminatePod(g, s.Zone, s.Value, "a user deletes")
		return
	}
	w.fire(barePodReplaced, g, nil)
	w.trace(g, "a user gives", p.Name, "the labels of its zone")
	next := *p
	next.mislabelled = nil
	w.storePod(g, s.Zone, s.Value, next)
}

// processedOrdinals returns the number of ordinals that the StatefulSet controller processes. It creates pods
// in order and stops at the first name that a bare pod has.
func (g *simulatedGroup) processedOrdinals(n int) int {
	if barePod := slices.IndexFunc(g.pods[n][:g.zones[n].Replicas], (*pod).bare); barePod >= 0 {
		return barePod
	}
	return g.ordinals()
}

// countBarePodAdoption counts the adoption of a bare pod.
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

// skipsWebhook reports whether a process allows the eviction of a pod without a review, because its
// caches show a bare pod.
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
