package judge

import "time"

// tryEviction judges an eviction that had an effect, whoever asked for it. What it
// was allowed by is known a moment before the pod leaves, however long it waited
// for that, by the operator that has noted it, or gone on with the note. A pod that a decrease has taken down
// leaves by that, whoever sends it.
func (c *court) tryEviction(f Fact, asked Request) {
	k := c.expected(f.Pod.Owner, c.allowed(f, asked), c.writersSince(f.Pod.Owner, c.notedAt[f.Pod.UID]), ofHold, ofLook)
	k.now = f.At
	t := taking{pod: f.Pod, states: c.lately(f.Pod.Owner, k), knowledge: k, by: evicted}
	if len(t.states) == 0 || !t.zone().Grouped || c.leavesByDecrease(f.Pod) {
		return
	}
	wasUp := c.wasUp(f.Pod)
	c.record(f, t, wasUp)
	if !wasUp {
		return
	}
	b, found := c.budget(t.zone().Group)
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
	c.members(z.Group, t.knowledge, func(uid string, states []dated) {
		other := last(states)
		if uid == z.UID {
			return
		}
		for pod := range c.downIn(other.Zone, t.knowledge) {
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
	z := t.zone()
	c.members(z.Group, t.knowledge, func(uid string, states []dated) {
		for at, out := range c.down {
			if at.zone == uid && out.by == deleted && c.counts(out, t.knowledge) {
				c.object(1, z, "%s was evicted while %s was down by a rollout", t.pod.Name, podName(last(states).Name, at.ordinal))
			}
		}
	})
}

// tryPartitions asks whether nobody is down in a zone by an eviction that goes by
// partitions, while the zone is rolled or shrinks. What is down in others counts anyway.
func (c *court) tryPartitions(z *Zone, k knowledge, deed string) {
	if b, found := c.budget(z.Group); !found || b.Partition == nil {
		return
	}
	for at, out := range c.down {
		if at.zone == z.UID && out.by == evicted && c.counts(out, k) {
			c.object(1, z, "%s while %s was down by an eviction that goes by partitions", deed, podName(z.Name, at.ordinal))
		}
	}
}

func (c *court) tryHoldOfEviction(t taking, b Budget) {
	c.tryHeld(t, func(z *Zone) string {
		holders := []string{"rollout/" + z.Name, "downscale/" + z.Name, "eviction/" + z.Name}
		if b.Partition != nil {
			holders = []string{"eviction/partitions"}
		}
		_, objection := c.noted(t.pod, z.Group, holders...)
		return objection
	})
}
