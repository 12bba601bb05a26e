package judge

// inPool gives a pod the labels of a StatefulCluster.
func inPool(p *Pod) {
	p.Labels, p.Images = map[string]string{poolLabel: "db", instanceIDLabel: p.Name[len("db-"):]}, "db:1 "
}

// poolPod adds a pod of a StatefulCluster with a claim.
func (h *history) poolPod(name string) *history {
	return h.pod(name, inPool).claim(name, false, false)
}

func (h *history) claim(pod string, retired, ending bool) *history {
	id := pod[len("db-"):]
	return h.add(Event{Claim: &Claim{Name: "db-data-" + id, ID: id, Retired: retired, Ending: ending}})
}

// holdPool adds a Lease of the StatefulCluster with intents for pods, of one cause.
func (h *history) holdPool(cause string, pods ...string) *history {
	hold := &PoolHold{Pool: "db"}
	for _, pod := range pods {
		hold.Intents = append(hold.Intents, PoolIntent{Pod: pod, UID: h.pods[pod].UID, Cause: cause})
	}
	return h.add(Event{PoolHold: hold})
}

// follows creates the next pod of an identity.
func (h *history) follows(pod, uid string) *history {
	return h.pod(pod, func(p *Pod) { p.UID, p.Terminating, p.Deleted = uid, false, false })
}

// deleteClaim deletes the claim of a pod as the operator.
func (h *history) deleteClaim(pod string, retired bool) *history {
	id := pod[len("db-"):]
	return h.request(Request{Verb: "delete", Resource: "persistentvolumeclaims", Name: "db-data-" + id, Code: 200, Ended: h.now}).claim(pod, retired, true)
}

// newImage updates a pod in place as the operator.
func (h *history) newImage(pod string) *history {
	h.pod(pod, func(p *Pod) { p.Images = "db:2 " })
	return h.request(Request{Verb: "patch", Resource: "pods", Name: pod, Code: 200, Ended: h.now, Version: last(h.events).Version})
}

// plantedPools are histories of StatefulClusters.
var plantedPools = map[string]plantedCase{
	"a pod of a StatefulCluster is deleted with an intent": {
		history: newHistory().poolPod("db-a").holdPool("ScaledDown", "db-a").delete("db-a"),
	},
	"0: a pod of a StatefulCluster is deleted without an intent": {
		history: newHistory().poolPod("db-a").holdPool("ScaledDown").delete("db-a"),
		want:    []string{"0 db-a was deleted without an intent"},
	},
	"0: a pod of a StatefulCluster is deleted by force": {
		history: newHistory().poolPod("db-a").holdPool("NodeLost", "db-a").requestDelete("db-a", func(r *Request) { r.ZeroGrace = true }).terminate("db-a"),
		want:    []string{"0 db-a was deleted by force"},
	},
	"an identity is handed over": {
		history: newHistory().poolPod("db-a").holdPool(handover, "db-a").delete("db-a").remove("db-a").follows("db-a", "next"),
	},
	"an identity is handed over again under the same intent": {
		history: newHistory().poolPod("db-a").holdPool(handover, "db-a").delete("db-a").remove("db-a").follows("db-a", "next").
			deleteByOther("db-a").remove("db-a").follows("db-a", "third"),
	},
	"0: an identity gets another pod without a record": {
		history: newHistory().poolPod("db-a").holdPool("ScaledDown", "db-a").delete("db-a").remove("db-a").follows("db-a", "next"),
		want:    []string{"0 db-a was created again, and no Lease"},
	},
	"0: an identity gets another pod while the former one exists": {
		history: newHistory().poolPod("db-a").holdPool(handover, "db-a").delete("db-a").follows("db-a", "next"),
		want:    []string{"0 db-a was created again while its former pod existed"},
	},
	"a pod is updated in place with an intent": {
		history: newHistory().poolPod("db-a").holdPool("UpdatedInPlace", "db-a").newImage("db-a"),
	},
	"0: a pod is updated in place without an intent": {
		history: newHistory().poolPod("db-a").holdPool("UpdatedInPlace").newImage("db-a"),
		want:    []string{"0 db-a was updated in place without an intent"},
	},
	"a claim of an identity that has ended is deleted": {
		history: newHistory().poolPod("db-a").holdPool("ScaledDown", "db-a").delete("db-a").remove("db-a").claim("db-a", true, false).deleteClaim("db-a", true),
	},
	"0: a claim of a pod that exists is deleted": {
		history: newHistory().poolPod("db-a").claim("db-a", true, false).deleteClaim("db-a", true),
		want:    []string{"0 claim db-data-a was deleted while pod db-a existed"},
	},
	"0: a claim of an identity that has not ended is deleted": {
		history: newHistory().poolPod("db-a").holdPool("ScaledDown", "db-a").delete("db-a").remove("db-a").deleteClaim("db-a", false),
		want:    []string{"0 claim db-data-a was deleted, and its identity had not ended"},
	},
	"another client deletes a claim": {
		history: newHistory().poolPod("db-a").claim("db-a", false, true),
	},
}
