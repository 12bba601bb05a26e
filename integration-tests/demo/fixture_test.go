package main

import (
	"fmt"
	"testing"
	"time"
)

// rolloutFixture applies changes to the state of the demo's namespaces and measures them. Each step is
// 100 ms after the previous one.
type rolloutFixture struct {
	t               *testing.T
	state           *clusterState
	verifier        *verifier
	measures        *measures
	now             time.Time
	podCount        int  // number of pods so far, for their UIDs
	withoutAuditLog bool // the verifier has no audit log
}

const (
	oldRevision = "ingester-1"
	newRevision = "ingester-2"
	zoneA       = "ingester-zone-a"
	zoneB       = "ingester-zone-b"
	zoneC       = "ingester-zone-c"
)

// newRolloutFixture returns the state after the change of the templates: all pods are outdated and
// ready.
func newRolloutFixture(t *testing.T) *rolloutFixture {
	t.Helper()
	s := &rolloutFixture{t: t, state: newClusterState(), verifier: newVerifier(), now: time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC)}
	s.measures = newMeasures(s.now)
	for _, n := range s.state.namespaces {
		for _, z := range n.zones {
			s.state.apply(stateChange{set: &set{n.name, z.name, oldRevision, oldRevision}})
			for i := range z.replicas {
				s.state.apply(stateChange{pod: s.newPod(n.name, z.name, i, oldRevision, true)})
			}
		}
	}
	if !s.state.ready() {
		t.Fatal("the initial state is not ready")
	}
	s.state.startRollout()
	for _, n := range s.state.namespaces {
		for _, z := range n.zones {
			s.apply(stateChange{set: &set{n.name, z.name, newRevision, oldRevision}})
		}
	}
	s.measures.began = s.now
	return s
}

func (f *rolloutFixture) newPod(namespace, zone string, ordinal int, revision string, ready bool) *pod {
	f.podCount++
	return &pod{
		namespace: namespace, zone: zone, name: fmt.Sprintf("%s-%d", zone, ordinal),
		uid: fmt.Sprint(f.podCount), revision: revision, ready: ready,
	}
}

func (f *rolloutFixture) apply(seen stateChange) {
	f.now = f.now.Add(100 * time.Millisecond)
	seen.at = f.now
	changes := f.state.apply(seen)
	if f.withoutAuditLog {
		f.verifier.verifyChanges(f.state, changes)
	}
	f.measures.add(f.state, f.now, changes)
}

func (f *rolloutFixture) pod(namespace, zone string, ordinal int) pod {
	f.t.Helper()
	p, ok := f.state.zone(namespace, zone).pods[fmt.Sprintf("%s-%d", zone, ordinal)]
	if !ok {
		f.t.Fatalf("there is no pod %d of %s/%s", ordinal, namespace, zone)
	}
	return p
}

// terminate deletes a pod that still exists.
func (f *rolloutFixture) terminate(namespace, zone string, ordinal int) {
	f.t.Helper()
	p := f.pod(namespace, zone, ordinal)
	p.terminating = true
	f.apply(stateChange{pod: &p})
}

func (f *rolloutFixture) remove(namespace, zone string, ordinal int) {
	f.t.Helper()
	p := f.pod(namespace, zone, ordinal)
	f.apply(stateChange{deleted: true, pod: &p})
}

// create creates a pod of the new revision that is not ready.
func (f *rolloutFixture) create(namespace, zone string, ordinal int) {
	f.apply(stateChange{pod: f.newPod(namespace, zone, ordinal, newRevision, false)})
}

func (f *rolloutFixture) makeReady(namespace, zone string, ordinal int) {
	f.t.Helper()
	p := f.pod(namespace, zone, ordinal)
	p.ready = true
	f.apply(stateChange{pod: &p})
}

// replace deletes a pod and creates a ready pod of the new revision.
func (f *rolloutFixture) replace(namespace, zone string, ordinal int) {
	f.t.Helper()
	f.terminate(namespace, zone, ordinal)
	f.remove(namespace, zone, ordinal)
	f.create(namespace, zone, ordinal)
	f.makeReady(namespace, zone, ordinal)
}

func (f *rolloutFixture) rollZone(namespace, zone string) {
	f.t.Helper()
	for i := range podsPerZone {
		f.replace(namespace, zone, i)
	}
}

func (f *rolloutFixture) adoptRevision(namespace, zone string) {
	f.apply(stateChange{set: &set{namespace, zone, newRevision, newRevision}})
}

func (f *rolloutFixture) hold(namespace, holder string, intents int) {
	f.apply(stateChange{lease: &lease{namespace, "lockstep-group-ingester", holder, intents}})
}

// rollAll is a complete rollout without violations.
func (f *rolloutFixture) rollAll() {
	f.t.Helper()
	for _, namespace := range optedIn {
		for _, zone := range zoneNames {
			f.hold(namespace, "rollout/"+zone, 1)
			f.rollZone(namespace, zone)
			f.adoptRevision(namespace, zone)
		}
		f.hold(namespace, "", 0)
	}
}
