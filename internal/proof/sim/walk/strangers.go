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

// stranger reports whether a pod is a stranger. It accepts nil, as the other methods do.
func (p *pod) stranger() bool { return p != nil && p.unnamed && p.owner == "" }

// ofZone reports whether a pod exists and is a pod of its zone.
func (p *pod) ofZone() bool { return p != nil && !p.stranger() }

// serves reports whether a pod is up and is a pod of its zone.
func (p *pod) serves() bool { return p.ofZone() && p.Up() }

// podName is what users and strangers do with the name of a pod.
type podName struct {
	claim   Step         // of a user who waits until the name is free
	until   instant      // until then
	strange plan.Version // of the last change of a stranger with this name
}

// strangeSince reports whether a stranger has had a name at a version or later.
func (g *simulatedGroup) strangeSince(n, ordinal int, version plan.Version) bool {
	return g.pods[n][ordinal].stranger() || g.names[n][ordinal].strange > version
}

// claim makes a user create a stranger, at the latest when its name has become free. Half of the users
// delete the pod that has the name.
func (w *walk) claim(g *simulatedGroup, s Step) {
	s.Value %= g.ordinals()
	at, p := &g.names[s.Zone][s.Value], g.pods[s.Zone][s.Value]
	switch {
	case at.until > w.now || p.stranger():
		return // another user is faster
	case p == nil:
		w.createStranger(g, s)
		return
	}
	at.claim, at.until = s, min(w.now+s.Lasts+time.Minute, w.schedule.Ends)
	if p.Up() && w.chance.IntN(2) == 0 {
		w.report.Faults[podsLost]++
		w.leave(g, s.Zone, s.Value, "a user deletes")
	}
}

// nameIsFree makes the user who waits for a name create a stranger, if the StatefulSet controller does
// not create a pod before.
func (w *walk) nameIsFree(g *simulatedGroup, n, ordinal int) {
	at := &g.names[n][ordinal]
	if at.until <= w.now {
		return
	}
	at.until = 0
	w.after(w.between(0, 20*time.Millisecond), func() {
		if g.pods[n][ordinal] == nil {
			w.createStranger(g, at.claim)
		}
	})
}

// createStranger creates a stranger that lasts for a time. Meanwhile and afterwards clients evict the
// pod that has its name.
func (w *walk) createStranger(g *simulatedGroup, s Step) {
	if w.now >= w.schedule.Ends {
		return
	}
	n, ordinal := s.Zone, s.Value
	w.uids++
	uid := "pod-" + strconv.Itoa(w.uids)
	next := pod{unnamed: true, foreign: true, Pod: plan.Pod{
		Name: plan.PodName(g.zones[n].Name, ordinal), Ordinal: ordinal, UID: uid,
		Created: plan.UnixTimeOf(w.wall()), IP: "10.0.0.1", Phase: plan.Starting,
	}}
	w.report.Faults[strangersCreated]++
	w.story(g, "a user creates", next.Name)
	w.storePod(g, n, ordinal, next)
	w.start(g, n, ordinal)
	lasts := min(s.Lasts, w.schedule.Ends-w.now)
	w.after(lasts, func() { w.endStranger(g, s, uid) })
	for range w.chance.IntN(4) {
		w.after(w.between(0, min(lasts+time.Minute, w.schedule.Ends-w.now)), func() { w.drain(g, n, ordinal) })
	}
}

// endStranger makes a user delete a stranger, or label it so that its StatefulSet adopts it.
func (w *walk) endStranger(g *simulatedGroup, s Step, uid string) {
	p := g.pods[s.Zone][s.Value]
	if !p.stranger() || p.UID != uid || p.Phase == plan.Leaving {
		return
	}
	if s.Kind == Stranger {
		w.leave(g, s.Zone, s.Value, "a user deletes")
		return
	}
	w.comes(aStrangerGoes, g, nil)
	w.story(g, "a user gives", p.Name, "the labels of its zone")
	next := *p
	next.foreign = false
	w.storePod(g, s.Zone, s.Value, next)
}

// reached returns the number of ordinals that the StatefulSet controller processes. It creates pods in
// order and stops at the first name that a stranger has.
func (g *simulatedGroup) reached(n int) int {
	if taken := slices.IndexFunc(g.pods[n][:g.zones[n].Replicas], (*pod).stranger); taken >= 0 {
		return taken
	}
	return g.ordinals()
}

// adoptsStranger counts the adoption of a stranger.
func (w *walk) adoptsStranger(g *simulatedGroup, p *pod) {
	if p.stranger() {
		w.report.Faults[strangersAdopted]++
		w.comes(aStrangerGoes, g, nil)
	}
}

// identify makes the StatefulSet controller give an adopted pod the pod-name label.
func (w *walk) identify(g *simulatedGroup, n, ordinal int) {
	next := *g.pods[n][ordinal]
	next.unnamed = false
	w.storePod(g, n, ordinal, next)
}

// trusts reports whether a process evicts the pod of a name without a webhook, because its caches show
// a stranger.
func (p *process) trusts(g *simulatedGroup, n, ordinal int) bool {
	if !p.schedule.Rules.Trusting {
		return false
	}
	for _, c := range slices.Backward(p.logs[ofPods][:p.watches[ofPods].shown]) {
		if c.group == g.no && c.zone == n && c.ordinal == ordinal {
			return c.pod.stranger()
		}
	}
	return false
}
