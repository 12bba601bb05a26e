package judge

import (
	"maps"
	"slices"
	"time"
)

// dated is a state of a zone and when it began.
type dated struct {
	from    time.Time
	version uint64
	*Zone

	// formerly are the groups that the zone left and still counts for: its pods live on,
	// and it has not been whole since.
	formerly []string
}

// in reports whether a zone is in a group.
func (s dated) in(group string) bool { return s.Grouped && !s.Gone && s.Group == group }

// countsFor reports whether a zone is in a group, or left it and is not settled.
func (s dated) countsFor(group string) bool { return s.in(group) || slices.Contains(s.formerly, group) }

// counted reports whether pods of a zone are counted: it has a StatefulSet, or pods that its
// StatefulSet left behind.
func (s dated) counted() bool { return !s.Gone || len(s.formerly) > 0 }

// groups returns the groups that a zone counts for, its own first.
func (s dated) groups() []string {
	if s.Grouped && !s.Gone {
		return append([]string{s.Group}, s.formerly...)
	}
	return slices.Clone(s.formerly)
}

// seeZone takes a StatefulSet in.
func (c *court) seeZone(f Fact) {
	c.settle(f.Zone.Name, f.At)
	c.tryDecrease(f)
	z := dated{from: f.At, version: f.Version, Zone: f.Zone}
	if states := c.zones[z.Name]; len(states) > 0 {
		before := last(states)
		z.formerly = slices.DeleteFunc(before.groups(), z.in)
	}
	c.nameOf[z.UID] = z.Name
	c.zones[z.Name] = append(c.zones[z.Name], z)
	if z.counted() {
		c.surveyZone(z.Zone, f.At)
		c.settle(z.Name, f.At)
	} else {
		c.forgetPlaces(z.Name)
	}
}

// settle ends that a zone counts for groups that it left, once it is settled.
func (c *court) settle(zone string, now time.Time) {
	states := c.zones[zone]
	if len(states) == 0 || len(last(states).formerly) == 0 || !c.settled(last(states), now) {
		return
	}
	z := last(states)
	c.zones[zone] = append(states, dated{from: now, version: z.version, Zone: z.Zone})
	if z.Gone {
		c.forgetPlaces(zone)
	}
}

// settled reports whether a zone has no StatefulSet and no pods, or has a StatefulSet and all
// of its pods, of which none is noted in the groups that it left.
func (c *court) settled(z dated, now time.Time) bool {
	if z.Gone {
		for _, p := range c.pods {
			if !p.Gone && c.parent(p) == z.Name {
				return false
			}
		}
		return true
	}
	for at, out := range c.down {
		if at.zone == z.Name && !out.over(now) {
			return false
		}
	}
	return !slices.ContainsFunc(z.formerly, func(group string) bool { return c.notes(group, z.Name) })
}

// notes reports whether the Lease of a group notes a pod of a zone.
func (c *court) notes(group, zone string) bool {
	h := c.holds[group]
	return h != nil && !h.Gone && slices.ContainsFunc(h.Notes, func(n Note) bool {
		parent, _, _ := ordinalOf(n.Pod)
		return parent == zone
	})
}

// forgetPlaces forgets the places of a zone that is no more.
func (c *court) forgetPlaces(zone string) {
	maps.DeleteFunc(c.down, func(at place, _ outage) bool { return at.zone == zone })
	maps.DeleteFunc(c.asked, func(at place, _ time.Time) bool { return at.zone == zone })
}

// parent returns the name of the StatefulSet that controls a pod or, if none does, did so
// last; empty: none ever did.
func (c *court) parent(p *Pod) string {
	if p.Owner != "" {
		return c.nameOf[p.Owner]
	}
	return c.nameOf[c.owners[p.UID]]
}

// members calls for every zone that an operator had to know as one of a group, or as one
// that left it and is not settled, with the states it had lately.
func (c *court) members(group string, k knowledge, call func(name string, states []dated)) {
	for _, name := range slices.Sorted(maps.Keys(c.zones)) {
		states := c.lately(c.zones[name], k)
		strange := func(s dated) bool { return !s.countsFor(group) }
		if !slices.ContainsFunc(states, strange) {
			call(name, states)
		}
	}
}

// others calls for the members of a group but for one zone.
func (c *court) others(group, zone string, k knowledge, call func(name string, states []dated)) {
	c.members(group, k, func(name string, states []dated) {
		if name != zone {
			call(name, states)
		}
	})
}

// statesOf returns the states of a StatefulSet, not of others that had its name.
func (c *court) statesOf(uid string) []dated {
	return slices.DeleteFunc(slices.Clone(c.zones[c.nameOf[uid]]), func(s dated) bool { return s.UID != uid })
}

// former is the last known state of a StatefulSet, before the one being told.
func (c *court) former(uid string) *Zone {
	if states := c.statesOf(uid); len(states) > 0 {
		return last(states).Zone
	}
	return nil
}

// lately returns the states of a zone that an operator could take for the present one.
func (c *court) lately(states []dated, k knowledge) []dated {
	for i := len(states) - 1; i > 0; i-- {
		if c.knew(k, states[i].from, statefulSets) {
			return states[i:]
		}
	}
	return states
}

// longKnown reports whether an operator had to know of the first of these states.
func (c *court) longKnown(states []dated, k knowledge) bool {
	return c.knew(k, states[0].from, statefulSets)
}

// groupOf returns the group in which a pod is taken down: of those that its zone counts
// for, or did lately, the one whose Lease notes the pod, or else the first.
func (c *court) groupOf(p *Pod) string {
	states := c.zones[c.parent(p)]
	groups := []string{}
	for _, s := range slices.Backward(states) {
		groups = append(groups, s.groups()...)
	}
	noted := func(group string) bool {
		h := c.holds[group]
		return h != nil && !h.Gone && slices.ContainsFunc(h.Notes, func(n Note) bool { return n.UID == p.UID })
	}
	if i := slices.IndexFunc(groups, noted); i >= 0 {
		return groups[i]
	}
	if len(groups) == 0 {
		return ""
	}
	return groups[0]
}
