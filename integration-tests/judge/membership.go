package judge

import (
	"maps"
	"slices"
	"time"
)

// zoneState is a state of a zone and when it began.
type zoneState struct {
	since   time.Time
	version uint64
	*Zone

	// formerGroups are the groups from which the zone was removed and for which it still
	// counts, because its pods have not all been available since.
	formerGroups []string
}

// isIn reports whether a zone is a member of a group.
func (s zoneState) isIn(group string) bool { return s.Grouped && !s.Deleted && s.Group == group }

// countsFor reports whether a zone is a member of a group, or was removed from it and still
// counts for it.
func (s zoneState) countsFor(group string) bool {
	return s.isIn(group) || slices.Contains(s.formerGroups, group)
}

// hasPods reports whether a zone has a StatefulSet, or orphaned pods of its deleted
// StatefulSet.
func (s zoneState) hasPods() bool { return !s.Deleted || len(s.formerGroups) > 0 }

// groups returns the groups that a zone counts for, its own group first.
func (s zoneState) groups() []string {
	if s.Grouped && !s.Deleted {
		return append([]string{s.Group}, s.formerGroups...)
	}
	return slices.Clone(s.formerGroups)
}

// applyZone records a state of a StatefulSet.
func (v *verifier) applyZone(e Event) {
	v.endFormerMembership(e.Zone.Name, e.At)
	v.verifyDownscale(e)
	z := zoneState{since: e.At, version: e.Version, Zone: e.Zone}
	if states := v.zones[z.Name]; len(states) > 0 {
		before := last(states)
		z.formerGroups = slices.DeleteFunc(before.groups(), z.isIn)
	}
	v.setNames[z.UID] = z.Name
	v.zones[z.Name] = append(v.zones[z.Name], z)
	if z.hasPods() {
		v.updateOutages(z.Zone, e.At)
		v.endFormerMembership(z.Name, e.At)
	} else {
		v.forgetSlots(z.Name)
	}
}

// endFormerMembership removes the former groups of a zone that no longer counts for them.
func (v *verifier) endFormerMembership(zone string, now time.Time) {
	states := v.zones[zone]
	if len(states) == 0 || len(last(states).formerGroups) == 0 || !v.isSettled(last(states), now) {
		return
	}
	z := last(states)
	v.zones[zone] = append(states, zoneState{since: now, version: z.version, Zone: z.Zone})
	if z.Deleted {
		v.forgetSlots(zone)
	}
}

// isSettled reports whether a zone no longer counts for its former groups: it has neither a
// StatefulSet nor pods, or all pods of its StatefulSet are available and no former group has an intent
// for one of them.
func (v *verifier) isSettled(z zoneState, now time.Time) bool {
	if z.Deleted {
		for _, p := range v.pods {
			if !p.Deleted && v.setName(p) == z.Name {
				return false
			}
		}
		return true
	}
	for at, out := range v.outages {
		if at.zone == z.Name && !out.isOver(now) {
			return false
		}
	}
	return !slices.ContainsFunc(z.formerGroups, func(group string) bool { return v.hasIntent(group, z.Name) })
}

// hasIntent reports whether the Lease of a group has an intent for a pod of a zone.
func (v *verifier) hasIntent(group, zone string) bool {
	h := v.holds[group]
	return h != nil && !h.Deleted && slices.ContainsFunc(h.Intents, func(n PodIntent) bool {
		parent, _, _ := ordinalOf(n.Pod)
		return parent == zone
	})
}

// forgetSlots forgets the slots of a deleted zone.
func (v *verifier) forgetSlots(zone string) {
	maps.DeleteFunc(v.outages, func(at podSlot, _ outage) bool { return at.zone == zone })
	maps.DeleteFunc(v.wantedSince, func(at podSlot, _ time.Time) bool { return at.zone == zone })
}

// setName returns the name of the StatefulSet that controls a pod, or controlled it last. It returns
// an empty string if there was none.
func (v *verifier) setName(p *Pod) string {
	if p.Owner != "" {
		return v.setNames[p.Owner]
	}
	return v.setNames[v.owners[p.UID]]
}

// forEachMember calls the function for every zone that the operator must know to count for a group,
// with the states that the operator may see.
func (v *verifier) forEachMember(group string, k knowledge, call func(name string, states []zoneState)) {
	for _, name := range slices.Sorted(maps.Keys(v.zones)) {
		states := v.possibleStates(v.zones[name], k)
		isOutside := func(s zoneState) bool { return !s.countsFor(group) }
		if !slices.ContainsFunc(states, isOutside) {
			call(name, states)
		}
	}
}

// forEachOther is forEachMember without one zone.
func (v *verifier) forEachOther(group, zone string, k knowledge, call func(name string, states []zoneState)) {
	v.forEachMember(group, k, func(name string, states []zoneState) {
		if name != zone {
			call(name, states)
		}
	})
}

// statesOf returns the states of the StatefulSet with this UID, without others of the same name.
func (v *verifier) statesOf(uid string) []zoneState {
	return slices.DeleteFunc(slices.Clone(v.zones[v.setNames[uid]]), func(s zoneState) bool { return s.UID != uid })
}

// previousState returns the last state of a StatefulSet before the current event.
func (v *verifier) previousState(uid string) *Zone {
	if states := v.statesOf(uid); len(states) > 0 {
		return last(states).Zone
	}
	return nil
}

// possibleStates returns the states of a zone that may be the latest one that the operator knows.
func (v *verifier) possibleStates(states []zoneState, k knowledge) []zoneState {
	for i := len(states) - 1; i > 0; i-- {
		if v.mustKnow(k, states[i].since, statefulSets) {
			return states[i:]
		}
	}
	return states
}

// mustKnowFirst reports whether the operator must know of the first of these states.
func (v *verifier) mustKnowFirst(states []zoneState, k knowledge) bool {
	return v.mustKnow(k, states[0].since, statefulSets)
}

// groupOfPod returns the group in which a pod is disrupted. Of the groups for which its zone counts or
// counted, this is the one whose Lease has an intent for the pod, or else the first.
func (v *verifier) groupOfPod(p *Pod) string {
	states := v.zones[v.setName(p)]
	groups := []string{}
	for _, s := range slices.Backward(states) {
		groups = append(groups, s.groups()...)
	}
	hasIntent := func(group string) bool {
		h := v.holds[group]
		return h != nil && !h.Deleted && slices.ContainsFunc(h.Intents, func(n PodIntent) bool { return n.UID == p.UID })
	}
	if i := slices.IndexFunc(groups, hasIntent); i >= 0 {
		return groups[i]
	}
	if len(groups) == 0 {
		return ""
	}
	return groups[0]
}
