package apiserver_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Rollouts and downscales of all zones begin in any order and at any time. The verifier judges the
// result.
func TestAGroupWithstandsDownscalesAndRolloutsInEveryOrder(t *testing.T) {
	t.Parallel()
	random, seed := seeded(t)
	scenes, rounds := 1, 4
	if everyFault() {
		scenes, rounds = 8, 125
	}
	byTwo := random.IntN(scenes)
	for n := range scenes {
		chance := rand.New(rand.NewPCG(seed, uint64(n)+1))
		kind := guarded
		if n == byTwo {
			kind = guardedByTwo
		}
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			s := kind(t)
			s.rules.unordered = true // templates change during rollouts
			s.create(zone("zone-a", 3), zone("zone-b", 3), zone("zone-c", 3))
			for round := range rounds {
				s.disturb(chance, round)
				s.settled()
			}
		})
	}
}

// disturb changes templates and numbers of replicas, concurrently.
func (s *scene) disturb(chance *rand.Rand, round int) {
	s.t.Helper()
	var changes sync.WaitGroup
	later := func(change func()) {
		pause := time.Duration(chance.IntN(400)) * time.Millisecond
		changes.Go(func() {
			time.Sleep(pause)
			change()
		})
	}
	if chance.IntN(4) > 0 {
		later(func() { s.changeAll(version(round + 2)) })
	}
	for _, name := range s.zones {
		way, by := waysToScale[chance.IntN(len(waysToScale))], int32(-1-chance.IntN(2))
		if chance.IntN(3) == 0 {
			continue
		}
		later(func() { s.insists(way, name, by) })
	}
	changes.Wait()
	for _, name := range s.zones {
		s.change(name, replicas(3))
	}
}

// insists requests another number of replicas until the request is admitted, as an autoscaler does.
// A client that stops would make the other zones wait for a time.
func (s *scene) insists(way, zone string, by int32) {
	for {
		err := s.scaleBy(way, zone, by)
		switch {
		case err == nil, apierrors.IsInvalid(err), s.t.Context().Err() != nil:
			return
		case !apierrors.IsTooManyRequests(err) && !apierrors.IsConflict(err):
			s.t.Errorf("an odd answer: %v", err)
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
}
