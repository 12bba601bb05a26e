package walk

import (
	"slices"
	"time"
)

// moment is an event at which faults are most likely to matter.
type moment int

const (
	anytime moment = iota
	aLookBegins
	aHoldIsWritten
	aPodIsSentAway
	aWebhookSaysYes
	aStrangerGoes // only steps that strangers come with wait for it
	moments
)

var momentNames = [moments]string{
	aLookBegins: " as a look begins", aHoldIsWritten: " as a hold is written", aPodIsSentAway: " as a pod is sent away", aWebhookSaysYes: " as a webhook says yes",
	aStrangerGoes: " as a stranger goes or is adopted",
}

// comes runs one of the steps that wait for a moment. If the step is about pods, it
// affects this group. If it is about processes and p is not nil, it affects this process.
func (w *walk) comes(m moment, g *simulatedGroup, p *process) {
	i := slices.IndexFunc(w.waiting, func(s Step) bool { return s.Waits == m })
	if i < 0 {
		return
	}
	s := w.waiting[i]
	w.waiting = slices.Delete(w.waiting, i, i+1)
	switch {
	case s.Kind <= Churn:
		s.Group, s.Zone = g.no, s.Zone%len(g.zones)
		if s.Kind == Stop {
			s.Zone = g.heldZone(s.Zone)
		}
		s.Value %= max(1, g.zones[s.Zone].Replicas)
	case p != nil:
		s.Group = p.no
	}
	soon := []time.Duration{time.Millisecond, 10 * time.Millisecond, time.Second}[w.chance.IntN(3)]
	w.after(w.between(0, soon), func() { w.do(s) })
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
