package walk

import (
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
)

const (
	// downscaleRetryInterval is the time after which an autoscaler retries a refused request.
	downscaleRetryInterval = 15 * time.Second
	// evictionRetryInterval is the time after which a drain retries a refused eviction.
	evictionRetryInterval = 5 * time.Second
)

// requestDownscale makes a user request a downscale of a zone through admission. The user retries until
// the zone has scaled down or a user requests another size.
func (w *walk) requestDownscale(g *simulatedGroup, n, to int) {
	g.sizeRequests[n]++
	g.pendingRequests++
	w.sendDownscale(g, n, to, g.sizeRequests[n])
}

// sendDownscale sends a request for a downscale: the API server reads the zone, calls a webhook, and
// updates the zone if its version has not changed.
func (w *walk) sendDownscale(g *simulatedGroup, n, to, requestNo int) {
	z := g.zones[n]
	if z.Replicas <= to || g.sizeRequests[n] != requestNo {
		g.pendingRequests--
		return
	}
	if z.absence != inGroup || w.optedOut[g.key.Namespace] { // nothing would review this downscale
		w.after(w.between(downscaleRetryInterval, downscaleRetryInterval+time.Second), func() { w.sendDownscale(g, n, to, requestNo) })
		return
	}
	began := w.now
	request := group.DownscaleRequest{Zone: z.Name, UID: z.UID, Version: z.Version, From: z.Replicas, To: to}
	w.callWebhook(func(p *process, done func(answer)) { p.admit(g, request, done) }, func(a answer) {
		w.finishAllowed(g, began, a, func() { w.applyDownscale(g, n, request, a) }, func() {
			w.after(w.between(downscaleRetryInterval, downscaleRetryInterval+time.Second), func() { w.sendDownscale(g, n, to, requestNo) })
		})
	})
}

// applyDownscale updates the zone. If the patch has the time of the downscale, it writes this time too.
func (w *walk) applyDownscale(g *simulatedGroup, n int, request group.DownscaleRequest, a answer) {
	if !w.setReplicas(g, n, downscale{actor: "a user", version: request.Version, to: request.To, shown: a.shown}) {
		return
	}
	if !a.downscaled.IsZero() {
		w.putZone(g, n, func(z *zone) { z.Downscaled = plan.Moment{Time: a.downscaled} })
	}
}

// finishAllowed carries out an allowed request, now or later within the time limit of the API server;
// or never, because another webhook can refuse it. At the end it calls done.
func (w *walk) finishAllowed(g *simulatedGroup, began instant, a answer, carryOut, done func()) {
	remaining := began + requestLimit - w.now
	if a.allowed {
		w.fire(webhookAllows, g, nil)
	}
	switch {
	case !a.allowed || remaining <= 0:
		done()
	case w.badNetworkUntil > w.now && w.chance.IntN(4) == 0:
		w.report.Faults[allowedNotCarriedOut]++
		done()
	case w.badNetworkUntil > w.now && w.chance.IntN(3) == 0:
		w.report.Faults[allowedCarriedOutLate]++
		w.after(w.between(0, remaining), func() {
			carryOut()
			done()
		})
	default:
		carryOut()
		done()
	}
}

// drain makes a client evict a pod until that exact pod is deleted.
func (w *walk) drain(g *simulatedGroup, n, ordinal int) {
	if p := g.pods[n][ordinal]; p != nil {
		g.pendingRequests++
		w.sendEviction(g, n, ordinal, p.UID)
	}
}

// sendEviction sends an eviction: the API server calls one webhook that binds the eviction, and another
// one that reviews it. Then it deletes the pod to which the eviction is bound.
func (w *walk) sendEviction(g *simulatedGroup, n, ordinal int, uid string) {
	if p := g.pods[n][ordinal]; p == nil || p.UID != uid {
		g.pendingRequests--
		return
	}
	began := w.now
	retry := func() {
		w.after(w.between(evictionRetryInterval, evictionRetryInterval+time.Second), func() { w.sendEviction(g, n, ordinal, uid) })
	}
	if w.optedOut[g.key.Namespace] { // nothing would review this eviction
		retry()
		return
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
