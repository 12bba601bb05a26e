package walk

import (
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
)

const (
	// asksAgain is after how long an autoscaler asks again that was refused.
	asksAgain = 15 * time.Second
	// evictsAgain is after how long a drain asks again that was refused.
	evictsAgain = 5 * time.Second
)

// shrink lets somebody want a zone to shrink through admission, until it has or somebody
// wants something else of it.
func (w *walk) shrink(g *group, n, to int) {
	g.wishes[n]++
	g.asking++
	w.askToShrink(g, n, to, g.wishes[n])
}

// askToShrink: the API server reads the zone, asks a webhook, and updates the zone if it
// is still the one that was judged.
func (w *walk) askToShrink(g *group, n, to, wish int) {
	z := g.zones[n]
	if z.Replicas <= to || g.wishes[n] != wish {
		g.asking--
		return
	}
	if z.away != inGroup { // it is no zone of the group that shrinks
		w.after(w.between(asksAgain, asksAgain+time.Second), func() { w.askToShrink(g, n, to, wish) })
		return
	}
	began := w.now
	ask := plan.DownscaleRequest{Zone: z.Name, UID: z.UID, Version: z.Version, From: z.Replicas, To: to}
	w.call(func(p *process, done func(answer)) { p.admit(g, ask, done) }, func(a answer) {
		w.carryOut(g, began, a, func() { w.shrinkNow(g, n, ask, a) }, func() {
			w.after(w.between(asksAgain, asksAgain+time.Second), func() { w.askToShrink(g, n, to, wish) })
		})
	})
}

// shrinkNow updates the zone. The time of the downscale goes along where it can.
func (w *walk) shrinkNow(g *group, n int, ask plan.DownscaleRequest, a answer) {
	if !w.setReplicas(g, n, downscale{by: "a user", version: ask.Version, to: ask.To, shown: a.shown}) {
		return
	}
	if !a.since.IsZero() {
		w.putZone(g, n, func(z *zone) { z.Downscaled = plan.Moment{Time: a.since} })
	}
}

// carryOut does what was allowed, at once or some time later, as long as the API server
// works on the request; or never, as another webhook may refuse it.
func (w *walk) carryOut(g *group, began instant, a answer, do, then func()) {
	left := began + requestLimit - w.now
	if a.yes {
		w.comes(aWebhookSaysYes, g, nil)
	}
	switch {
	case !a.yes || left <= 0:
		then()
	case w.network > w.now && w.chance.IntN(4) == 0:
		w.report.Faults[yesInVain]++
		then()
	case w.network > w.now && w.chance.IntN(3) == 0:
		w.report.Faults[yesLate]++
		w.after(w.between(0, left), func() {
			do()
			then()
		})
	default:
		do()
		then()
	}
}

// drain lets somebody want a pod to leave, until the very pod has.
func (w *walk) drain(g *group, n, ordinal int) {
	if p := g.pods[n][ordinal]; p != nil {
		g.asking++
		w.askToEvict(g, n, ordinal, p.UID)
	}
}

// askToEvict: the API server has one webhook bind the eviction and another one judge it,
// and deletes the pod that it is bound to.
func (w *walk) askToEvict(g *group, n, ordinal int, uid string) {
	if p := g.pods[n][ordinal]; p == nil || p.UID != uid {
		g.asking--
		return
	}
	began := w.now
	again := func() {
		w.after(w.between(evictsAgain, evictsAgain+time.Second), func() { w.askToEvict(g, n, ordinal, uid) })
	}
	var b bound
	w.call(func(p *process, done func(answer)) {
		p.pin(g, n, ordinal, func(pinned bound, ok bool) {
			b = pinned
			done(answer{yes: ok})
		})
	}, func(a answer) {
		if !a.yes {
			again()
			return
		}
		w.call(func(p *process, done func(answer)) { p.evict(g, b, done) }, func(a answer) {
			w.carryOut(g, began, a, func() {
				w.deletePod(g, n, ordinal, takedown{by: "the API server", uid: b.uid, version: b.version, shown: a.shown, evicted: true})
			}, again)
		})
	})
}
