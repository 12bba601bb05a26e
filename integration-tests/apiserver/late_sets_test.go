package apiserver_test

import (
	"testing"
	"time"
)

// lateSets starts an operator whose watch of StatefulSets is late by a time.
func lateSets(s *scene, late time.Duration) {
	s.t.Helper()
	s.patience = longPatience
	s.withRole()
	proxy, through := s.proxied()
	proxy.DelayWatches("statefulsets", late)
	s.startOperatorWith(through, withoutElection)
}

// wantRolledSince fails unless at most so many pods were deleted since a time.
func (s *scene) wantRolledSince(since time.Time, most int) {
	s.t.Helper()
	count := 0
	for _, d := range s.disruptions() {
		if d.At.After(since) {
			count++
			s.t.Logf("%s is deleted after %s", d.Pod, d.At.Sub(since))
		}
	}
	if count > most {
		s.t.Errorf("%d pods were deleted, want %d at most", count, most)
	}
}

// The delete of one pod may be under way already.
func TestRolloutStopsAtOnceAlthoughStatefulSetsAreSeenLate(t *testing.T) {
	t.Parallel()
	for name, stop := range map[string]func(*scene){
		"its zone is paused":                func(s *scene) { s.change("zone-a", paused(true)) },
		"another zone has another strategy": func(s *scene) { s.change("zone-b", strategy("RollingUpdate")) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := unmanaged(t)
			s.create(zone("zone-a", 5), zone("zone-b", 2))
			lateSets(s, 8*time.Second)
			s.change("zone-a", version(2), readyAfter(time.Second))
			s.awaitDeletion("zone-a-0")
			s.comesUp("zone-a-0")
			stop(s)
			stopped := time.Now()
			time.Sleep(7 * time.Second)
			s.wantRolledSince(stopped, 1)
		})
	}
}

func TestZoneThatMovedToAnotherGroupIsNotRolledForItsFormerGroup(t *testing.T) {
	t.Parallel()
	s := unmanaged(t)
	s.create(zone("zone-a", 1), zone("zone-b", 1), zone("zone-x", 3, inGroup("other")), zone("zone-y", 1, inGroup("other")))
	lateSets(s, 30*time.Second)
	s.change("zone-x", version(2), readyAfter(13*time.Second))
	s.change("zone-a", version(2), gated(), readyAfter(3*time.Minute)) // it does not come back
	s.awaitDeletion("zone-x-0")
	s.awaitDeletion("zone-a-0")
	time.Sleep(11 * time.Second) // both deletes are over for ten seconds
	s.change("zone-x", inGroup(defaultGroup))
	moved := time.Now()
	time.Sleep(16 * time.Second)
	s.wantRolledSince(moved, 0)
}
