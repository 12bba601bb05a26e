package judge

import (
	"maps"
	"slices"
	"time"
)

// hole is a period in which a StatefulCluster has fewer identities than it asks for.
type hole struct {
	since          time.Time
	filled, wanted int // when it began
	reported       bool
}

// verifySurplus verifies that as many identities stay as are asked for when a pod is deleted as one of too many.
func (v *verifier) verifySurplus(m *member, k knowledge) {
	pool := identityOf(m.Pod).pool
	states := v.possiblePools(pool, k)
	if len(states) == 0 || !m.active() {
		return
	}
	wanted := last(states).Replicas
	for _, s := range states {
		wanted = min(wanted, s.Replicas)
	}
	stay := v.places(pool, func(other *member) bool {
		unknown := !other.ours && !v.mustKnow(k, other.left, pods)
		return other.UID != m.UID && (other.active() || unknown)
	})
	if stay < wanted {
		v.report(ofPools, nil, "%s was deleted as one of too many, and %d of %d stay", m.Name, stay, wanted)
	}
}

// verifyLowered verifies that not more pods were deleted because fewer are asked for than spec.replicas was lowered by in the whole
// history. It applies to a StatefulCluster that always drops the claims of pods that are scaled down, or always may have more pods
// during updates, because its Lease has always recorded how many are asked for.
func (v *verifier) verifyLowered(m *member) {
	pool := identityOf(m.Pod).pool
	states := v.pools.objects[pool]
	if len(states) == 0 || slices.ContainsFunc(states, func(s poolVersion) bool { return !s.DropsScaled && !s.Surges }) {
		return
	}
	lowered, deleted := 0, 0
	for i, s := range states[1:] {
		lowered += max(0, states[i].Replicas-s.Replicas)
	}
	for _, other := range v.sortedMembers(pool) {
		if other.scaled {
			deleted++
		}
	}
	if deleted > lowered {
		v.report(ofPools, nil, "%s was deleted because fewer pods are asked for, as number %d, and replicas were lowered by %d", m.Name, deleted, lowered)
	}
}

// places counts the identities of a StatefulCluster whose last pod counts, or that wait for their next pod.
func (v *verifier) places(pool string, counts func(*member) bool) int {
	n := 0
	for id, uid := range v.pools.podOf {
		if id.pool == pool && (counts(v.pools.members[uid]) || v.waitsForPod(id, uid)) {
			n++
		}
	}
	return n
}

// waitsForPod reports whether an identity has living claims, its last pod is on its way out or gone, and its next pod was
// recorded or is to come.
func (v *verifier) waitsForPod(id identity, uid string) bool {
	if v.pools.members[uid].active() || !v.pools.handedOver[uid] && !v.pools.mayBeHandedOver(uid) {
		return false
	}
	for _, c := range v.pools.claims {
		if c.Pool == id.pool && c.ID == id.id && !c.Retired && !c.Ending {
			return true
		}
	}
	return false
}

// verifyPlaces verifies that no place of a StatefulCluster is empty for longer than HoleLimit while the API server refuses
// no pod.
func (v *verifier) verifyPlaces(pool string, now time.Time) {
	states := v.pools.objects[pool]
	if v.HoleLimit == 0 || len(states) == 0 {
		return
	}
	if h := v.pools.holes[pool]; h != nil {
		v.verifyHole(pool, h, now)
	}
	wanted, filled := last(states), v.places(pool, (*member).active)
	switch {
	case wanted.Deleted || filled >= wanted.Replicas:
		delete(v.pools.holes, pool)
	case v.pools.holes[pool] == nil:
		v.pools.holes[pool] = &hole{since: now, filled: filled, wanted: wanted.Replicas}
	}
}

// verifyHole reports a hole once if it is there for too long.
func (v *verifier) verifyHole(pool string, h *hole, now time.Time) {
	if from := v.lastRefusal(h.since, now); now.Sub(from) > v.HoleLimit && !h.reported {
		h.reported = true
		v.report(ofPools, nil, "%s had %d of %d pods for %s", pool, h.filled, h.wanted, now.Sub(from))
	}
}

// verifyLastPlaces verifies the places of all StatefulClusters at the last event.
func (v *verifier) verifyLastPlaces(events []Event) {
	var end time.Time
	for _, e := range events {
		if e.At.After(end) {
			end = e.At
		}
	}
	for _, pool := range slices.Sorted(maps.Keys(v.pools.objects)) {
		v.verifyPlaces(pool, end)
	}
}

// lastRefusal returns when the API server last refused an operator to create a pod in a period, or its beginning.
func (v *verifier) lastRefusal(from, to time.Time) time.Time {
	for _, r := range v.requests {
		_, byOperator := v.operator(r.User)
		creates := r.Verb == "create" && r.Resource == "pods"
		if byOperator && creates && !r.succeeded() && r.At.After(from) && !r.At.After(to) {
			from = r.At
		}
	}
	return from
}
