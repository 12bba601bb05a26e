package judge

import (
	"fmt"
	"maps"
	"strings"
	"time"
)

// shrinkage is what a decrease of spec.replicas took down in a zone.
type shrinkage struct {
	at      time.Time
	leaving map[string]bool // UIDs of the pods that served then and still exist
}

// tryDecrease judges a change of a zone that takes pods down, where decreases go
// through admission.
func (c *court) tryDecrease(f Fact) {
	z, before := f.Zone, c.former(f.Zone.UID)
	c.takenBack(z)
	if before == nil || z.Gone || z.Replicas >= before.Replicas {
		return
	}
	leaving := map[string]bool{}
	for n := z.Replicas; n < before.Replicas; n++ {
		if p := c.pods[podName(z.Name, z.Start+n)]; p.Up() && p.Owner == z.UID {
			leaving[p.UID] = true
		}
	}
	if c.Guarded && z.Grouped {
		k := c.expected(z.Group, f.At, c.decreaser(f), itself("patch", "statefulsets", z.Name), ofHold, ofHold, beforeHold, ofLook)
		if len(leaving) > 0 {
			c.tryOthersOfDecrease(z, k)
			c.tryPartitions(z, k, fmt.Sprintf("%s shrank to %d", z.Name, z.Replicas))
			c.tryHoldOfDecrease(z)
		}
		c.tryTimeOfDecrease(z, k)
	}
	if former := c.shrinking[z.Name]; former != nil {
		maps.Copy(leaving, former.leaving)
	}
	c.shrinking[z.Name] = &shrinkage{at: f.At, leaving: leaving}
}

// decreaser is the operator that shrank a zone, or those that have noted that somebody
// else may, or gone on with the note.
// Two writes of the Lease may come before: of the note, and of the yes.
func (c *court) decreaser(f Fact) string {
	if r, ours := c.writes[f.Version]; ours {
		return r.Agent
	}
	return c.writersSince(f.Zone.Group, c.notedIn[f.Zone.Group])
}

// writersSince names all who wrote the Lease of a group since a version; empty where one of
// them is not known.
func (c *court) writersSince(group string, version uint64) string {
	all := ""
	for _, w := range c.writers[group] {
		switch {
		case w.version < version:
		case w.agent == "":
			return ""
		case !strings.Contains(all, w.agent):
			all += w.agent + " "
		}
	}
	return all
}

func (c *court) tryOthersOfDecrease(z *Zone, k knowledge) {
	c.others(z.Group, z.Name, k, func(name string, states []dated) {
		if c.isShrinking(name) {
			c.object(1, z, "%s shrank to %d while pods of zone %s were leaving by a decrease", z.Name, z.Replicas, name)
		}
		for what, guarantee := range c.missingFrom(states, k) {
			c.object(guarantee, z, "%s shrank to %d while %s", z.Name, z.Replicas, what)
		}
	})
}

func (c *court) tryHoldOfDecrease(z *Zone) {
	h := c.holds[z.Group]
	switch {
	case h == nil || h.Gone:
		c.object(1, z, "%s shrank to %d without a Lease of its group", z.Name, z.Replicas)
	case h.Holder != "downscale/"+z.Name:
		c.object(1, z, "%s shrank to %d while %q had the Lease of its group", z.Name, z.Replicas, h.Holder)
	case h.Shrinks.Zone != z.Name:
		c.object(1, z, "%s shrank to %d without a note in the Lease of its group", z.Name, z.Replicas)
	case h.Shrinks != Shrink{Zone: z.Name, UID: z.UID, Version: last(c.zones[z.Name]).version, To: z.Replicas}:
		c.object(1, z, "%s shrank to %d from version %d, noted in the Lease of its group is %+v", z.Name, z.Replicas, last(c.zones[z.Name]).version, h.Shrinks)
	}
}

// tryTimeOfDecrease asks whether no other zone shrank too shortly before. When that
// was is read live from the Lease, so that nobody can hear of it late; only the judge
// may have heard of either a moment later.
func (c *court) tryTimeOfDecrease(z *Zone, k knowledge) {
	c.others(z.Group, z.Name, k, func(name string, states []dated) {
		earlier := c.shrinking[name]
		if earlier == nil {
			return
		}
		if apart := max(z.Apart, last(states).Apart); k.now.Sub(earlier.at) < apart-hearing {
			c.object(6, z, "%s shrank %s after %s, at least %s wanted", z.Name, k.now.Sub(earlier.at).Round(time.Millisecond), name, apart)
		}
	})
}

// leavesByDecrease reports whether a decrease has taken a pod down already, which still
// exists.
func (c *court) leavesByDecrease(p *Pod) bool {
	s := c.shrinking[c.parent(p)]
	return s != nil && s.leaving[p.UID]
}

// isShrinking reports whether pods that a decrease took down still exist.
func (c *court) isShrinking(zone string) bool {
	s := c.shrinking[zone]
	return s != nil && len(s.leaving) > 0
}

// takenBack forgets pods that are asked for again before they began to leave.
func (c *court) takenBack(z *Zone) {
	s := c.shrinking[z.Name]
	if s == nil {
		return
	}
	for _, name := range z.Pods() {
		if p := c.pods[name]; p.Up() {
			delete(s.leaving, p.UID)
		}
	}
}

// shrunk forgets a pod that is gone.
func (c *court) shrunk(p *Pod) {
	for _, s := range c.shrinking {
		if p.Gone {
			delete(s.leaving, p.UID)
		}
	}
}

// tryShrinking asks whether no other zone of the group shrinks while a pod that
// serves is taken down, and none at all where that is by partitions.
func (c *court) tryShrinking(t taking) {
	if !c.Guarded {
		return
	}
	z := t.zone()
	b, _ := c.budget(t.group)
	byPartitions := t.by == evicted && b.Partition != nil
	c.members(t.group, t.knowledge, func(name string, _ []dated) {
		if (name != z.Name || byPartitions) && c.isShrinking(name) {
			c.object(1, z, "%s of zone %s was %s while pods of zone %s were leaving by a decrease", t.pod.Name, z.Name, t.by, name)
		}
	})
}
