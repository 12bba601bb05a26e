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

// raisedBeside counts the raises of a zone of which a pod was down.
const raisedBeside = "zones raised beside a pod that was down"

// raisable draws a zone that nothing else scales.
func (g group) raisable(random *rand.Rand) (zone int, can bool) {
	zone = random.IntN(len(g.replicas))
	return zone, !g.follows && g.wanted[zone] == g.replicas[zone]
}

// raises draws a raise of a zone, as soon as a pod of it is down, and evictions of the pod that
// comes of it and of one beside it, as soon as that one is up. Where budgets go by partitions,
// only the latter: of the other zones none has the partition of the former.
func (g *group) raises(random *rand.Rand, zone int) [][]step {
	g.wanted[zone]++
	added := fmt.Sprintf("%s-%d", g.zone(zone), g.replicas[zone])
	pods := g.replicas[zone]
	if g.partitions { // one that another zone lacks counts as down there
		pods = slices.Min(slices.Concat(g.replicas[:], g.wanted[:]))
	}
	beside := fmt.Sprintf("%s-%d", g.zone(zone), random.IntN(int(pods)))
	at := between(random, 500*time.Millisecond, 6*time.Second)
	lanes := [][]step{{g.raise(zone, at)}}
	if !g.partitions {
		lanes = append(lanes, []step{evictsOnceUp(added, added, stepAdded, at+between(random, 0, time.Second))})
	}
	return append(lanes, []step{evictsOnceUp(beside, added, stepBeside, at+between(random, 0, time.Second))})
}

// raise scales a zone up as soon as a pod of it is down, but waits for that no longer than
// departures do.
func (g group) raise(zone int, at time.Duration) step {
	up := scales(g, zone, g.replicas[zone]+1, at)
	scale := up.until
	up.what, up.kind = up.what+" beside a pod that is down", stepRaise
	up.until = func(t *trial) attempt {
		attempt, begun := scale(t), time.Time{}
		return func(ctx context.Context) error {
			if begun.IsZero() {
				begun = time.Now()
			}
			beside := !t.present.serves(g.zone(zone))
			if !beside && time.Since(begun) < lying {
				return errors.New("no pod of it is down")
			}
			err := attempt(ctx)
			if beside {
				return t.countUnless(err, raisedBeside)
			}
			return err
		}
	}
	return up
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
	return p.pods[pod] != nil && judge.PodOf(p.pods[pod]).Up()
}
