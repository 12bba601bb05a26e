package judge

// poolPod adds the pod db-a of a StatefulCluster, with a claim.
func (h *history) poolPod() *history {
	inPool := func(p *Pod) { p.Labels, p.Images = map[string]string{poolLabel: "db", instanceIDLabel: "a"}, "db:1 " }
	return h.pod("db-a", inPool).claim(false, false)
}

// claim adds a state of the claim of db-a.
func (h *history) claim(retired, ending bool) *history {
	return h.add(Event{Claim: &Claim{Name: "db-data-a", Pool: "db", PoolUID: "db@1", ID: "a", Retired: retired, Ending: ending}})
}

// markClaim marks the claim of db-a for the end of a pod.
func (h *history) markClaim(pod string) *history {
	return h.add(Event{Claim: &Claim{Name: "db-data-a", Pool: "db", PoolUID: "db@1", ID: "a", From: h.pods[pod].UID}})
}

// holdPool adds a Lease of the StatefulCluster with intents for pods, of one cause.
func (h *history) holdPool(cause string, pods ...string) *history {
	hold := &PoolHold{Pool: "db"}
	for _, pod := range pods {
		hold.Intents = append(hold.Intents, PoolIntent{Pod: pod, UID: h.pods[pod].UID, Cause: cause})
	}
	return h.add(Event{PoolHold: hold})
}

// follows creates the next pod db-a.
func (h *history) follows(uid string) *history {
	return h.pod("db-a", func(p *Pod) { p.UID, p.Terminating, p.Deleted = uid, false, false })
}

// deleteClaim deletes the claim of db-a as the operator.
func (h *history) deleteClaim(retired bool) *history {
	return h.request(Request{Verb: "delete", Resource: "persistentvolumeclaims", Name: "db-data-a", Code: 200, Ended: h.now}).claim(retired, true)
}

// newImage updates db-a in place as the operator.
func (h *history) newImage() *history {
	const pod = "db-a"
	h.pod(pod, func(p *Pod) { p.Images = "db:2 " })
	return h.request(Request{Verb: "patch", Resource: "pods", Name: pod, Code: 200, Ended: h.now, Version: last(h.events).Version})
}

// plantedPools are histories of StatefulClusters.
var plantedPools = map[string]plantedCase{
	"a pod of a StatefulCluster is deleted with an intent": {
		history: newHistory().poolPod().holdPool("ScaledDown", "db-a").delete("db-a"),
	},
	"0: a pod of a StatefulCluster is deleted without an intent": {
		history: newHistory().poolPod().holdPool("ScaledDown").delete("db-a"),
		want:    []string{"0 db-a was deleted without an intent"},
	},
	"0: a pod of a StatefulCluster is deleted by force": {
		history: newHistory().poolPod().holdPool("NodeLost", "db-a").requestDelete("db-a", func(r *Request) { r.ZeroGrace = true }).terminate("db-a"),
		want:    []string{"0 db-a was to be deleted by force"},
	},
	"a pod of a StatefulCluster is evicted with an intent": {
		history: newHistory().poolPod().holdPool("EvictionGranted", "db-a").evict("db-a"),
		rules:   evictionWebhook,
	},
	"0: a pod of a StatefulCluster is evicted without an intent": {
		history: newHistory().poolPod().holdPool("EvictionGranted").evict("db-a"),
		rules:   evictionWebhook,
		want:    []string{"0 db-a was evicted while it served, without an intent"},
	},
	"a pod of a StatefulCluster that is down is evicted without an intent": {
		history: newHistory().poolPod().pod("db-a", setNotReady).evict("db-a"),
		rules:   evictionWebhook,
	},
	"an identity is handed over after an eviction, and its claims said so before": {
		history: newHistory().poolPod().markClaim("db-a").holdPool(grantedEviction, "db-a").evict("db-a").remove("db-a").follows("next"),
		rules:   evictionWebhook,
	},
	"0: an identity is handed over after an eviction, and its claims did not say so": {
		history: newHistory().poolPod().holdPool(grantedEviction, "db-a").evict("db-a").remove("db-a").follows("next"),
		rules:   evictionWebhook,
		want:    []string{"0 db-a was created again, and no Lease has recorded that its identity is handed over"},
	},
	"an identity is handed over": {
		history: newHistory().poolPod().holdPool(handover, "db-a").delete("db-a").remove("db-a").follows("next"),
	},
	"an identity is handed over again under the same intent": {
		history: newHistory().poolPod().holdPool(handover, "db-a").delete("db-a").remove("db-a").follows("next").
			deleteByOther("db-a").remove("db-a").follows("third"),
	},
	"0: an identity gets another pod without a record": {
		history: newHistory().poolPod().holdPool("ScaledDown", "db-a").delete("db-a").remove("db-a").follows("next"),
		want:    []string{"0 db-a was created again, and no Lease"},
	},
	"0: an identity gets another pod while the former one exists": {
		history: newHistory().poolPod().holdPool(handover, "db-a").delete("db-a").follows("next"),
		want:    []string{"0 db-a was created again while its former pod existed"},
	},
	"a pod is updated in place with an intent": {
		history: newHistory().poolPod().holdPool("UpdatedInPlace", "db-a").newImage(),
	},
	"0: a pod is updated in place without an intent": {
		history: newHistory().poolPod().holdPool("UpdatedInPlace").newImage(),
		want:    []string{"0 db-a was updated in place without an intent"},
	},
	"a claim of an identity that has ended is deleted": {
		history: newHistory().poolPod().holdPool("ScaledDown", "db-a").delete("db-a").remove("db-a").claim(true, false).deleteClaim(true),
	},
	"0: a claim of a pod that exists is deleted": {
		history: newHistory().poolPod().claim(true, false).deleteClaim(true),
		want:    []string{"0 claim db-data-a was deleted while pod db-a existed"},
	},
	"0: a claim of an identity that has not ended is deleted": {
		history: newHistory().poolPod().holdPool("ScaledDown", "db-a").delete("db-a").remove("db-a").deleteClaim(false),
		want:    []string{"0 claim db-data-a was deleted, and its identity had not ended"},
	},
	"another client deletes a claim": {
		history: newHistory().poolPod().claim(false, true),
	},
}
