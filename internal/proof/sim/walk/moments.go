package walk

import (
	"slices"
	"time"
)

// moment is when something happens around which things go wrong best.
type moment int

const (
	anytime moment = iota
	aLookBegins
	aHoldIsWritten
	aPodIsSentAway
	aWebhookSaysYes
	moments
)

var momentNames = [moments]string{
	aLookBegins: " as a look begins", aHoldIsWritten: " as a hold is written", aPodIsSentAway: " as a pod is sent away", aWebhookSaysYes: " as a webhook says yes",
}

// comes lets one of the steps happen that lie in wait for a moment: to this group, if it
// is about pods, and to this process, if there is one, if it is about processes.
func (w *walk) comes(m moment, g *group, p *process) {
	i := slices.IndexFunc(w.waiting, func(s Step) bool { return s.Waits == m })
	if i < 0 {
		return
	}
	s := w.waiting[i]
	w.waiting = slices.Delete(w.waiting, i, i+1)
	switch {
	case s.Kind <= Churn:
		s.Group, s.Zone = g.no, s.Zone%len(g.zones)
		s.Value %= max(1, g.zones[s.Zone].Replicas)
	case p != nil:
		s.Group = p.no
	}
	soon := []time.Duration{time.Millisecond, 10 * time.Millisecond, time.Second}[w.chance.IntN(3)]
	w.after(w.between(0, soon), func() { w.do(s) })
}
