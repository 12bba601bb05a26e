package walk

import (
	"slices"
	"time"
)

// trigger is an event at which faults are most likely to have consequences.
type trigger int

const (
	noTrigger trigger = iota
	liveReadBegins
	holdWritten
	podDeleted
	webhookAllows
	barePodReplaced // only steps that accompany bare pods wait for it
	triggers
)

var triggerNames = [triggers]string{
	liveReadBegins: " when a live read begins", holdWritten: " when a hold is written", podDeleted: " when lockstep or an eviction deletes a pod", webhookAllows: " when a webhook allows a request",
	barePodReplaced: " when a bare pod is deleted or adopted",
}

// fire runs one of the steps that wait for a trigger. A step about pods then affects this group. A step
// about processes affects this process, unless p is nil.
func (w *walk) fire(m trigger, g *simulatedGroup, p *process) {
	i := slices.IndexFunc(w.waitingSteps, func(s Step) bool { return s.Trigger == m })
	if i < 0 {
		return
	}
	s := w.waitingSteps[i]
	w.waitingSteps = slices.Delete(w.waitingSteps, i, i+1)
	switch {
	case s.Kind <= UpdatePod:
		s.Group, s.Zone = g.no, s.Zone%len(g.zones)
		if s.Kind == UnseenPause {
			s.Zone = g.heldZone(s.Zone)
		}
		s.Value %= max(1, g.zones[s.Zone].Replicas)
	case p != nil:
		s.Group = p.no
	}
	soon := []time.Duration{time.Millisecond, 10 * time.Millisecond, time.Second}[w.chance.IntN(3)]
	w.after(w.between(0, soon), func() { w.runStep(s) })
}

// heldZone returns the zone of the holder, or another one if the group is free.
func (g *simulatedGroup) heldZone(other int) int {
	if g.lease == nil {
		return other
	}
	if n := slices.IndexFunc(g.zones, func(z *zone) bool { return z.Name == g.lease.Holder.Zone() }); n >= 0 {
		return n
	}
	return other
}
