package group

import (
	"slices"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// Member is a zone of the group, as the hold records it.
type Member struct {
	Zone string
	UID  string // of its StatefulSet
}

// MostMembers limits how many zones a hold records, because they share one annotation.
const MostMembers = 100

// FormerZone is a zone that the hold records and that the group no longer has. Its StatefulSet was
// deleted without its pods, is in another group or in none, or is ignored. It may come back at any
// moment.
type FormerZone struct {
	Zone           // as its StatefulSet is now; without a StatefulSet, only its name and pods
	Exists    bool // a StatefulSet of that name exists outside of the group
	Orphaned  bool // some of its pods have no controller
	Uncovered bool // the budget that covered it was deleted, or now selects neither its StatefulSet nor any of its pods
}

// wants reports whether a pod will be created again, now or when the StatefulSet is back. If a
// deleted StatefulSet has no pods left, the zone is gone.
func (z *FormerZone) wants(pod string) bool {
	if z.Exists {
		return z.Wants(pod)
	}
	return len(z.Pods) > 0
}

// formerZone returns the zone of that name that left the group, or nil.
func (s *Snapshot) formerZone(name string) *FormerZone {
	i := slices.IndexFunc(s.FormerZones, func(z FormerZone) bool { return z.Name == name })
	if i < 0 {
		return nil
	}
	return &s.FormerZones[i]
}

// settled reports whether a zone that left the group no longer matters: it has no pods, or its
// StatefulSet outside of the group is available. If no budget covers the zone any more, it matters
// while one of its pods has an intent.
func (b *groupState) settled(z *FormerZone) bool {
	switch {
	case z.Uncovered:
		return b.leftover(&z.Zone).None()
	case !z.Exists:
		return len(z.Pods) == 0
	}
	return b.zoneStateOf(&z.Zone).available()
}

// unsettled returns the zones that left the group and are not settled. Until they are, no pod of
// another zone may be disrupted. A cache may be older than the pods of such a zone, so only a live
// read shows that the zone is settled, unless no budget covers it any more.
func (b *groupState) unsettled() []*FormerZone {
	var zones []*FormerZone
	for i := range b.FormerZones {
		if z := &b.FormerZones[i]; !b.Live && !z.Uncovered || !b.settled(z) {
			zones = append(zones, z)
		}
	}
	return zones
}

// formerZonesSettled objects while a zone that left the group is not settled. The eviction of an orphan in the
// way does not wait for a zone in which orphans serve.
func (b *groupState) formerZonesSettled(inTheWay bool) plan.Refusal {
	for _, z := range b.unsettled() {
		if !inTheWay || !b.leftToOrphans(z) {
			return b.leftGroup(z)
		}
	}
	return plan.Refusal{}
}

// leftGroup returns a refusal that names a zone that left the group, and its state.
func (b *groupState) leftGroup(z *FormerZone) plan.Refusal {
	if z.Uncovered {
		return b.leftover(&z.Zone)
	}
	r := plan.Refusal{Code: reason.ZoneLeftGroup, Zone: z.Name, Detail: "its StatefulSet was deleted without its pods"}
	if len(z.Pods) > 0 {
		r.Pod = z.Pods[0].Name
	}
	switch {
	case z.Exists:
		because := b.zoneStateOf(&z.Zone).unavailableBecause
		r.Pod, r.Detail, r.Until = because.Pod, z.whereabouts()+z.cannotCreate(because.Pod), because.Until
	case !z.Orphaned:
		r.Code, r.Detail = reason.ZoneDeleting, ""
	}
	return r
}

// whereabouts returns why a StatefulSet is outside of the group.
func (z *FormerZone) whereabouts() string {
	if z.Ignored {
		return "the annotation lockstep.dev/ignore of its StatefulSet is true"
	}
	return "its StatefulSet is no longer in the group"
}

// cannotCreate returns why a StatefulSet outside of the group cannot create a pod, if an orphan is
// the reason.
func (z *FormerZone) cannotCreate(pod string) string {
	if because := z.inTheWay(pod); because != "" {
		return ", and the StatefulSet cannot create the pod because " + because
	}
	return ""
}

// Away returns why no pod of a zone that left its group may be disrupted: the group waits until
// the zone is available, or its hold cannot be read.
func Away(s Snapshot, zone string) plan.Refusal {
	if s.Hold.Unreadable != "" {
		return plan.Refusal{Code: reason.HoldUnreadable}
	}
	b := newGroupState(s)
	for _, z := range b.unsettled() {
		if z.Name == zone {
			return b.leftGroup(z)
		}
	}
	return plan.Refusal{}
}

// recordMembers returns the action that updates the zones that the hold records. Zones that joined are
// recorded at once, before any disruption of them. Zones that left are removed by a live read that
// shows them settled.
func (b *groupState) recordMembers() []plan.Action {
	if b.Hold.Unreadable != "" || b.Hold.HeldByNewerVersion(b.Now) {
		return nil
	}
	step := RecordMembers{}
	for _, z := range b.zoneStates {
		room := len(b.Hold.Members)+len(step.Joined) < MostMembers
		if b.Key.Rolled() && room && !z.Deleting && !b.remembers(z.Zone) {
			step.Joined = append(step.Joined, z.Name)
		}
	}
	for i := range b.FormerZones {
		if z := &b.FormerZones[i]; b.settled(z) {
			step.Gone = append(step.Gone, z.Name)
		}
	}
	if len(step.Joined)+len(step.Gone) == 0 {
		return nil
	}
	return []plan.Action{step}
}

// remembers reports whether the hold records a zone with the UID of its StatefulSet.
func (b *groupState) remembers(z *Zone) bool {
	return slices.ContainsFunc(b.Hold.Members, func(m Member) bool { return m.Zone == z.Name && m.UID == z.UID })
}

// Remembered returns the zones that the hold must record at its next write. A StatefulSet without
// a group has none, because no other zone needs protection. If there are too many zones, zones
// that left come first, and then zones that the hold already records.
func Remembered(s Snapshot) []Member {
	if s.Key.Kind == plan.KindStatefulSet {
		return nil
	}
	b := newGroupState(s)
	members, joined := b.unsettledMembers(), []Member(nil)
	for _, z := range s.Zones {
		m := Member{Zone: z.Name, UID: z.UID}
		switch {
		case z.Elsewhere:
		case b.member(z.Name) != nil:
			members = append(members, m)
		default:
			joined = append(joined, m)
		}
	}
	members = append(members, joined...)
	members = members[:min(len(members), MostMembers)]
	slices.SortFunc(members, func(a, b Member) int { return plan.CompareNatural(a.Zone, b.Zone) })
	return members
}

// unsettledMembers returns the records of zones that left and are not settled.
func (b *groupState) unsettledMembers() []Member {
	var members []Member
	for _, z := range b.unsettled() {
		if m := b.member(z.Name); m != nil {
			members = append(members, *m)
		}
	}
	return members
}

// member returns the record of a zone, or nil.
func (b *groupState) member(zone string) *Member {
	i := slices.IndexFunc(b.Hold.Members, func(m Member) bool { return m.Zone == zone })
	if i < 0 {
		return nil
	}
	return &b.Hold.Members[i]
}

// leftPod returns a pod of a zone that left the group.
func (b *groupState) leftPod(name string) (*FormerZone, plan.Pod, bool) {
	for i := range b.FormerZones {
		if pod, exists := b.FormerZones[i].podOrOrphan(name); exists {
			return &b.FormerZones[i], pod, true
		}
	}
	return nil, plan.Pod{}, false
}
