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

// What counts the raises of a zone of which a pod was down, or of whose group nothing was.
const (
	raisedBeside = "zones raised beside a pod that was down"
	raisedAtRest = "zones raised in a group at rest"
)

// atRest is for how long a raise waits for its group to be at rest.
const atRest = time.Minute

// raisable draws a zone that nothing else scales.
func (g group) raisable(random *rand.Rand) (zone int, can bool) {
	zone = random.IntN(len(g.replicas))
	return zone, !g.follows && g.wanted[zone] == g.replicas[zone]
}

// raises draws a raise of a zone, as soon as a pod of it is down or its group is at rest, and
// evictions of the pod that comes of it and of one beside it, as soon as that one is up: no
// rollout is in the way of these in a group at rest. Where budgets go by partitions, only the
// latter: of the other zones none has the partition of the former.
func (g *group) raises(random *rand.Rand, zone int) [][]step {
	g.wanted[zone]++
	added := fmt.Sprintf("%s-%d", g.zone(zone), g.replicas[zone])
	pods := g.replicas[zone]
	if g.partitions { // one that another zone lacks counts as down there
		pods = slices.Min(slices.Concat(g.replicas[:], g.wanted[:]))
	}
	beside := fmt.Sprintf("%s-%d", g.zone(zone), random.IntN(int(pods)))
	at := between(random, 500*time.Millisecond, 6*time.Second)
	raise := g.raiseBeside(zone, at)
	if random.IntN(2) == 0 {
		raise = g.raiseAtRest(zone, at)
	}
	lanes := [][]step{{raise}}
	if !g.partitions {
		lanes = append(lanes, []step{evictsOnceUp(added, added, stepAdded, at+between(random, 0, time.Second))})
	}
	return append(lanes, []step{evictsOnceUp(beside, added, stepBeside, at+between(random, 0, time.Second))})
}

// raiseBeside scales a zone up as soon as a pod of it is down.
func (g group) raiseBeside(zone int, at time.Duration) step {
	isDown := func(p *present) bool { return !p.serves(g.zone(zone)) }
	return g.raise(zone, at, " once a pod of it is down", raisedBeside, lying, isDown)
}

// raiseAtRest scales a zone up as soon as no rollout is left to be done in its group.
func (g group) raiseAtRest(zone int, at time.Duration) step {
	return g.raise(zone, at, " once its group is at rest", raisedAtRest, atRest, func(p *present) bool { return p.rests(g) })
}

// raise scales a zone up as soon as something is so, for which it waits for some time at most.
func (g group) raise(zone int, at time.Duration, once, kind string, atMost time.Duration, is func(*present) bool) step {
	up := scales(g, zone, g.replicas[zone]+1, at)
	scale := up.until
	up.what, up.kind = up.what+once, stepRaise
	up.until = func(t *trial) attempt {
		attempt, begun := scale(t), time.Time{}
		return func(ctx context.Context) error {
			if begun.IsZero() {
				begun = time.Now()
			}
			is := is(t.present)
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

// rests reports whether every zone of a group has all pods that it asks for, at its newest
// template.
func (p *present) rests(g group) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range g.replicas {
		set := p.sets[g.zone(i)]
		if set == nil || p.finished(set.Name, *set.Spec.Replicas, true) != nil {
			return false
		}
	}
	return true
}

// evictsOnceUp asks for a pod to leave, from when on another one is up, or it itself.
func evictsOnceUp(pod, added, kind string, at time.Duration) step {
	s := evicts(pod, at)
	evict := s.until
	s.what, s.kind = fmt.Sprintf("%s once %s is up", s.what, added), kind
	s.until = func(t *trial) attempt {
		attempt, up := evict(t), false
		return func(ctx context.Context) error {
			if up = up || t.present.up(added); !up {
				return fmt.Errorf("pod %s is not up", added)
			}
			return attempt(ctx)
		}
	}
	return s
}

// up reports whether a pod serves.
func (p *present) up(pod string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.pods[pod] != nil && judge.PodOf(p.pods[pod]).Serving()
}
