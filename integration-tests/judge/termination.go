package judge

import (
	"fmt"
	"slices"
	"time"
)

// maxEventDelay is longer than any delay between a termination and its watch event, including restarts
// of API servers.
const maxEventDelay = 30 * time.Second

// verifyTermination verifies the termination of a pod and returns its cause.
func (v *verifier) verifyTermination(e Event) disruptionCause {
	request, known := v.causingRequest(e)
	if !known {
		v.unexplained = append(v.unexplained, fmt.Sprintf("%s: no request explains the termination of pod %s at version %d", v.namespace, e.Pod.Name, e.Version))
		return disruptionCause{}
	}
	group := v.groupOfPod(e.Pod)
	_, byOperator := v.operator(request.User)
	switch {
	case request.evictsPod() && v.EvictionWebhook && ofStatefulCluster(e.Pod):
		if v.verifyEvictionOfPool(e, request) {
			return disruptionCause{kind: evicted}
		}
	case request.evictsPod() && v.EvictionWebhook:
		if v.verifyEviction(e, request, group) {
			return disruptionCause{evicted, group}
		}
	case request.deletesPod() && byOperator && ofStatefulCluster(e.Pod):
		v.verifyDeletionOfPool(e, request)
		return disruptionCause{kind: deleted}
	case request.deletesPod() && byOperator:
		v.verifyDeletion(e, request, group)
		return disruptionCause{deleted, group}
	}
	return disruptionCause{}
}

// causingRequest returns the request that terminated a pod. A successful deletion with a matching UID
// and resourceVersion is certain. Next come successful requests, then requests with an unknown
// outcome, then deletions by kubelets, then requests that succeeded more than maxEventDelay ago and
// probably concerned an earlier pod of this name. A pod that was gone without terminating first was
// deleted by a kubelet, if one deleted it by name. Within a rank, the request that ended first is the
// cause: an eviction may wait in admission until another client has deleted the pod.
func (v *verifier) causingRequest(e Event) (Request, bool) {
	ranks := [4][]Request{}
	for _, r := range v.terminations[e.Pod.Name] {
		switch {
		case !v.mayConcern(r, e):
		case r.deletesPod() && r.succeeded() && r.conditional():
			return r, true
		case r.ZeroGrace:
			ranks[2] = append(ranks[2], r)
		case r.succeeded() && e.At.Sub(r.Ended) > maxEventDelay:
			ranks[3] = append(ranks[3], r)
		case r.succeeded():
			ranks[0] = append(ranks[0], r)
		case v.wasInFlight(r, e):
			ranks[1] = append(ranks[1], r)
		}
	}
	if e.Pod.Deleted && !e.Pod.Terminating {
		ranks[1], ranks[2] = ranks[2], ranks[1]
	}
	for _, candidates := range ranks {
		if len(candidates) > 0 {
			return slices.MinFunc(candidates, compareByEnd), true
		}
	}
	return Request{}, false
}

// compareByEnd orders requests by their end if both succeeded, and by their arrival otherwise.
func compareByEnd(a, b Request) int {
	if a.succeeded() && b.succeeded() {
		return a.Ended.Compare(b.Ended)
	}
	return a.At.Compare(b.At)
}

// mayConcern reports whether a request can concern this pod: not an earlier or a later pod of the same
// name, and not while it was terminating already.
func (v *verifier) mayConcern(r Request, e Event) bool {
	switch {
	case r.At.After(e.At), r.RequiredVersion >= e.Version, arrivedLater(r, e.Pod):
		return false
	case r.deletesPod() && r.UID != "":
		return r.UID == e.Pod.UID || reachedSuccessor(r, e)
	case r.RequiredUID != "":
		return r.RequiredUID == e.Pod.UID
	}
	return r.unfinished() || r.Ended.Sub(v.firstSeen[e.Pod.UID]) >= -observerDelay
}

// arrivedLater reports whether a request arrived after the second in which the pod began to terminate. The watch event of
// that comes later, after a restart of the API server by seconds. Meanwhile the API server accepts evictions of the pod.
func arrivedLater(r Request, p *Pod) bool {
	return !p.TerminatedAt.IsZero() && !r.At.Before(p.TerminatedAt.Add(time.Second))
}

// reachedSuccessor reports whether a deletion without a UID and with a grace period of zero was still
// in progress when the pod terminated. The API server deletes the current pod of that name, even if
// the answer contains the previous one.
func reachedSuccessor(r Request, e Event) bool {
	return r.ZeroGrace && r.RequiredUID == "" && e.At.Sub(r.Ended) <= observerDelay
}

// wasInFlight reports whether a request that failed or was not answered was in progress when the pod
// terminated. An API server continues with a request after a timeout, and after the client
// disconnects.
func (v *verifier) wasInFlight(r Request, e Event) bool {
	began := e.At
	if at := e.Pod.TerminatedAt; !at.IsZero() && at.Before(began) {
		began = at
	}
	return r.unfinished() || r.Code == 499 || r.Code == 504 || began.Sub(r.Ended) <= observerDelay
}
