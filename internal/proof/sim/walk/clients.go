package walk

import (
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan/group"
)

const (
	// downscaleRetryInterval is the time after which an autoscaler retries a refused request.
	downscaleRetryInterval = 15 * time.Second
	// evictionRetryInterval is the time after which a drain retries a refused eviction.
	evictionRetryInterval = 5 * time.Second
)

// requestDownscale makes a user request a downscale of a zone through admission, until the zone has
// scaled down or a user requests another size.
func (w *walk) requestDownscale(g *simulatedGroup, n, to int) {
	g.sizeRequests[n]++
	g.pendingRequests++
	w.sendDownscale(g, n, to, g.sizeRequests[n])
}

// sendDownscale: the API server reads the zone, calls a webhook, and updates the zone if
// its version has not changed.
func (w *walk) sendDownscale(g *simulatedGroup, n, to, request int) {
	z := g.zones[n]
	if z.Replicas <= to || g.sizeRequests[n] != request {
		g.pendingRequests--
		return
	}
	if z.absence != inGroup { // then it is no downscale of a zone of the group
		w.after(w.between(downscaleRetryInterval, downscaleRetryInterval+time.Second), func() { w.sendDownscale(g, n, to, request) })
		return
	}
	began := w.now
	ask := group.DownscaleRequest{Zone: z.Name, UID: z.UID, Version: z.Version, From: z.Replicas, To: to}
	w.callWebhook(func(p *process, done func(answer)) { p.admit(g, ask, done) }, func(a answer) {
		w.finishAllowed(g, began, a, func() { w.applyDownscale(g, n, ask, a) }, func() {
			w.after(w.between(downscaleRetryInterval, downscaleRetryInterval+time.Second), func() { w.sendDownscale(g, n, to, request) })
		})
	})
}

// applyDownscale updates the zone, with the time of the downscale if the patch has it.
func (w *walk) applyDownscale(g *simulatedGroup, n int, ask group.DownscaleRequest, a answer) {
	if !w.setReplicas(g, n, downscale{actor: "a user", version: ask.Version, to: ask.To, shown: a.shown}) {
		return
	}
	if !a.downscaled.IsZero() {
		w.putZone(g, n, func(z *zone) { z.Downscaled = group.Moment{Time: a.downscaled} })
	}
}

// finishAllowed carries out an allowed request, now or later, within the time limit of the API
// server; or never, because another webhook can refuse it.
func (w *walk) finishAllowed(g *simulatedGroup, began instant, a answer, do, then func()) {
	left := began + requestLimit - w.now
	if a.allowed {
		w.fire(webhookAllows, g, nil)
	}
	switch {
	case !a.allowed || left <= 0:
		then()
	case w.badNetworkUntil > w.now && w.chance.IntN(4) == 0:
		w.report.Faults[allowedNotCarriedOut]++
		then()
	case w.badNetworkUntil > w.now && w.chance.IntN(3) == 0:
		w.report.Faults[allowedCarriedOutLate]++
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
		g.pendingRequests++
		w.sendEviction(g, n, ordinal, p.UID)
	}
}

// sendEviction: the API server calls one webhook that binds the eviction and another one
// that judges it. Then it deletes the pod that the eviction is bound to.
func (w *walk) sendEviction(g *simulatedGroup, n, ordinal int, uid string) {
	if p := g.pods[n][ordinal]; p == nil || p.UID != uid {
		g.pendingRequests--
		return
	}
	began := w.now
	retry := func() {
		w.after(w.between(evictionRetryInterval, evictionRetryInterval+time.Second), func() { w.sendEviction(g, n, ordinal, uid) })
	}
	var b boundEviction
	w.callWebhook(func(p *process, done func(answer)) {
		p.pin(g, n, ordinal, func(pinned boundEviction, ok bool) {
			b = pinned
			done(answer{allowed: ok})
		})
	}, func(a answer) {
		if !a.allowed {
			retry()
			return
		}
		w.callWebhook(func(p *process, done func(answer)) { p.evict(g, b, done) }, func(a answer) {
			w.finishAllowed(g, began, a, func() {
				w.deletePod(g, n, ordinal, disruption{actor: b.actor(a.reason), uid: b.uid, version: b.version, shown: a.shown, evicted: true})
			}, retry)
		})
	})
}
