package judge

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"
)

// tryTakedown judges one deletion by an operator, which the API server was asked
// for by this request and told of by this fact.
func (c *court) tryTakedown(f Fact, asked Request) {
	p, before, now := f.Pod, c.pods[f.Pod.Name], asked.At
	wasUp := before != nil && before.UID == p.UID && before.Up()
	states := c.lately(p.Owner, now)
	t := Takedown{At: now, Version: f.Version, Namespace: c.namespace, Pod: p.Name, UID: p.UID, WasUp: wasUp}
	if len(states) == 0 {
		c.object(5, nil, "%s was deleted, which belongs to no zone", p.Name)
		c.takedowns = append(c.takedowns, t)
		return
	}
	z := last(states).Zone
	t.Group, t.Zone, t.Budget = z.Group, z.Name, widest(states)
	c.takedowns = append(c.takedowns, t)
	c.tryPod(p, states)
	c.tryStrategies(p, z, now)
	if wasUp {
		c.tryOthers(p, z, now)
		c.tryShrinking(p, z, now)
		c.tryBudget(p, states, now)
		c.tryHold(p, states, asked)
	}
}

// tryPod asks whether the pod could be meant at all.
func (c *court) tryPod(p *Pod, states []dated) {
	_, ordinal, _ := ordinalOf(p.Name)
	for _, claim := range []struct {
		guarantee int
		what      string
		fits      func(dated) bool
	}{
		{5, "was left by a deleted StatefulSet", func(z dated) bool { return !z.Gone }},
		{5, "belongs to no group", func(z dated) bool { return z.Grouped }},
		{5, "was not outdated", func(z dated) bool { return z.Revision != "" && z.Revision != p.Revision }},
		{5, "is beyond spec.replicas", func(z dated) bool { return z.Start <= ordinal && ordinal < z.Start+z.Replicas }},
		{3, "belongs to a paused zone", func(z dated) bool { return !z.Paused }},
	} {
		if !slices.ContainsFunc(states, claim.fits) {
			c.object(claim.guarantee, last(states).Zone, "%s was deleted, which %s", p.Name, claim.what)
		}
	}
}

// members calls for every zone of a group that an operator had to know as one of
// it, with the states it had lately.
func (c *court) members(group string, now time.Time, call func(uid string, states []dated)) {
	for _, uid := range slices.Sorted(maps.Keys(c.zones)) {
		states := c.lately(uid, now)
		strange := func(s dated) bool { return s.Gone || !s.Grouped || s.Group != group }
		if !slices.ContainsFunc(states, strange) {
			call(uid, states)
		}
	}
}

// tryStrategies asks whether all zones of the group were left to lockstep.
func (c *court) tryStrategies(p *Pod, z *Zone, now time.Time) {
	c.members(z.Group, now, func(_ string, states []dated) {
		onDelete := func(s dated) bool { return s.OnDelete }
		if c.longKnown(states, now) && !slices.ContainsFunc(states, onDelete) {
			c.object(3, z, "%s was deleted while zone %s is not OnDelete", p.Name, last(states).Name)
		}
	})
}

// tryOthers asks whether the rest of the group was whole.
func (c *court) tryOthers(p *Pod, z *Zone, now time.Time) {
	c.members(z.Group, now, func(uid string, states []dated) {
		other := last(states)
		if uid == z.UID {
			return
		}
		for pod, guarantee := range c.downIn(other.Zone, now) {
			c.object(guarantee, z, "%s of zone %s was deleted while %s of zone %s was down", p.Name, z.Name, pod, other.Name)
		}
	})
}

// downIn returns the pods of a zone that are down, each with the guarantee that
// keeps other zones whole meanwhile.
func (c *court) downIn(z *Zone, now time.Time) iter.Seq2[string, int] {
	return func(yield func(pod string, guarantee int) bool) {
		for n := range z.Replicas {
			out, down := c.down[place{z.UID, z.Start + n}]
			if !down || !c.counts(out, now) {
				continue
			}
			guarantee := 2
			if out.ours && out.until.IsZero() {
				guarantee = 1
			}
			if !yield(podName(z.Name, z.Start+n), guarantee) {
				return
			}
		}
	}
}

// tryBudget asks whether fewer pods of the zone were down than it allows. One that
// was not available costs nothing.
func (c *court) tryBudget(p *Pod, states []dated, now time.Time) {
	_, ordinal, _ := ordinalOf(p.Name)
	if out, down := c.down[place{p.Owner, ordinal}]; down && !out.over(now) {
		return
	}
	downAfter := 1
	for at, out := range c.down {
		if at.zone == p.Owner && c.counts(out, now) {
			downAfter++
		}
	}
	if budget := widest(states); downAfter > budget {
		c.object(4, last(states).Zone, "%s was deleted, so %d pods of its zone were down, %d allowed", p.Name, downAfter, budget)
	}
}

// tryHold asks whether the group was held for this, and the pod noted, before.
func (c *court) tryHold(p *Pod, states []dated, asked Request) {
	objection := ""
	for _, s := range states {
		if objection = c.unheld(p, s.Zone, asked); objection == "" {
			return
		}
	}
	c.object(1, last(states).Zone, "%s was deleted %s", p.Name, objection)
}

// unheld says what is wrong with the Lease of a zone's group.
func (c *court) unheld(p *Pod, z *Zone, asked Request) string {
	h := c.holds[z.Group]
	switch {
	case h == nil || h.Gone:
		return "without a Lease of its group"
	case h.Holder != "rollout/"+z.Name && h.Holder != "downscale/"+z.Name: // which joins
		return fmt.Sprintf("while %q had the Lease of its group", h.Holder)
	}
	i := slices.IndexFunc(h.Notes, func(n Note) bool { return n.UID == p.UID })
	switch {
	case i < 0:
		return "without a note in the Lease of its group"
	case h.Notes[i].Version != asked.RequiredVersion:
		return fmt.Sprintf("at version %d, noted in the Lease of its group at version %d", asked.RequiredVersion, h.Notes[i].Version)
	}
	return ""
}

func widest(states []dated) int {
	budget := 0
	for _, s := range states {
		budget = max(budget, s.Budget)
	}
	return budget
}
