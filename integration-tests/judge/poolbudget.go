package judge

import (
	"slices"
	"strings"
)

// verifyDeletionOfPool verifies the deletion of a pod of a StatefulCluster by an operator.
func (v *verifier) verifyDeletionOfPool(e Event, request Request) {
	cause, recorded := v.intentOf(e.Pod)
	if !recorded {
		v.report(ofPools, nil, "%s was deleted without an intent", e.Pod.Name)
	}
	m := v.pools.members[e.Pod.UID]
	if m == nil {
		return
	}
	pool := identityOf(e.Pod).pool
	k := v.poolKnowledge(pool, request.At, request.Agent, isRequest("delete", "pods", e.Pod.Name), isLeaseWrite, isPodPatch, isLiveRead)
	v.recordOfPool(e, m, k, false)
	switch {
	case cause == scaledDown:
		v.verifySurplus(m, k)
		m.scaled = true
		v.verifyLowered(m)
	case cause == replicasExceeded:
		v.verifySurplus(m, k)
	case slices.Contains(forUpdates, cause):
		v.verifyMaxUnavailable(m, k, 0, "deleted")
	}
}

// forUpdates are the causes for which operators delete pods that serve within maxUnavailable. The others are repairs of pods
// that do not serve, or whose node is gone.
var forUpdates = []string{handover, "UpdatedByNewIdentity", "ReplacementAsked"}

// verifyEvictionOfPool verifies the eviction of a pod of a StatefulCluster, and reports whether the guarantees apply to it: a
// pod that served was recorded before. A pod that no object controlled when the request came belongs to no StatefulCluster yet.
func (v *verifier) verifyEvictionOfPool(e Event, request Request) bool {
	before, m := v.pods[e.Pod.Name], v.pools.members[e.Pod.UID]
	if m == nil || m.Owner == "" || m.owned.After(request.At.Add(-v.Grace)) {
		return false
	}
	if !before.Serving() || before.UID != e.Pod.UID {
		return true
	}
	pool, recorded, is := identityOf(e.Pod).pool, v.pools.recordings[e.Pod.UID], v.records(e.Pod)
	if !is {
		recorded = recording{at: e.At}
	}
	k := v.poolKnowledge(pool, recorded.at, recorded.by, isLeaseWrite, isLiveRead)
	k.now = e.At
	if !is && !v.mayBeDeleted(pool, k) {
		v.report(ofPools, nil, "%s was evicted while it served, without an intent", e.Pod.Name)
	}
	v.recordOfPool(e, m, k, true)
	v.verifyMaxUnavailable(m, k, 1, "evicted")
	return true
}

// verifyUpdateInPlace verifies that an update in place is recorded, and begins within maxUnavailable.
func (v *verifier) verifyUpdateInPlace(m *member, e Event) {
	p, write := e.Pod, v.writes[e.Version]
	_, byOperator := v.operator(write.User)
	begins := p.Update != m.Update && p.Update != ""
	if m.begun || !begins && (!byOperator || m.Images == p.Images) {
		return
	}
	if !v.records(p) {
		v.report(ofPools, nil, "%s was updated in place without an intent", p.Name)
	}
	k := v.poolKnowledge(identityOf(p).pool, e.At, write.Agent, isPodPatch, isLeaseWrite, isLiveRead)
	v.verifyMaxUnavailable(m, k, 0, "updated in place")
	m.begun = v.records(p)
}

// verifyMaxUnavailable verifies that not too many pods are unavailable after the disruption of a pod that is available. What
// operators and evictions caused counts at once, everything else as soon as the operator must know it. The disruption of a pod
// whose update in place has begun was verified then.
func (v *verifier) verifyMaxUnavailable(m *member, k knowledge, atLeast int, disrupted string) {
	pool := identityOf(m.Pod).pool
	states := v.possiblePools(pool, k)
	if len(states) == 0 || m.begun || !m.available(k.now, v.minReady(pool)) {
		return
	}
	replicas, limit := last(states).Replicas, atLeast
	for _, s := range states {
		replicas, limit = min(replicas, s.Replicas), max(limit, s.MaxUnavailable)
	}
	available, others := 0, []string(nil)
	for _, other := range v.sortedMembers(pool) {
		switch {
		case other != m && (other.available(k.now, v.minReady(pool)) || v.mayBelieve(other, k)):
			available++
		case other != m && !other.Deleted:
			others = append(others, other.String())
		}
	}
	if down := replicas - available; down > limit {
		v.report(ofPools, nil, "%s was %s, so %d of %d pods were unavailable, %d allowed; the others: %s", m.Name, disrupted, down, replicas, limit, strings.Join(others, ", "))
	}
}

// mayBelieve reports whether an operator may believe that a pod is still as it was before its outage.
func (v *verifier) mayBelieve(m *member, k knowledge) bool {
	return m.served && !m.ours && !v.mustKnow(k, m.since, pods)
}

// sortedMembers returns all pods of a StatefulCluster, also those that are gone, in the order of their names.
func (v *verifier) sortedMembers(pool string) []*member {
	var all []*member
	for _, m := range v.pools.members {
		if identityOf(m.Pod).pool == pool {
			all = append(all, m)
		}
	}
	slices.SortFunc(all, func(a, b *member) int { return strings.Compare(a.Name+a.UID, b.Name+b.UID) })
	return all
}

// recordOfPool adds a disruption of a pod of a StatefulCluster to the verdict.
func (v *verifier) recordOfPool(e Event, m *member, k knowledge, evicted bool) {
	v.poolDisruptions = append(v.poolDisruptions, Disruption{
		At: k.now, Version: e.Version, Namespace: v.namespace, Zone: identityOf(m.Pod).pool, Pod: m.Name, UID: m.UID,
		WasServing: m.Serving(), Evicted: evicted, Grace: v.grace(k),
	})
}

// verifyForce verifies that no operator asks for a deletion by force.
func (v *verifier) verifyForce(r Request) {
	m := v.pools.members[r.UID]
	if r.deletesPod() && r.ZeroGrace && m != nil {
		v.report(ofPools, nil, "%s was to be deleted by force", m.Name)
	}
}
