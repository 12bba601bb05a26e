package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// plan contains the changes and faults of a trial. Its seed determines all of it.
type plan struct {
	seed   uint64
	groups []group
	pool   *pool    // nil: none
	lanes  [][]step // the steps of a lane are sequential, the lanes are concurrent
	faults []fault
}

// group is three zones and their settings.
type group struct {
	name                 string
	replicas             [3]int32
	maxUnavailable       int           // pods of a zone, by rollouts
	readyDelay           time.Duration // until a pod is ready
	terminationDelay     time.Duration // from the deletion of a pod to its end
	hasLeader            bool          // the first zone leads the others
	minBetweenDownscales time.Duration // of two zones
	minReady             time.Duration // from when on a ready pod is available
	maxEvicted           int           // pods that may be down by evictions
	partitions           bool          // the budget for evictions counts by partitions, not by zones

	finalReplicas [3]int32 // spec.replicas at the end
}

// step is a change by a user, which is repeated until it is accepted.
type step struct {
	what       string // for people
	kind       string // for the table
	at         time.Duration
	attemptFor func(*trial) attempt
}

// activePeriod is the period in which steps begin and most faults happen.
const activePeriod = 10 * time.Second

// newPlan returns the plan of a seed.
func newPlan(seed uint64) plan {
	p := drawPlan(seed, false)
	if slices.ContainsFunc(p.faults, func(f fault) bool { return f.former }) {
		faults := p.faults
		p = drawPlan(seed, true)
		p.faults = faults
		return p
	}
	p.addRecentFeatures(rand.New(rand.NewPCG(seed, 1)))
	p.addPool(rand.New(rand.NewPCG(seed, 2)))
	return p
}

// addRecentFeatures draws what the former version does not support: zones that are removed
// from their group for a while, scale-ups during evictions, in which pods are verified that
// cached StatefulSets do not include, and pauses of controllers, after which pods are
// adopted late. Its random source is separate, so the rest of a plan does not depend on it.
func (p *plan) addRecentFeatures(random *rand.Rand) {
	oneOf := 3
	for i := range p.groups {
		g := &p.groups[i]
		if random.IntN(2) == 0 {
			p.faults = append(p.faults, zoneDeparts(random, *g))
		}
		if zone, can := g.scalableZone(random); can && random.IntN(2) == 0 {
			p.lanes = append(p.lanes, g.newRaise(random, zone)...)
			oneOf = 2
		}
	}
	if f := singleDelayedWatch(random); random.IntN(oneOf) == 0 && !f.isDuplicate(p.faults) {
		p.faults = append(p.faults, f)
	}
	if random.IntN(4) == 0 {
		p.faults = append(p.faults, controllersPaused(random))
	}
}

// addPool draws a StatefulCluster for every other plan, which the former version does not know. Its random source is
// separate as well.
func (p *plan) addPool(random *rand.Rand) {
	if random.IntN(2) == 0 {
		return
	}
	p.pool = newPool(random)
	updates := len(p.lanes)
	p.lanes = append(p.lanes, p.pool.stepsOf(random)...)
	p.faults = p.pool.newFaults(random, p.faults)
	p.addClaimTemplates(rand.New(rand.NewPCG(p.seed, 3)), updates)
	p.addSurge(rand.New(rand.NewPCG(p.seed, 4)))
}

// drawPlan draws a plan. For the former version it omits unsupported features: rollouts with
// partitions, disruptions by plans that scaled zones up before, and downscales of pods that are down.
func drawPlan(seed uint64, former bool) plan {
	random := rand.New(rand.NewPCG(seed, 0))
	p := plan{seed: seed}
	names := []string{"store", "index"}
	for _, name := range names[:1+random.IntN(2)] {
		g := newGroup(random, name, former)
		p.lanes = append(p.lanes, g.stepsOf(random)...)
		p.groups = append(p.groups, g)
	}
	p.faults = newFaults(random)
	return p
}

func newGroup(random *rand.Rand, name string, former bool) group {
	g := group{
		name:             name,
		maxUnavailable:   1 + random.IntN(3),
		readyDelay:       between(random, 50*time.Millisecond, 800*time.Millisecond),
		terminationDelay: between(random, 0, 400*time.Millisecond),
		hasLeader:        random.IntN(3) == 0,
		maxEvicted:       1 + random.IntN(2),
		partitions:       random.IntN(3) == 0,
	}
	if former {
		g.partitions, g.hasLeader = false, false
	}
	if random.IntN(3) == 0 {
		g.minBetweenDownscales = time.Duration(5+random.IntN(6)) * time.Second
	}
	if former {
		g.minBetweenDownscales = 0
	}
	if random.IntN(4) == 0 {
		g.minReady = time.Duration(2+random.IntN(3)) * time.Second
	}
	size := int32(2 + random.IntN(3))
	for i := range g.replicas {
		g.replicas[i] = size
		if !g.hasLeader && random.IntN(3) == 0 {
			g.replicas[i] = size - 1
		}
	}
	g.finalReplicas = g.replicas
	return g
}

// stepsOf draws the steps of a group: a rollout, and a lane for each other kind.
func (g *group) stepsOf(random *rand.Rand) [][]step {
	lanes := [][]step{g.newRollout(random)}
	if random.IntN(3) > 0 {
		lanes = append(lanes, g.newScaling(random))
	}
	if random.IntN(3) > 0 {
		lanes = append(lanes, g.newEvictions(random)...)
	}
	if random.IntN(4) == 0 {
		zone, at := g.zone(random.IntN(len(g.replicas))), between(random, 0, 5*time.Second)
		lanes = append(lanes, []step{pause(zone, at), resume(zone, at+between(random, 2*time.Second, 6*time.Second))})
	}
	if random.IntN(4) == 0 {
		zone, at := g.zone(random.IntN(len(g.replicas))), between(random, 0, 5*time.Second)
		lanes = append(lanes, []step{useRollingUpdate(zone, at), useOnDelete(zone, at+between(random, 2*time.Second, 6*time.Second))})
	}
	return lanes
}

func (g *group) newRollout(random *rand.Rand) []step {
	first := between(random, 0, 3*time.Second)
	steps := []step{rollout(*g, 2, first)}
	if random.IntN(3) == 0 {
		steps = append(steps, rollout(*g, 3, first+between(random, time.Second, 6*time.Second)))
	}
	return steps
}

func (g *group) newScaling(random *rand.Rand) []step {
	zones := []int{0} // the other zones follow it
	if !g.hasLeader {
		zones = random.Perm(len(g.replicas))[:1+random.IntN(2)]
	}
	var steps []step
	for _, z := range zones {
		to := g.replicas[z] - 1
		if to == 0 || random.IntN(3) == 0 {
			to = g.replicas[z] + 1
		}
		steps = append(steps, scale(*g, z, to, between(random, 0, 6*time.Second)))
		g.finalReplicas[z] = to
		if g.hasLeader {
			g.finalReplicas = [3]int32{to, to, to}
		}
	}
	slices.SortFunc(steps, func(a, b step) int { return int(a.at - b.at) })
	return steps
}

func (g *group) newEvictions(random *rand.Rand) [][]step {
	var lanes [][]step
	for range 1 + random.IntN(4) {
		z := random.IntN(len(g.replicas))
		pods := min(g.replicas[z], g.finalReplicas[z])
		if g.partitions { // a pod that another zone does not have counts as down there
			pods = slices.Min(slices.Concat(g.replicas[:], g.finalReplicas[:]))
		}
		pod := fmt.Sprintf("%s-%d", g.zone(z), random.IntN(int(pods)))
		lanes = append(lanes, []step{evict(pod, between(random, 0, 8*time.Second))})
	}
	return lanes
}

// zone returns the name of a zone.
func (g group) zone(i int) string { return g.name + "-zone-" + string(rune('a'+i)) }

// between draws a duration in whole milliseconds.
func between(random *rand.Rand, from, to time.Duration) time.Duration {
	span := int((to - from) / time.Millisecond)
	return from + time.Duration(random.IntN(span+1))*time.Millisecond
}

// String describes a plan.
func (p plan) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "plan %d\n", p.seed)
	for _, g := range p.groups {
		fmt.Fprintf(&b, "  group %s: replicas %v, %d may be unavailable, Ready after %s, gone after %s",
			g.name, g.replicas, g.maxUnavailable, g.readyDelay, g.terminationDelay)
		if g.hasLeader {
			fmt.Fprint(&b, ", zones follow the first")
		}
		if g.minReady > 0 {
			fmt.Fprintf(&b, ", available %s later", g.minReady)
		}
		if g.minBetweenDownscales > 0 {
			fmt.Fprintf(&b, ", downscales %s apart", g.minBetweenDownscales)
		}
		fmt.Fprintf(&b, ", %d may be evicted of a %s\n", g.maxEvicted, map[bool]string{true: "partition", false: "zone"}[g.partitions])
	}
	if p.pool != nil {
		fmt.Fprint(&b, p.pool)
	}
	for _, s := range p.steps() {
		fmt.Fprintf(&b, "  %6s  %s\n", s.at, s.what)
	}
	for _, f := range p.faults {
		fmt.Fprintf(&b, "  fault   %s\n", f.description)
	}
	return b.String()
}

// steps returns all steps in the order of their start.
func (p plan) steps() []step {
	return slices.SortedStableFunc(slices.Values(slices.Concat(p.lanes...)), func(a, b step) int { return int(a.at - b.at) })
}
