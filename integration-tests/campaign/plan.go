package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// plan is what is tried. Its seed decides all of it.
type plan struct {
	seed   uint64
	groups []group
	lanes  [][]step // those of a lane one after the other, lanes beside each other
	faults []fault
}

// group is three zones, and what is allowed to happen to them.
type group struct {
	name        string
	replicas    [3]int32
	unavailable int           // pods of a zone, by rollouts
	ready       time.Duration // until a pod serves
	gone        time.Duration // until a deleted pod is gone
	follows     bool          // the first zone leads the others
	apart       time.Duration // between downscales of two zones
	minReady    time.Duration // from when on a Ready pod is available
	evictable   int           // pods that its budget lets evictions take down
	partitions  bool          // which goes by partitions, not by zones

	wanted [3]int32 // replicas at the end
}

// step is something that a user asks for, again and again until it is granted.
type step struct {
	what  string // for people
	kind  string // for the table
	at    time.Duration
	until func(*trial) attempt
}

// busy is the time in which steps begin and most faults happen.
const busy = 10 * time.Second

// newPlan makes the plan of a seed.
func newPlan(seed uint64) plan {
	p := drawPlan(seed, false)
	if slices.ContainsFunc(p.faults, func(f fault) bool { return f.former }) {
		faults := p.faults
		p = drawPlan(seed, true)
		p.faults = faults
		return p
	}
	p.drawMore(rand.New(rand.NewPCG(seed, 1)))
	return p
}

// drawMore draws what the former version does not know: zones that leave for a while, and raises
// beside evictions, where pods are judged that StatefulSets as they are cached do not ask for. It
// has dice of its own, which leave the rest of a plan as it is.
func (p *plan) drawMore(random *rand.Rand) {
	oneOf := 3
	for i := range p.groups {
		g := &p.groups[i]
		if random.IntN(2) == 0 {
			p.faults = append(p.faults, leaves(random, *g))
		}
		if zone, can := g.raisable(random); can && random.IntN(2) == 0 {
			p.lanes = append(p.lanes, g.raises(random, zone)...)
			oneOf = 2
		}
	}
	if f := seenAloneLate(random); random.IntN(oneOf) == 0 && !f.isAgain(p.faults) {
		p.faults = append(p.faults, f)
	}
}

// drawPlan spares the former version what it does too soon: rollouts where partitions
// count, takedowns by plans that have raised zones before, and downscales of pods that
// are down.
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
		name:        name,
		unavailable: 1 + random.IntN(3),
		ready:       between(random, 50*time.Millisecond, 800*time.Millisecond),
		gone:        between(random, 0, 400*time.Millisecond),
		follows:     random.IntN(3) == 0,
		evictable:   1 + random.IntN(2),
		partitions:  random.IntN(3) == 0,
	}
	if former {
		g.partitions, g.follows = false, false
	}
	if random.IntN(3) == 0 {
		g.apart = time.Duration(5+random.IntN(6)) * time.Second
	}
	if former {
		g.apart = 0
	}
	if random.IntN(4) == 0 {
		g.minReady = time.Duration(2+random.IntN(3)) * time.Second
	}
	all := int32(2 + random.IntN(3))
	for i := range g.replicas {
		g.replicas[i] = all
		if !g.follows && random.IntN(3) == 0 {
			g.replicas[i] = all - 1
		}
	}
	g.wanted = g.replicas
	return g
}

// stepsOf draws what is asked of a group, a lane for each kind, and at least a rollout.
func (g *group) stepsOf(random *rand.Rand) [][]step {
	lanes := [][]step{g.rolls(random)}
	if random.IntN(3) > 0 {
		lanes = append(lanes, g.scales(random))
	}
	if random.IntN(3) > 0 {
		lanes = append(lanes, g.evicts(random)...)
	}
	if random.IntN(4) == 0 {
		zone, at := g.zone(random.IntN(len(g.replicas))), between(random, 0, 5*time.Second)
		lanes = append(lanes, []step{pauses(zone, at), resumes(zone, at+between(random, 2*time.Second, 6*time.Second))})
	}
	if random.IntN(4) == 0 {
		zone, at := g.zone(random.IntN(len(g.replicas))), between(random, 0, 5*time.Second)
		lanes = append(lanes, []step{takesOver(zone, at), givesBack(zone, at+between(random, 2*time.Second, 6*time.Second))})
	}
	return lanes
}

func (g *group) rolls(random *rand.Rand) []step {
	first := between(random, 0, 3*time.Second)
	steps := []step{rolls(*g, 2, first)}
	if random.IntN(3) == 0 {
		steps = append(steps, rolls(*g, 3, first+between(random, time.Second, 6*time.Second)))
	}
	return steps
}

func (g *group) scales(random *rand.Rand) []step {
	zones := []int{0} // the others follow it
	if !g.follows {
		zones = random.Perm(len(g.replicas))[:1+random.IntN(2)]
	}
	var steps []step
	for _, z := range zones {
		to := g.replicas[z] - 1
		if to == 0 || random.IntN(3) == 0 {
			to = g.replicas[z] + 1
		}
		steps = append(steps, scales(*g, z, to, between(random, 0, 6*time.Second)))
		g.wanted[z] = to
		if g.follows {
			g.wanted = [3]int32{to, to, to}
		}
	}
	slices.SortFunc(steps, func(a, b step) int { return int(a.at - b.at) })
	return steps
}

func (g *group) evicts(random *rand.Rand) [][]step {
	var lanes [][]step
	for range 1 + random.IntN(4) {
		z := random.IntN(len(g.replicas))
		pods := min(g.replicas[z], g.wanted[z])
		if g.partitions { // one that another zone lacks counts as down there
			pods = slices.Min(slices.Concat(g.replicas[:], g.wanted[:]))
		}
		pod := fmt.Sprintf("%s-%d", g.zone(z), random.IntN(int(pods)))
		lanes = append(lanes, []step{evicts(pod, between(random, 0, 8*time.Second))})
	}
	return lanes
}

// zone is the name of one of the zones.
func (g group) zone(i int) string { return g.name + "-zone-" + string(rune('a'+i)) }

// between draws a time, in whole milliseconds.
func between(random *rand.Rand, from, to time.Duration) time.Duration {
	span := int((to - from) / time.Millisecond)
	return from + time.Duration(random.IntN(span+1))*time.Millisecond
}

// String tells a plan as people read it.
func (p plan) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "plan %d\n", p.seed)
	for _, g := range p.groups {
		fmt.Fprintf(&b, "  group %s: replicas %v, %d may be unavailable, Ready after %s, gone after %s",
			g.name, g.replicas, g.unavailable, g.ready, g.gone)
		if g.follows {
			fmt.Fprint(&b, ", zones follow the first")
		}
		if g.minReady > 0 {
			fmt.Fprintf(&b, ", available %s later", g.minReady)
		}
		if g.apart > 0 {
			fmt.Fprintf(&b, ", downscales %s apart", g.apart)
		}
		fmt.Fprintf(&b, ", %d may be evicted of a %s\n", g.evictable, map[bool]string{true: "partition", false: "zone"}[g.partitions])
	}
	for _, s := range p.steps() {
		fmt.Fprintf(&b, "  %6s  %s\n", s.at, s.what)
	}
	for _, f := range p.faults {
		fmt.Fprintf(&b, "  fault   %s\n", f.words)
	}
	return b.String()
}

// steps returns all steps in the order in which they begin.
func (p plan) steps() []step {
	return slices.SortedStableFunc(slices.Values(slices.Concat(p.lanes...)), func(a, b step) int { return int(a.at - b.at) })
}
