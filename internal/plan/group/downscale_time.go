package group

import (
	"maps"
	"slices"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// lastDownscale returns when a zone last scaled down: the later one of the times in its
// annotation and in the hold.
func (b *groupState) lastDownscale(z *Zone) time.Time {
	return latest(z.Downscaled.Time, b.shrankByHold(z.Name))
}

// shrankByHold returns when a zone last scaled down, or may have, according to the hold.
func (b *groupState) shrankByHold(zone string) time.Time {
	last := b.Hold.Downscaled[zone]
	if d := b.Hold.Downscale; d.Zone == zone && b.Shrank(d) {
		return latest(last, d.EffectiveBy(b.Now)) // its end is not recorded yet
	}
	return last
}

// tooSoon objects until the minimum time since the last downscale of each other zone has
// passed: the larger one of the minimum times of the two zones. It objects no more at the very
// end of that time.
func tooSoon(b *groupState, d departure) plan.Refusal {
	for _, z := range b.zonesAnywhere() {
		if z.Name == d.Zone {
			continue
		}
		last, between := b.lastDownscale(z), max(d.zone.MinBetween.Duration, z.MinBetween.Duration)
		if last.IsZero() || between == 0 {
			continue
		}
		if until := last.Add(between); b.Now.Before(until) {
			return plan.Refusal{Code: reason.DownscaleTooSoon, Zone: z.Name, Until: until}
		}
	}
	return firstOf(b.tooSoonAfterGone(d), b.unreadableTimes(d.zone))
}

// zonesAnywhere returns the zones of the group, and the zones that left the group and still
// have a StatefulSet.
func (b *groupState) zonesAnywhere() []*Zone {
	var zones []*Zone
	for _, z := range b.zoneStates {
		zones = append(zones, z.Zone)
	}
	for i := range b.FormerZones {
		if z := &b.FormerZones[i]; z.Exists {
			zones = append(zones, &z.Zone)
		}
	}
	return zones
}

// tooSoonAfterGone is tooSoon for recorded zones that are not in the group: they may be created
// again. Without a Lease, the times are those of the predecessor, which tracked all zones of a
// namespace.
func (b *groupState) tooSoonAfterGone(d departure) plan.Refusal {
	between := d.zone.MinBetween.Duration
	if between == 0 || !b.Hold.Exists {
		return plan.Refusal{}
	}
	for _, zone := range append(slices.Sorted(maps.Keys(b.Hold.Downscaled)), b.Hold.Downscale.Zone) {
		until := b.shrankByHold(zone).Add(between)
		if _, exists := b.Zone(zone); !exists && b.Now.Before(until) {
			return plan.Refusal{Code: reason.DownscaleTooSoon, Detail: "after a zone that left the group", Until: until}
		}
	}
	return plan.Refusal{}
}

// unreadableTimes objects if a time that must be compared cannot be read.
func (b *groupState) unreadableTimes(shrinks *zoneState) plan.Refusal {
	for _, z := range b.zoneStates {
		switch {
		case z.MinBetween.Invalid != "":
			return plan.Refusal{Code: reason.InvalidDownscaleTime, Zone: z.Name, Detail: z.MinBetween.Invalid}
		case z.Name != shrinks.Name && z.Downscaled.Invalid != "":
			return plan.Refusal{Code: reason.InvalidDownscaleTime, Zone: z.Name, Detail: z.Downscaled.Invalid}
		}
	}
	return plan.Refusal{}
}

// shrinksElsewhere objects while another zone may scale down at any moment, because the time of
// that downscale is not known yet.
func shrinksElsewhere(b *groupState, d departure) plan.Refusal {
	recorded := b.Hold.Downscale
	other, exists := b.zoneState(recorded.Zone)
	if recorded.Zone == d.Zone || recorded.Stage == Undoing || !exists || max(d.zone.MinBetween.Duration, other.MinBetween.Duration) == 0 {
		return plan.Refusal{}
	}
	if course := b.DownscaleStatus(recorded); course != Awaited && course != Unseen {
		return plan.Refusal{}
	}
	return b.refusedByHolder(recorded.Zone, "")
}
