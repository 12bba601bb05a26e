package walk

import (
	"slices"
	"time"
)

// trigger is an event at which faults are most likely to matter.
type trigger int

const (
	noTrigger trigger = iota
	liveReadBegins
	holdWritten
	podDeleted
	webhookAllows
	barePodReplaced // only steps that strangers come with wait for it
	triggers
)

var triggerNames = [triggers]string{
	liveReadBegins: " as a look begins", holdWritten: " as a hold is written", podDeleted: " as a pod is sent away", webhookAllows: " as a webhook says yes",
	barePodReplaced: " as a stranger goes or is adopted",
}

// fire runs one of the steps that wait for a moment. If the step is about pods, it
// affects this group. If it is about processes and p is not nil, it affects this process.
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
