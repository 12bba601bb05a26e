package judge

import (
	"slices"
	"time"
)

// tryEviction judges an eviction that had an effect, whoever asked for it, and reports whether
// that is bound. What it was allowed by is known a moment before the pod leaves, however long
// it waited for that, by the operator that has noted it, or gone on with the note. A pod that a
// decrease has taken down leaves by that, whoever sends it. Orphans are judged as pods of the
// StatefulSet that they had.
func (c *court) tryEviction(f Fact, asked Request, group string) bool {
	k := c.expected(group, c.allowed(f, asked), c.writersSince(group, c.notedAt[f.Pod.UID]), ofHold, ofLook)
	k.now = f.At
	t := taking{pod: f.Pod, states: c.lately(c.zones[c.parent(f.Pod)], k), knowledge: k, by: evicted}
	strange := func(s dated) bool { return !s.countsFor(group) }
	if len(t.states) == 0 || slices.ContainsFunc(t.states, strange) || c.leavesByDecrease(f.Pod) {
		return false
	}
	wasUp := c.wasUp(f.Pod)
	c.record(f, t, wasUp)
	if !wasUp {
		return true
	}
	b, found := c.budget(group)
	if !found {
		b.Limit = widest(t.states)
	}
	if b.Partition != nil {
		c.tryPeers(t, b)
		c.tryRollouts(t)
	} else {
		c.tryOthers(t)
		c.tryBudget(t, b.Limit, b.Limit)
	}
	c.tryShrinking(t)
	c.tryHoldOfEviction(t, b)
	if c.Pinned && asked.over() && asked.RequiredUID != f.Pod.UID {
		c.object(5, t.zone(), "%s was evicted by a request that is not bound to the very pod", f.Pod.Name)
	}
	return true
}

// allowed is when an eviction was allowed, at the earliest: as its note was written, where
// that was after it had been asked for, else as the pod left.
func (c *court) allowed(f Fact, asked Request) time.Time {
	noted := c.writes[c.notedAt[f.Pod.UID]].Ended
	if c.Strict || noted.IsZero() || noted.Before(asked.At) || f.At.Before(noted) {
		return f.At
	}
	return noted
}

// tryPeers asks whether fewer pods of the partition were down in the other zones
// than its budget allows.
func (c *court) tryPeers(t taking, b Budget) {
	z, down := t.zone(), 0
	partition := b.partitionOf(t.pod.Name)
	if partition == "" {
		c.object(4, z, "%s was evicted, which is in no partition", t.pod.Name)
		return
	}
	c.others(t.group, z.Name, t.knowledge, func(_ string, states []dated) {
		for pod := range c.downIn(last(states).Zone, t.knowledge) {
			if b.partitionOf(pod) == partition {
				down++
			}
		}
	})
	if down >= b.Limit {
		c.object(4, z, "%s was evicted while %d pods of partition %s were down in other zones, fewer than %d wanted", t.pod.Name, down, partition, b.Limit)
	}
}

// tryRollouts asks whether no rollout had a pod of the group down, where evictions
// go by partitions.
func (c *court) tryRollouts(t taking) {
	c.members(t.group, t.knowledge, func(name string, _ []dated) {
		for at, out := range c.down {
			if at.zone == name && out.by == deleted && c.counts(at, out, t.knowledge) {
				c.object(1, t.zone(), "%s was evicted while %s was down by a rollout", t.pod.Name, podName(name, at.ordinal))
			}
		}
	})
}

// tryPartitions asks whether nobody is down in a zone by an eviction that goes by
// partitions, while the zone is rolled or shrinks. What is down in others counts anyway.
func (c *court) tryPartitions(z *Zone, k knowledge, deed string) {
	if b, found := c.budget(k.group); !found || b.Partition == nil {
		return
	}
	for at, out := range c.down {
		if at.zone == z.Name && out.by == evicted && c.counts(at, out, k) {
			c.object(1, z, "%s while %s was down by an eviction that goes by partitions", deed, podName(z.Name, at.ordinal))
		}
	}
}

func (c *court) tryHoldOfEviction(t taking, b Budget) {
	zone := t.zone().Name
	holders := []string{"rollout/" + zone, "downscale/" + zone, "eviction/" + zone}
	if b.Partition != nil {
		holders = []string{"eviction/partitions"}
	}
	_, objection := c.noted(t.pod, t.group, holders...)
	c.objectToHold(t, objection)
}
