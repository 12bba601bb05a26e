package judge

import (
	"fmt"
	"iter"
	"slices"
	"time"
)

// taking is a takedown on trial.
type taking struct {
	pod    *Pod
	states []dated // of its zone, lately
	knowledge
	by deed
}

func (t taking) zone() *Zone { return last(t.states).Zone }

func (t taking) place() place {
	_, ordinal, _ := ordinalOf(t.pod.Name)
	return place{t.zone().Name, ordinal}
}

// tryTakedown judges one deletion by an operator, which the API server was asked
// for by this request and told of by this fact.
func (c *court) tryTakedown(f Fact, asked Request, group string) {
	k := c.expected(group, asked.At, asked.Agent, itself("delete", "pods", f.Pod.Name), ofHold, beforeHold, ofLook)
	t := taking{pod: f.Pod, states: c.lately(c.statesOf(f.Pod.Owner), k), knowledge: k, by: deleted}
	wasUp := c.wasUp(f.Pod)
	c.record(f, t, wasUp)
	if len(t.states) == 0 {
		c.object(5, nil, "%s was deleted, which belongs to no zone", f.Pod.Name)
		return
	}
	c.tryPod(t)
	c.tryStrategies(t)
	if wasUp {
		c.tryOthers(t)
		c.tryPartitions(t.zone(), t.knowledge, fmt.Sprintf("%s was %s", t.pod.Name, t.by))
		c.tryShrinking(t)
		limit := c.limitOfDeletions(t)
		c.tryBudget(t, limit, max(limit, c.limitOfEvictions(t)))
		c.tryHold(t, asked)
	}
}

// expected is what may be expected of who did something in a group at a time, on this way.
func (c *court) expected(group string, now time.Time, agent string, way ...link) knowledge {
	k := knowledge{now: now, agent: agent, group: group, decided: c.decided(now, agent, group, way...)}
	k.looked = c.looked(group, k)
	return k
}

func (c *court) wasUp(p *Pod) bool {
	before := c.pods[p.Name]
	return before != nil && before.UID == p.UID && before.Up()
}

func (c *court) record(f Fact, t taking, wasUp bool) {
	d := Takedown{
		At: t.now, Version: f.Version, Namespace: c.namespace, Pod: t.pod.Name, UID: t.pod.UID,
		WasUp: wasUp, Evicted: t.by == evicted, Grace: c.grace(t.knowledge),
	}
	if len(t.states) > 0 {
		d.Group, d.Zone, d.Budget = t.zone().Group, t.zone().Name, widest(t.states)
	}
	c.takedowns = append(c.takedowns, d)
}

// tryPod asks whether the pod could be meant at all.
func (c *court) tryPod(t taking) {
	p, ordinal := t.pod, t.place().ordinal
	for _, claim := range []struct {
		guarantee int
		what      string
		fits      func(dated) bool
	}{
		{5, "was left by a deleted StatefulSet", func(z dated) bool { return !z.Gone }},
		{5, "belongs to no group", func(z dated) bool { return z.Gone || z.in(t.group) }},
		{5, "was not outdated", func(z dated) bool { return z.Revision != "" && z.Revision != p.Revision }},
		{5, "is beyond spec.replicas", func(z dated) bool { return z.asksFor(ordinal) }},
		{3, "belongs to a paused zone", func(z dated) bool { return !z.stands(t.now) }},
	} {
		if !slices.ContainsFunc(t.states, claim.fits) {
			c.object(claim.guarantee, t.zone(), "%s was deleted, which %s", p.Name, claim.what)
		}
	}
}

// tryStrategies asks whether all zones of the group were left to lockstep.
func (c *court) tryStrategies(t taking) {
	c.members(t.group, t.knowledge, func(_ string, states []dated) {
		onDelete := func(s dated) bool { return s.OnDelete || !s.in(t.group) }
		if c.longKnown(states, t.knowledge) && !slices.ContainsFunc(states, onDelete) {
			c.object(3, t.zone(), "%s was deleted while zone %s is not OnDelete", t.pod.Name, last(states).Name)
		}
	})
}

// tryOthers asks whether the rest of the group was whole.
func (c *court) tryOthers(t taking) {
	z := t.zone()
	c.others(t.group, z.Name, t.knowledge, func(_ string, states []dated) {
		for what, guarantee := range c.missingFrom(states, t.knowledge) {
			c.object(guarantee, z, "%s of zone %s was %s while %s", t.pod.Name, z.Name, t.by, what)
		}
	})
}

// missingFrom says what keeps a zone from being whole, each with the guarantee that keeps
// other zones whole meanwhile.
func (c *court) missingFrom(states []dated, k knowledge) iter.Seq2[string, int] {
	return func(yield func(what string, guarantee int) bool) {
		z := last(states)
		for pod, guarantee := range c.downIn(z.Zone, k) {
			if !yield(fmt.Sprintf("%s of zone %s was down", pod, z.Name), guarantee) {
				return
			}
		}
		if !slices.ContainsFunc(states, func(s dated) bool { return !s.Gone }) {
			yield(fmt.Sprintf("zone %s had no StatefulSet", z.Name), 2)
		}
	}
}

// downIn returns the pods of a zone that are down, each with the guarantee that
// keeps other zones whole meanwhile.
func (c *court) downIn(z *Zone, k knowledge) iter.Seq2[string, int] {
	return func(yield func(pod string, guarantee int) bool) {
		for n := range z.Replicas {
			at := place{z.Name, z.Start + n}
			out, down := c.down[at]
			if !down || !c.counts(at, out, k) {
				continue
			}
			guarantee := 2
			if out.by != notOurs && out.until.IsZero() {
				guarantee = 1
			}
			if !yield(podName(z.Name, z.Start+n), guarantee) {
				return
			}
		}
	}
}

// tryBudget asks whether fewer other pods of the zone were down than allowed, apart from
// those whose eviction joined a rollout that had noted this pod before, and than together
// with these. One that serves costs as much if it is not available yet.
func (c *court) tryBudget(t taking, allowed, together int) {
	downAfter, joined, own := 1, 0, c.notedAt[t.pod.UID]
	for at, out := range c.down {
		switch {
		case at.zone != t.zone().Name || at == t.place() || !c.counts(at, out, t.knowledge):
		case t.by == deleted && out.by == evicted && own > 0 && out.noted > own:
			joined++
		default:
			downAfter++
		}
	}
	if downAfter+joined > together {
		downAfter, allowed = downAfter+joined, together
	}
	if downAfter > allowed {
		c.object(4, t.zone(), "%s was %s, so %d pods of its zone were down, %d allowed", t.pod.Name, t.by, downAfter, allowed)
	}
}

// limitOfDeletions is how many pods of a zone a rollout may have down.
func (c *court) limitOfDeletions(t taking) int {
	limit := widest(t.states)
	if b, found := c.budget(t.group); found && b.Limit > 0 && b.Partition == nil {
		return min(limit, b.Limit)
	}
	return limit
}

// limitOfEvictions is how many pods of a zone evictions may have down; 0 where they do not
// go by zones.
func (c *court) limitOfEvictions(t taking) int {
	b, found := c.budget(t.group)
	switch {
	case !found:
		return widest(t.states)
	case b.Partition != nil:
		return 0
	}
	return b.Limit
}

// tryHold asks whether the group was held for a deletion, and the pod noted, before.
// What a request without an end required is not known.
func (c *court) tryHold(t taking, asked Request) {
	zone := t.zone().Name
	note, objection := c.noted(t.pod, t.group, "rollout/"+zone, "downscale/"+zone) // which joins
	if objection == "" && asked.over() && note.Version != asked.RequiredVersion {
		objection = fmt.Sprintf("at version %d, noted in the Lease of its group at version %d", asked.RequiredVersion, note.Version)
	}
	c.objectToHold(t, objection)
}

// objectToHold objects to what is wrong with the Lease of a pod's group, if anything is.
func (c *court) objectToHold(t taking, objection string) {
	if objection != "" {
		c.object(1, t.zone(), "%s was %s %s", t.pod.Name, t.by, objection)
	}
}

// noted returns what the Lease of a group notes of a pod, or says what is wrong
// with it: only these holders may take the pod down.
func (c *court) noted(p *Pod, group string, holders ...string) (Note, string) {
	h := c.holds[group]
	switch {
	case h == nil || h.Gone:
		return Note{}, "without a Lease of its group"
	case !slices.Contains(holders, h.Holder):
		return Note{}, fmt.Sprintf("while %q had the Lease of its group", h.Holder)
	}
	i := slices.IndexFunc(h.Notes, func(n Note) bool { return n.UID == p.UID })
	if i < 0 {
		return Note{}, "without a note in the Lease of its group"
	}
	return h.Notes[i], ""
}

func widest(states []dated) int {
	budget := 0
	for _, s := range states {
		budget = max(budget, s.Budget)
	}
	return budget
}
