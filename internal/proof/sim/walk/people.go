package walk

import (
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan/group"
)

const (
	// asksAgain is the time after which an autoscaler retries a refused request.
	asksAgain = 15 * time.Second
	// evictsAgain is the time after which a drain retries a refused eviction.
	evictsAgain = 5 * time.Second
)

// shrink makes a user request a downscale of a zone through admission, until the zone has
// scaled down or a user requests another size.
func (w *walk) shrink(g *simulatedGroup, n, to int) {
	g.wishes[n]++
	g.asking++
	w.askToShrink(g, n, to, g.wishes[n])
}

// askToShrink: the API server reads the zone, calls a webhook, and updates the zone if
// its version has not changed.
func (w *walk) askToShrink(g *simulatedGroup, n, to, wish int) {
	z := g.zones[n]
	if z.Replicas <= to || g.wishes[n] != wish {
		g.asking--
		return
	}
	if z.away != inGroup { // then it is no downscale of a zone of the group
		w.after(w.between(asksAgain, asksAgain+time.Second), func() { w.askToShrink(g, n, to, wish) })
		return
	}
	began := w.now
	ask := group.DownscaleRequest{Zone: z.Name, UID: z.UID, Version: z.Version, From: z.Replicas, To: to}
	w.call(func(p *process, done func(answer)) { p.admit(g, ask, done) }, func(a answer) {
		w.carryOut(g, began, a, func() { w.shrinkNow(g, n, ask, a) }, func() {
			w.after(w.between(asksAgain, asksAgain+time.Second), func() { w.askToShrink(g, n, to, wish) })
		})
	})
}

// shrinkNow updates the zone, with the time of the downscale if the patch has it.
func (w *walk) shrinkNow(g *simulatedGroup, n int, ask group.DownscaleRequest, a answer) {
	if !w.setReplicas(g, n, downscale{by: "a user", version: ask.Version, to: ask.To, shown: a.shown}) {
		return
	}
	if !a.since.IsZero() {
		w.putZone(g, n, func(z *zone) { z.Downscaled = group.Moment{Time: a.since} })
	}
}

// carryOut carries out an allowed request, now or later, within the time limit of the API
// server; or never, because another webhook can refuse it.
func (w *walk) carryOut(g *simulatedGroup, began instant, a answer, do, then func()) {
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

// drain makes a client evict a pod until that exact pod is deleted.
func (w *walk) drain(g *simulatedGroup, n, ordinal int) {
	if p := g.pods[n][ordinal]; p != nil {
		g.asking++
		w.askToEvict(g, n, ordinal, p.UID)
	}
}

// askToEvict: the API server calls one webhook that binds the eviction and another one
// that judges it. Then it deletes the pod that the eviction is bound to.
func (w *walk) askToEvict(g *simulatedGroup, n, ordinal int, uid string) {
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
				w.deletePod(g, n, ordinal, disruption{by: b.by(a.why), uid: b.uid, version: b.version, shown: a.shown, evicted: true})
			}, again)
		})
	})
}
