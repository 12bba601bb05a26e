package judge

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// pools are what the verifier knows of the StatefulClusters of a namespace.
type pools struct {
	objects    map[string][]poolVersion // all states of each StatefulCluster, by name
	intents    map[string][]PoolIntent  // of the present Leases, by StatefulCluster
	recordings map[string]recording     // by UID of the pod
	handedOver map[string]bool          // UIDs of pods whose hand-over a Lease has recorded
	podOf      map[identity]string      // the UID of the last pod of each identity
	members    map[string]*member       // all pods, also those that are gone, by UID
	claims     map[string]*Claim        // by name
	holes      map[string]*hole         // by StatefulCluster
}

// poolVersion is a state of a StatefulCluster and when its event arrived.
type poolVersion struct {
	*Pool
	since time.Time
}

// recording is when and by which user agent the present intent of a pod was recorded first.
type recording struct {
	at time.Time
	by string
}

// identity is one copy of the data of a StatefulCluster.
type identity struct{ pool, id string }

// identityOf returns the identity of a pod.
func identityOf(p *Pod) identity { return identity{p.Labels[poolLabel], p.Labels[instanceIDLabel]} }

func newPools() pools {
	return pools{
		objects: map[string][]poolVersion{}, intents: map[string][]PoolIntent{}, recordings: map[string]recording{}, handedOver: map[string]bool{},
		podOf: map[identity]string{}, members: map[string]*member{}, claims: map[string]*Claim{}, holes: map[string]*hole{},
	}
}

// member is a pod of a StatefulCluster and its last outage.
type member struct {
	*Pod
	served   bool      // it was available at some time
	since    time.Time // when the outage began
	owned    time.Time // when an object began to control it; zero: when it was created
	left     time.Time // when it began to terminate, or was deleted; zero: it is active
	ours     bool      // an operator, or an eviction that was allowed, caused the outage
	begun    bool      // its update in place has begun and is not complete, and the Lease records it
	scaled   bool      // an operator deleted it because fewer pods are asked for
	replaces string    // what ran before an image was changed, until something else runs; empty: nothing is to be replaced
}

// available reports whether a pod is available at a time.
func (m *member) available(now time.Time, minReady time.Duration) bool {
	return m.Serving() && m.replaces == "" && (minReady == 0 || !m.ReadySince.Add(minReady).After(now))
}

// isUpdated reports whether a pod was available with nothing left to do of its update in place. A pod that breaks then was not
// broken by the update, although the Lease may record it until it is written for another reason.
func (m *member) isUpdated(now time.Time, minReady time.Duration) bool {
	return m.available(now, minReady) && !strings.Contains(m.Update, `"begun":true`)
}

// String says why a pod is not available.
func (m *member) String() string {
	switch {
	case m.Terminating:
		return m.Name + " is terminating"
	case !m.Ready:
		return m.Name + " is not Ready"
	case m.replaces != "":
		return fmt.Sprintf("%s still runs %s", m.Name, m.replaces)
	}
	return fmt.Sprintf("%s is Ready since %s", m.Name, m.ReadySince.UTC().Format(time.TimeOnly))
}

// active reports whether a pod exists and is not terminating.
func (m *member) active() bool { return !m.Terminating && !m.Deleted }

func (v *verifier) applyPool(e Event) {
	v.pools.objects[e.Pool.Name] = append(v.pools.objects[e.Pool.Name], poolVersion{e.Pool, e.At})
	v.verifyPlaces(e.Pool.Name, e.At)
}

// applyPoolHold records a Lease, and what it says of hand-overs.
func (v *verifier) applyPoolHold(e Event) {
	h, write := e.PoolHold, v.writes[e.Version]
	before := v.pools.intents[h.Pool]
	v.pools.intents[h.Pool] = h.Intents
	if h.Deleted {
		delete(v.pools.intents, h.Pool)
	}
	for _, i := range h.Intents {
		if !slices.ContainsFunc(before, func(b PoolIntent) bool { return b.UID == i.UID && b.Cause == i.Cause }) {
			v.pools.recordings[i.UID] = recording{e.At, write.Agent}
		}
		if i.Cause == handover || i.Cause == grantedEviction && v.pools.mayBeHandedOver(i.UID) {
			v.pools.handedOver[i.UID] = true
		}
	}
	for _, m := range v.pools.members {
		m.begun = m.begun && (identityOf(m.Pod).pool != h.Pool || v.records(m.Pod))
	}
	v.verifyPlaces(h.Pool, e.At)
}

// intentOf returns the cause of the recorded intent for a pod.
func (v *verifier) intentOf(p *Pod) (cause string, recorded bool) {
	intents := v.pools.intents[identityOf(p).pool]
	i := slices.IndexFunc(intents, func(i PoolIntent) bool { return i.UID == p.UID })
	if i < 0 {
		return "", false
	}
	return intents[i].Cause, true
}

// records reports whether the Lease of its StatefulCluster has an intent for a pod.
func (v *verifier) records(p *Pod) bool {
	_, recorded := v.intentOf(p)
	return recorded
}

// applyPodOfPool verifies a new pod of a StatefulCluster, and an update of one in place. If the event terminates the pod,
// ours says whether an operator, or an eviction that was allowed, did it.
func (v *verifier) applyPodOfPool(e Event, ours bool) {
	p := e.Pod
	if !ofStatefulCluster(p) || identityOf(p).id == "" {
		return
	}
	m, known := v.pools.members[p.UID]
	if !known {
		v.verifyIdentity(p)
		m = &member{Pod: p, since: e.At}
		v.pools.members[p.UID] = m
	}
	if !p.Deleted {
		v.pools.podOf[identityOf(p)] = p.UID
	}
	if known {
		m.begun = m.begun && !m.isUpdated(e.At, v.minReady(identityOf(p).pool))
		v.verifyUpdateInPlace(m, e)
	}
	v.updateMember(m, e, ours)
	v.verifyPlaces(identityOf(p).pool, e.At)
}

// updateMember records a state of a pod.
func (v *verifier) updateMember(m *member, e Event, ours bool) {
	minReady := v.minReady(identityOf(e.Pod).pool)
	wasAvailable := m.available(e.At, minReady)
	if m.Images != e.Pod.Images {
		m.replaces = m.Containers
	}
	if m.replaces != e.Pod.Containers {
		m.replaces = ""
	}
	if m.Owner == "" && e.Pod.Owner != "" {
		m.owned = e.At
	}
	m.Pod = e.Pod
	if m.left.IsZero() && !m.active() {
		m.left = e.At
	}
	if wasAvailable {
		m.served, m.since, m.ours = true, e.At, false
	}
	m.ours = m.ours || ours || m.begun
}

// minReady returns from when on a ready pod of a StatefulCluster is available.
func (v *verifier) minReady(pool string) time.Duration {
	if states := v.pools.objects[pool]; len(states) > 0 {
		return last(states).MinReady
	}
	return 0
}

// possiblePools returns the states of a StatefulCluster that may be the latest one that the operator knows. It returns none
// if one of them is being deleted, or if the object was not watched.
func (v *verifier) possiblePools(name string, k knowledge) []poolVersion {
	states := v.pools.objects[name]
	for i := len(states) - 1; i > 0; i-- {
		if v.mustKnow(k, states[i].since, statefulClusters) {
			states = states[i:]
			break
		}
	}
	if slices.ContainsFunc(states, func(s poolVersion) bool { return s.Deleted }) {
		return nil
	}
	return states
}

// mayBeDeleted reports whether the operator may know a StatefulCluster as one that is being deleted. Then nothing is asked for.
func (v *verifier) mayBeDeleted(name string, k knowledge) bool {
	return len(v.pools.objects[name]) > 0 && len(v.possiblePools(name, k)) == 0
}

// poolKnowledge returns what an operator must know when it disrupts a pod of a StatefulCluster, after requests that the
// matchers describe. It never counts live reads.
func (v *verifier) poolKnowledge(pool string, now time.Time, agent string, matchers ...delayMatcher) knowledge {
	return knowledge{now: now, agent: agent, group: pool, decidedAt: v.decidedAt(now, agent, pool, matchers...)}
}

// ofPools is the number of guarantees about StatefulClusters: they have none.
const ofPools = 0
