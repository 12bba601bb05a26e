package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/lockstep-dev/lockstep/integration-tests/judge"
)

// raisedWithPodDown and raisedIdle count scale-ups by the state of the zone or group.
const (
	raisedWithPodDown = "zones raised beside a pod that was down"
	raisedIdle        = "zones raised in a group at rest"
)

// maxIdleWait is how long a scale-up waits until its group is idle.
const maxIdleWait = time.Minute

// scalableZone draws a zone that no other step scales.
func (g group) scalableZone(random *rand.Rand) (zone int, can bool) {
	zone = random.IntN(len(g.replicas))
	return zone, !g.hasLeader && g.finalReplicas[zone] == g.replicas[zone]
}

// newRaise draws a scale-up of a zone when one of its pods is down or its group is idle, and evictions
// of the added pod and of another pod of the zone once the added pod is ready. In an idle group no
// rollout delays these. If the budget counts by partitions, only the other pod is evicted, because the
// added pod's partition exists in no other zone.
func (g *group) newRaise(random *rand.Rand, zone int) [][]step {
	g.finalReplicas[zone]++
	added := fmt.Sprintf("%s-%d", g.zone(zone), g.replicas[zone])
	pods := g.replicas[zone]
	if g.partitions { // a pod that another zone does not have counts as down there
		pods = slices.Min(slices.Concat(g.replicas[:], g.finalReplicas[:]))
	}
	neighbour := fmt.Sprintf("%s-%d", g.zone(zone), random.IntN(int(pods)))
	at := between(random, 500*time.Millisecond, 6*time.Second)
	raise := g.raiseWithPodDown(zone, at)
	if random.IntN(2) == 0 {
		raise = g.raiseWhenIdle(zone, at)
	}
	lanes := [][]step{{raise}}
	if !g.partitions {
		lanes = append(lanes, []step{evictWhenReady(added, added, stepAdded, at+between(random, 0, time.Second))})
	}
	return append(lanes, []step{evictWhenReady(neighbour, added, stepBeside, at+between(random, 0, time.Second))})
}

// raiseWithPodDown scales a zone up when one of its pods is down.
func (g group) raiseWithPodDown(zone int, at time.Duration) step {
	isDown := func(p *clusterState) bool { return !p.zoneReady(g.zone(zone)) }
	return g.raise(zone, at, " once a pod of it is down", raisedWithPodDown, maxTriggerWait, isDown)
}

// raiseWhenIdle scales a zone up when its group has no pending rollout.
func (g group) raiseWhenIdle(zone int, at time.Duration) step {
	return g.raise(zone, at, " once its group is at rest", raisedIdle, maxIdleWait, func(p *clusterState) bool { return p.isIdle(g) })
}

// raise scales a zone up when a condition holds, or after a maximum wait.
func (g group) raise(zone int, at time.Duration, once, kind string, atMost time.Duration, is func(*clusterState) bool) step {
	up := scale(g, zone, g.replicas[zone]+1, at)
	scale := up.attemptFor
	up.what, up.kind = up.what+once, stepRaise
	up.attemptFor = func(t *trial) attempt {
		attempt, begun := scale(t), time.Time{}
		return func(ctx context.Context) error {
			if begun.IsZero() {
				begun = time.Now()
			}
			is := is(t.state)
			if !is && time.Since(begun) < atMost {
				return errors.New("not" + once)
			}
			err := attempt(ctx)
			if is {
				return t.countUnless(err, kind)
			}
			return err
		}
	}
	return up
}

// isIdle reports whether every zone of a group has all of its pods at the newest template.
func (s *clusterState) isIdle(g group) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range g.replicas {
		set := s.sets[g.zone(i)]
		if set == nil || s.checkZone(set.Name, *set.Spec.Replicas, true) != nil {
			return false
		}
	}
	return true
}

// evictWhenReady evicts a pod once another pod, or the pod itself, is ready.
func evictWhenReady(pod, added, kind string, at time.Duration) step {
	s := evict(pod, at)
	evict := s.attemptFor
	s.what, s.kind = fmt.Sprintf("%s once %s is up", s.what, added), kind
	s.attemptFor = func(t *trial) attempt {
		attempt, up := evict(t), false
		return func(ctx context.Context) error {
			if up = up || t.state.podReady(added); !up {
				return fmt.Errorf("pod %s is not up", added)
			}
			return attempt(ctx)
		}
	}
	return s
}

// podReady reports whether a pod is ready.
func (s *clusterState) podReady(pod string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pods[pod] != nil && judge.PodOf(s.pods[pod]).Serving()
}
