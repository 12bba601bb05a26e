package main

import (
	"fmt"
	"testing"
	"time"
)

// story plays sightings into a world of the demo's namespaces, with one zone less
// to write, and lets measures look on. Each step is 100 ms after the one
// before.
type story struct {
	t        *testing.T
	world    *world
	court    *court
	measures *measures
	now      time.Time
	made     int  // pods so far, for their UIDs
	eyes     bool // the court has no audit log
}

const (
	oldRevision = "ingester-1"
	newRevision = "ingester-2"
	zoneA       = "ingester-zone-a"
	zoneB       = "ingester-zone-b"
	zoneC       = "ingester-zone-c"
)

// begunStory is right after the templates were changed: all pods are old and Ready.
func begunStory(t *testing.T) *story {
	t.Helper()
	s := &story{t: t, world: newWorld(), court: newCourt(), now: time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC)}
	s.measures = newMeasures(s.now)
	for _, n := range s.world.namespaces {
		for _, z := range n.zones {
			s.world.apply(sighting{set: &set{n.name, z.name, oldRevision, oldRevision}})
			for i := range z.replicas {
				s.world.apply(sighting{pod: s.newPod(n.name, z.name, i, oldRevision, true)})
			}
		}
	}
	if !s.world.ready() {
		t.Fatal("the world of the story is not ready")
	}
	s.world.begin()
	for _, n := range s.world.namespaces {
		for _, z := range n.zones {
			s.see(sighting{set: &set{n.name, z.name, newRevision, oldRevision}})
		}
	}
	s.measures.began = s.now
	return s
}

func (s *story) newPod(namespace, zone string, ordinal int, revision string, ready bool) *pod {
	s.made++
	return &pod{
		namespace: namespace, zone: zone, name: fmt.Sprintf("%s-%d", zone, ordinal),
		uid: fmt.Sprint(s.made), revision: revision, ready: ready,
	}
}

func (s *story) see(seen sighting) {
	s.now = s.now.Add(100 * time.Millisecond)
	seen.at = s.now
	changes := s.world.apply(seen)
	if s.eyes {
		s.court.testify(s.world, changes)
	}
	s.measures.see(s.world, s.now, changes)
}

func (s *story) pod(namespace, zone string, ordinal int) pod {
	s.t.Helper()
	p, ok := s.world.zone(namespace, zone).pods[fmt.Sprintf("%s-%d", zone, ordinal)]
	if !ok {
		s.t.Fatalf("there is no pod %d of %s/%s", ordinal, namespace, zone)
	}
	return p
}

// leaves lets a pod be deleted and not be gone yet.
func (s *story) leaves(namespace, zone string, ordinal int) {
	s.t.Helper()
	p := s.pod(namespace, zone, ordinal)
	p.leaving = true
	s.see(sighting{pod: &p})
}

func (s *story) goes(namespace, zone string, ordinal int) {
	s.t.Helper()
	p := s.pod(namespace, zone, ordinal)
	s.see(sighting{gone: true, pod: &p})
}

// starts makes a new pod of the new revision.
func (s *story) starts(namespace, zone string, ordinal int) {
	s.see(sighting{pod: s.newPod(namespace, zone, ordinal, newRevision, false)})
}

func (s *story) becomesReady(namespace, zone string, ordinal int) {
	s.t.Helper()
	p := s.pod(namespace, zone, ordinal)
	p.ready = true
	s.see(sighting{pod: &p})
}

// replaces is the whole way of one pod: 4 steps.
func (s *story) replaces(namespace, zone string, ordinal int) {
	s.t.Helper()
	s.leaves(namespace, zone, ordinal)
	s.goes(namespace, zone, ordinal)
	s.starts(namespace, zone, ordinal)
	s.becomesReady(namespace, zone, ordinal)
}

func (s *story) rolls(namespace, zone string) {
	s.t.Helper()
	for i := range podsPerZone {
		s.replaces(namespace, zone, i)
	}
}

func (s *story) adopts(namespace, zone string) {
	s.see(sighting{set: &set{namespace, zone, newRevision, newRevision}})
}

func (s *story) holds(namespace, holder string, intents int) {
	s.see(sighting{lease: &lease{namespace, "lockstep-group-ingester", holder, intents}})
}

// rollsAll is a rollout as it should be, in all namespaces that opted in.
func (s *story) rollsAll() {
	s.t.Helper()
	for _, namespace := range optedIn {
		for _, zone := range zoneNames {
			s.holds(namespace, "rollout/"+zone, 1)
			s.rolls(namespace, zone)
			s.adopts(namespace, zone)
		}
		s.holds(namespace, "", 0)
	}
}
