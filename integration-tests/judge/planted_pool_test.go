package judge

import (
	"math"
	"time"
)

// pool adds a state of the StatefulCluster db.
func (h *history) pool(change func(*Pool)) *history {
	p := &Pool{Name: "db", UID: "db@1", Replicas: 3, MaxUnavailable: 1, RetiredLimit: math.MaxInt}
	if change != nil {
		change(p)
	}
	return h.add(Event{Pool: p})
}

func ofReplicas(n int) func(*Pool) { return func(p *Pool) { p.Replicas = n } }

// threeOfPool adds the StatefulCluster db and its pods db-a, db-b and db-c.
func (h *history) threeOfPool(change func(*Pool)) *history {
	h.pool(change)
	for _, id := range []string{"a", "b", "c"} {
		h.podOfPool(id)
	}
	return h.after(time.Minute)
}

// podOfPool adds a pod of the StatefulCluster db with this identity.
func (h *history) podOfPool(id string) *history {
	return h.pod("db-"+id, func(p *Pod) {
		p.Labels = map[string]string{poolLabel: "db", instanceIDLabel: id}
		p.Images, p.Containers, p.Claims = "db:1 ", "first ", []string{"db-data-" + id}
	})
}

// begin begins the update of a pod in place, as the operator does.
func (h *history) begin(pod string) *history {
	h.pod(pod, func(p *Pod) { p.Images, p.Update = "db:2 ", "begun" })
	return h.request(Request{Verb: "patch", Resource: "pods", Name: pod, Code: 200, Ended: h.now, Version: last(h.events).Version})
}

// restarts makes the kubelet start the containers of a pod again.
func (h *history) restarts(pod string) *history {
	return h.pod(pod, func(p *Pod) { p.Containers, p.ReadySince = "next ", time.Time{} })
}

// retired marks the claim of db-a, whose identity ended for a reason.
func (h *history) retired(because string, change func(*Claim)) *history {
	c := &Claim{Name: "db-data-a", Pool: "db", PoolUID: "db@1", ID: "a", Retired: true, RetiredAt: h.now, Because: because}
	if change != nil {
		change(c)
	}
	return h.add(Event{Claim: c})
}

// dropsClaim deletes the claim of db-a, which is as before.
func (h *history) dropsClaim() *history {
	claim := *last(h.events).Claim
	claim.Ending = true
	return h.request(Request{Verb: "delete", Resource: "persistentvolumeclaims", Name: claim.Name, Code: 200, Ended: h.now}).add(Event{Claim: &claim})
}

const updatedInPlace = "UpdatedInPlace"

// plantedPoolIdentities are histories in which identities meet.
var plantedPoolIdentities = map[string]plantedCase{
	"0: a second pod of an identity has another name": {
		history: newHistory().threeOfPool(nil).pod("other", func(p *Pod) {
			p.Labels, p.Claims = map[string]string{poolLabel: "db", instanceIDLabel: "a"}, []string{"other"}
		}),
		want: []string{"0 other was created again, and no Lease", "0 other was created while db-a of the same identity existed"},
	},
	"0: a pod mounts the claim of another identity": {
		history: newHistory().threeOfPool(ofReplicas(4)).pod("db-d", func(p *Pod) {
			p.Labels, p.Claims = map[string]string{poolLabel: "db", instanceIDLabel: "d"}, []string{"db-data-a"}
		}),
		want: []string{"0 db-d mounts claim db-data-a, as db-a does"},
	},
	"a pod mounts the claim of a pod that is gone": {
		history: newHistory().threeOfPool(nil).deleteByOther("db-a").remove("db-a").pod("db-d", func(p *Pod) {
			p.Labels, p.Claims = map[string]string{poolLabel: "db", instanceIDLabel: "d"}, []string{"db-data-a"}
		}),
	},
	"two StatefulClusters have the same identity": {
		history: newHistory().threeOfPool(nil).pod("web-a", func(p *Pod) { p.Labels = map[string]string{poolLabel: "web", instanceIDLabel: "a"} }),
	},
	"0: a pod that terminates already is deleted by force": {
		history: newHistory().threeOfPool(nil).holdPool("NodeLost", "db-a").delete("db-a").requestDelete("db-a", func(r *Request) { r.ZeroGrace = true }),
		want:    []string{"0 db-a was to be deleted by force"},
	},
	"a kubelet ends a pod that terminates": {
		history: newHistory().threeOfPool(nil).holdPool("NodeLost", "db-a").delete("db-a").
			requestDelete("db-a", func(r *Request) { r.ZeroGrace, r.User = true, "kubelet" }).remove("db-a"),
	},
}

// plantedPoolBudgets are histories in which several pods of a StatefulCluster are unavailable.
var plantedPoolBudgets = map[string]plantedCase{
	"0: two pods are handed over at a time": {
		history: newHistory().threeOfPool(nil).holdPool(handover, "db-a", "db-b").delete("db-a").delete("db-b"),
		want:    []string{"0 db-b was deleted, so 2 of 3 pods were unavailable, 1 allowed"},
	},
	"two pods are handed over, as the StatefulCluster allows": {
		history: newHistory().threeOfPool(func(p *Pool) { p.MaxUnavailable = 2 }).holdPool(handover, "db-a", "db-b").delete("db-a").delete("db-b"),
	},
	"0: the next pod is handed over before the first is back": {
		history: newHistory().threeOfPool(nil).holdPool(handover, "db-a", "db-b").delete("db-a").remove("db-a").
			pod("db-a", func(p *Pod) { p.UID, p.Terminating, p.Deleted, p.Ready = "next", false, false, false }).delete("db-b"),
		want: []string{"0 db-b was deleted, so 2 of 3 pods were unavailable, 1 allowed"},
	},
	"the next pod is handed over once the first is back": {
		history: newHistory().threeOfPool(nil).holdPool(handover, "db-a", "db-b").delete("db-a").remove("db-a").follows("next").delete("db-b"),
	},
	"0: the next pod is handed over before the first was Ready for long enough": {
		history: newHistory().threeOfPool(func(p *Pool) { p.MinReady = 5 * time.Second }).holdPool(handover, "db-a", "db-b").delete("db-a").remove("db-a").
			pod("db-a", func(p *Pod) {
				p.UID, p.Terminating, p.Deleted, p.ReadySince = "next", false, false, time.Time{}
			}).after(3 * time.Second).delete("db-b"),
		want: []string{"0 db-b was deleted, so 2 of 3 pods were unavailable, 1 allowed"},
	},
	"the next pod is handed over when the first was Ready for long enough": {
		history: newHistory().threeOfPool(func(p *Pool) { p.MinReady = 5 * time.Second }).holdPool(handover, "db-a", "db-b").delete("db-a").remove("db-a").
			pod("db-a", func(p *Pod) {
				p.UID, p.Terminating, p.Deleted, p.ReadySince = "next", false, false, time.Time{}
			}).after(6 * time.Second).delete("db-b"),
	},
	"0: a pod is updated in place while another one starts its image": {
		history: newHistory().threeOfPool(nil).holdPool(updatedInPlace, "db-a", "db-b").begin("db-a").begin("db-b"),
		want:    []string{"0 db-b was updated in place, so 2 of 3 pods were unavailable, 1 allowed"},
	},
	"a pod is updated in place when another one runs its image": {
		history: newHistory().threeOfPool(nil).holdPool(updatedInPlace, "db-a", "db-b").begin("db-a").restarts("db-a").begin("db-b"),
	},
	"a pod is updated in place beside one that breaks after its update, while the Lease records both": {
		history: newHistory().threeOfPool(nil).holdPool(updatedInPlace, "db-a", "db-b").begin("db-a").restarts("db-a").after(5*time.Second).
			pod("db-a", setNotReady).begin("db-b"),
	},
	"0: a pod is updated in place beside one that breaks during its update": {
		history: newHistory().threeOfPool(nil).holdPool(updatedInPlace, "db-a", "db-b").begin("db-a").pod("db-a", setNotReady).after(5 * time.Second).begin("db-b"),
		want:    []string{"0 db-b was updated in place, so 2 of 3 pods were unavailable, 1 allowed"},
	},
	"an update in place goes on beside a pod that broke since it began": {
		history: newHistory().threeOfPool(nil).holdPool(updatedInPlace, "db-a").pod("db-a", func(p *Pod) { p.Update = `{"begun":true}` }).
			pod("db-b", setNotReady).after(2 * time.Second).begin("db-a"),
	},
	"a pod whose update in place has begun is handed over instead, though more pods are asked for by now": {
		history: newHistory().threeOfPool(nil).holdPool(updatedInPlace, "db-a").pod("db-a", func(p *Pod) { p.Update = `{"begun":true}` }).
			pool(ofReplicas(5)).after(2*time.Second).holdPool(handover, "db-a").delete("db-a"),
	},
	"0: a pod is handed over while another one is known to be broken": {
		history: newHistory().threeOfPool(nil).pod("db-a", setNotReady).after(2*time.Second).holdPool(handover, "db-b").delete("db-b"),
		want:    []string{"0 db-b was deleted, so 2 of 3 pods were unavailable, 1 allowed"},
	},
	"a pod is handed over just as another one breaks": {
		history: newHistory().threeOfPool(nil).pod("db-a", setNotReady).holdPool(handover, "db-b").delete("db-b"),
	},
	"a pod that is down is handed over while another one is": {
		history: newHistory().threeOfPool(nil).pod("db-a", setNotReady).pod("db-b", setNotReady).after(2*time.Second).holdPool(handover, "db-b").delete("db-b"),
	},
	"0: a pod is handed over while one is missing": {
		history: newHistory().threeOfPool(ofReplicas(4)).holdPool(handover, "db-b").delete("db-b"),
		want:    []string{"0 db-b was deleted, so 2 of 4 pods were unavailable, 1 allowed"},
	},
	"a pod is handed over just as one more is asked for": {
		history: newHistory().threeOfPool(nil).pool(ofReplicas(4)).holdPool(handover, "db-b").delete("db-b"),
	},
	"0: two pods are evicted at a time": {
		history: newHistory().threeOfPool(nil).holdPool(grantedEviction, "db-a", "db-b").evict("db-a").evict("db-b"),
		rules:   evictionWebhook,
		want:    []string{"0 db-b was evicted, so 2 of 3 pods were unavailable, 1 allowed"},
	},
	"a pod is evicted although none may be updated": {
		history: newHistory().threeOfPool(func(p *Pool) { p.MaxUnavailable = 0 }).holdPool(grantedEviction, "db-a").evict("db-a"),
		rules:   evictionWebhook,
	},
	"0: a pod is updated in place while one is evicted": {
		history: newHistory().threeOfPool(nil).holdPool(grantedEviction, "db-a").evict("db-a").holdPool(updatedInPlace, "db-b").begin("db-b"),
		rules:   evictionWebhook,
		want:    []string{"0 db-b was updated in place, so 2 of 3 pods were unavailable, 1 allowed"},
	},
	"pods of a StatefulCluster that is deleted are evicted": {
		history: newHistory().threeOfPool(nil).pool(func(p *Pool) { p.Deleted = true }).after(time.Second).
			holdPool(grantedEviction, "db-a", "db-b").evict("db-a").evict("db-b"),
		rules: evictionWebhook,
	},
	"a pod of a StatefulCluster that is being deleted is evicted without an intent": {
		history: newHistory().threeOfPool(nil).pool(func(p *Pool) { p.Deleted = true }).evict("db-a"),
		rules:   evictionWebhook,
	},
	"an orphan of a StatefulCluster is evicted": {
		history: newHistory().threeOfPool(nil).pod("db-a", func(p *Pod) { p.Owner = "" }).after(2 * time.Second).evict("db-a"),
		rules:   evictionWebhook,
	},
	"an orphan is evicted just as a StatefulCluster adopts it": {
		history: newHistory().threeOfPool(nil).pod("db-a", func(p *Pod) { p.Owner = "" }).after(2*time.Second).pod("db-a", func(p *Pod) { p.Owner = "db" }).evict("db-a"),
		rules:   evictionWebhook,
	},
	"0: an orphan is evicted without an intent long after a StatefulCluster has adopted it": {
		history: newHistory().threeOfPool(nil).pod("db-a", func(p *Pod) { p.Owner = "" }).pod("db-a", func(p *Pod) { p.Owner = "db" }).after(2 * time.Second).evict("db-a"),
		rules:   evictionWebhook,
		want:    []string{"0 db-a was evicted while it served, without an intent"},
	},
	"0: a pod is evicted without an intent after the StatefulCluster was applied again": {
		history: newHistory().threeOfPool(nil).pool(func(p *Pool) { p.Deleted = true }).pool(nil).after(2 * time.Second).evict("db-a"),
		rules:   evictionWebhook,
		want:    []string{"0 db-a was evicted while it served, without an intent"},
	},
	"0: a pod is updated in place by no request that the audit log has": {
		history: newHistory().threeOfPool(nil).pod("db-a", func(p *Pod) { p.Update = "begun" }),
		want:    []string{"0 db-a was updated in place without an intent"},
	},
}

// plantedPoolPlaces are histories in which pods are too many or too few.
var plantedPoolPlaces = map[string]plantedCase{
	"one pod of three is deleted for two": {
		history: newHistory().threeOfPool(nil).pool(ofReplicas(2)).holdPool(scaledDown, "db-a").delete("db-a"),
	},
	"0: two pods of three are deleted for two": {
		history: newHistory().threeOfPool(nil).pool(ofReplicas(2)).holdPool(scaledDown, "db-a", "db-b").delete("db-a").delete("db-b"),
		want:    []string{"0 db-b was deleted as one of too many, and 1 of 2 stay"},
	},
	"0: a pod is deleted for fewer while another one is terminating": {
		history: newHistory().threeOfPool(nil).pool(ofReplicas(2)).deleteByOther("db-b").after(2*time.Second).holdPool(scaledDown, "db-a").delete("db-a"),
		want:    []string{"0 db-a was deleted as one of too many, and 1 of 2 stay"},
	},
	"a pod is deleted for fewer just as another client deletes one": {
		history: newHistory().threeOfPool(nil).pool(ofReplicas(2)).deleteByOther("db-b").holdPool(scaledDown, "db-a").delete("db-a"),
	},
	"a pod is deleted for fewer just as another client deletes one that never was Ready": {
		history: newHistory().threeOfPool(ofReplicas(4)).pod("db-d", func(p *Pod) {
			p.Labels, p.Ready = map[string]string{poolLabel: "db", instanceIDLabel: "d"}, false
		}).after(time.Minute).pool(ofReplicas(3)).deleteByOther("db-d").holdPool(scaledDown, "db-a").delete("db-a"),
	},
	"a pod is deleted for fewer just as more are asked for": {
		history: newHistory().threeOfPool(nil).pool(ofReplicas(2)).after(2*time.Second).pool(nil).holdPool(scaledDown, "db-a").delete("db-a"),
	},
	"0: a pod is deleted for fewer long after more were asked for": {
		history: newHistory().threeOfPool(nil).pool(ofReplicas(2)).pool(nil).after(2*time.Second).holdPool(scaledDown, "db-a").delete("db-a"),
		want:    []string{"0 db-a was deleted as one of too many, and 2 of 3 stay"},
	},
	"a pod is deleted for fewer while an identity waits for its next pod": {
		history: newHistory().threeOfPool(nil).claim(false, false).holdPool(handover, "db-a").delete("db-a").remove("db-a").
			pool(ofReplicas(2)).holdPool(scaledDown, "db-b").delete("db-b"),
	},
	"two pods are deleted as replicas are lowered twice": {
		history: newHistory().threeOfPool(dropsScaled).pool(dropsScaledOf(2)).pool(dropsScaledOf(1)).holdPool(scaledDown, "db-a", "db-b").delete("db-a").delete("db-b"),
	},
	"0: a pod of a surge is deleted for fewer, and fewer are not asked for": {
		history: newHistory().threeOfPool(surges).podOfPool("d").holdPool(scaledDown, "db-a").delete("db-a"),
		want:    []string{"0 db-a was deleted because fewer pods are asked for, as number 1, and replicas were lowered by 0"},
	},
	"0: two pods are deleted for fewer as replicas are lowered by one during a surge": {
		history: newHistory().threeOfPool(dropsScaled).podOfPool("d").pool(dropsScaledOf(2)).holdPool(scaledDown, "db-a", "db-b").delete("db-a").delete("db-b"),
		want:    []string{"0 db-b was deleted because fewer pods are asked for, as number 2, and replicas were lowered by 1"},
	},
	"a pod of a surge is deleted for fewer, and the Lease need not record how many are asked for": {
		history: newHistory().threeOfPool(nil).podOfPool("d").holdPool(scaledDown, "db-a").delete("db-a"),
	},
	"a pod of a surge is one of too many": {
		history: newHistory().threeOfPool(dropsScaled).podOfPool("d").holdPool(replicasExceeded, "db-a").delete("db-a"),
	},
	"0: a pod of three is one of too many for three": {
		history: newHistory().threeOfPool(nil).holdPool(replicasExceeded, "db-a").delete("db-a"),
		want:    []string{"0 db-a was deleted as one of too many, and 2 of 3 stay"},
	},
	"0: a place is empty for a minute": {
		history: newHistory().threeOfPool(nil).deleteByOther("db-a").remove("db-a").after(time.Minute).podOfPool("d"),
		rules:   filledSoon,
		want:    []string{"0 db had 2 of 3 pods for"},
	},
	"0: a place is empty until the end": {
		history: newHistory().threeOfPool(nil).deleteByOther("db-a").remove("db-a").after(time.Minute).hold(""),
		rules:   filledSoon,
		want:    []string{"0 db had 2 of 3 pods for"},
	},
	"a place is filled soon": {
		history: newHistory().threeOfPool(nil).deleteByOther("db-a").remove("db-a").after(20 * time.Second).podOfPool("d").after(time.Minute).hold(""),
		rules:   filledSoon,
	},
	"a place is empty while the API server refuses pods": {
		history: newHistory().threeOfPool(nil).deleteByOther("db-a").remove("db-a").after(20 * time.Second).
			request(Request{Verb: "create", Resource: "pods", Code: 403}).after(20 * time.Second).podOfPool("d"),
		rules: filledSoon,
	},
	"0: a place is empty long after the API server has refused a pod": {
		history: newHistory().threeOfPool(nil).deleteByOther("db-a").remove("db-a").after(20 * time.Second).
			request(Request{Verb: "create", Resource: "pods", Code: 403}).after(time.Minute).podOfPool("d"),
		rules: filledSoon,
		want:  []string{"0 db had 2 of 3 pods for"},
	},
	"an identity waits for its next pod": {
		history: newHistory().threeOfPool(nil).claim(false, false).holdPool(handover, "db-a").delete("db-a").remove("db-a").after(time.Minute).hold(""),
		rules:   filledSoon,
	},
	"0: an identity that is given up leaves a place": {
		history: newHistory().threeOfPool(nil).claim(false, false).holdPool(handover, "db-a").delete("db-a").remove("db-a").claim(true, false).after(time.Minute).hold(""),
		rules:   filledSoon,
		want:    []string{"0 db had 2 of 3 pods for"},
	},
	"pods of a StatefulCluster that is gone are missing": {
		history: newHistory().threeOfPool(nil).pool(func(p *Pool) { p.Deleted = true }).deleteByOther("db-a").after(time.Minute).remove("db-a"),
		rules:   filledSoon,
	},
}

// filledSoon limits how long a place may be empty.
var filledSoon = Rules{HoleLimit: 30 * time.Second}

func dropsScaled(p *Pool)    { p.DropsScaled = true }
func surges(p *Pool)         { p.Surges = true }
func dropsReplaced(p *Pool)  { p.DropsReplaced = true }
func keepsOne(p *Pool)       { p.RetiredLimit = 1 }
func dropsAfterTTL(p *Pool)  { p.RetiredTTL = time.Hour }
func ofEarlierPool(c *Claim) { c.PoolUID = "db@0" }
func isKept(c *Claim)        { c.Keep = true }

// dropsScaledOf is dropsScaled with a number of pods.
func dropsScaledOf(n int) func(*Pool) {
	return func(p *Pool) { p.Replicas, p.DropsScaled = n, true }
}

// ofAnotherTemplate makes a claim the second one of its identity.
func ofAnotherTemplate(c *Claim) { c.Name = "db-cache-a" }

// plantedPoolClaims are histories in which a claim is deleted whose identity has ended.
var plantedPoolClaims = map[string]plantedCase{
	"a claim is deleted as the policy for downscales says": {
		history: newHistory().pool(dropsScaled).retired(scaledDown, nil).dropsClaim(),
	},
	"0: a claim is deleted that the policy for downscales keeps": {
		history: newHistory().pool(dropsReplaced).retired(scaledDown, nil).dropsClaim(),
		want:    []string{"0 claim db-data-a was deleted against the policy: its identity ended by ScaledDown"},
	},
	"a claim is deleted as the policy for replacements says": {
		history: newHistory().pool(dropsReplaced).retired("IdentityLost", nil).dropsClaim(),
	},
	"0: a claim is deleted that the policy for replacements keeps": {
		history: newHistory().pool(dropsScaled).retired("IdentityLost", nil).dropsClaim(),
		want:    []string{"0 claim db-data-a was deleted against the policy: its identity ended by IdentityLost"},
	},
	"a claim is deleted just as the policy changes": {
		history: newHistory().pool(dropsScaled).retired(scaledDown, nil).pool(nil).retired(scaledDown, nil).dropsClaim(),
	},
	"0: a claim is deleted long after the policy has changed": {
		history: newHistory().pool(dropsScaled).pool(nil).after(2*time.Second).retired(scaledDown, nil).dropsClaim(),
		want:    []string{"0 claim db-data-a was deleted against the policy"},
	},
	"0: a claim of an earlier StatefulCluster is deleted": {
		history: newHistory().pool(dropsScaled).retired(scaledDown, ofEarlierPool).dropsClaim(),
		want:    []string{"0 claim db-data-a was deleted against the policy"},
	},
	"0: a claim is deleted that a person keeps": {
		history: newHistory().pool(dropsScaled).retired(scaledDown, isKept).after(2 * time.Second).dropsClaim(),
		want:    []string{"0 claim db-data-a was deleted, and db-data-a is to be kept"},
	},
	"0: a claim is deleted that the pod of its identity does not mount any more": {
		history: newHistory().threeOfPool(dropsReplaced).retired(handover, ofAnotherTemplate).dropsClaim(),
		want:    []string{"0 claim db-cache-a was deleted while pod db-a existed"},
	},
	"0: a claim is deleted that the pod of its identity does not mount any more, without a mark": {
		history: newHistory().threeOfPool(dropsReplaced).retired(handover, func(c *Claim) { ofAnotherTemplate(c); c.Retired = false }).dropsClaim(),
		want:    []string{"0 claim db-cache-a was deleted, and its identity had not ended", "0 claim db-cache-a was deleted while pod db-a existed"},
	},
	"0: a claim is deleted, and a person keeps another one of its identity": {
		history: newHistory().pool(dropsScaled).retired(scaledDown, isKept).retired(scaledDown, ofAnotherTemplate).after(2 * time.Second).dropsClaim(),
		want:    []string{"0 claim db-cache-a was deleted, and db-data-a is to be kept"},
	},
	"a claim is deleted just as a person wants to keep it": {
		history: newHistory().pool(dropsScaled).retired(scaledDown, nil).retired(scaledDown, isKept).dropsClaim(),
	},
	"a claim is deleted an hour later": {
		history: newHistory().pool(dropsAfterTTL).retired(scaledDown, nil).after(time.Hour).dropsClaim(),
	},
	"0: a claim is deleted before its time": {
		history: newHistory().pool(dropsAfterTTL).retired(scaledDown, nil).after(50 * time.Minute).dropsClaim(),
		want:    []string{"0 claim db-data-a was deleted against the policy"},
	},
	"the claim of an earlier identity is deleted": {
		history: newHistory().pool(keepsOne).endsLater("b", 0).retired(scaledDown, nil).dropsClaim(),
	},
	"0: the claim of the latest identity is deleted": {
		history: newHistory().pool(keepsOne).endsLater("b", -time.Hour).retired(scaledDown, nil).dropsClaim(),
		want:    []string{"0 claim db-data-a was deleted against the policy"},
	},
}

// endsLater adds the claim of another identity, which ended so much later than the next one does, or earlier.
func (h *history) endsLater(id string, d time.Duration) *history {
	at := h.now.Add(time.Second + d)
	return h.add(Event{Claim: &Claim{Name: "db-data-" + id, Pool: "db", PoolUID: "db@1", ID: id, Retired: true, RetiredAt: at, Because: scaledDown}})
}
