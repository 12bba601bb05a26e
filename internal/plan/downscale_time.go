package plan

import (
	"maps"
	"slices"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// lastDownscale returns when a zone shrank last: the later one of what its
// annotation says and of what the hold says.
func (b *groupState) lastDownscale(z *Zone) time.Time {
	return latest(z.Downscaled.Time, b.shrankByHold(z.Name))
}

// shrankByHold returns when a zone shrank last, or may have, by what the hold says.
func (b *groupState) shrankByHold(zone string) time.Time {
	last := b.Hold.Downscaled[zone]
	if d := b.Hold.Downscale; d.Zone == zone && b.Shrank(d) {
		return latest(last, d.EffectiveBy(b.Now)) // its end has not been written yet
	}
	return last
}

// tooSoon holds for every zone that shrank, against the larger of the two
// zones' minimum times. A time that is just over has passed.
func tooSoon(b *groupState, d departure) Refusal {
	for _, z := range b.zonesAnywhere() {
		if z.Name == d.Zone {
			continue
		}
		last, between := b.lastDownscale(z), max(d.zone.MinBetween.Duration, z.MinBetween.Duration)
		if last.IsZero() || between == 0 {
			continue
		}
		if until := last.Add(between); b.Now.Before(until) {
			return Refusal{Code: reason.DownscaleTooSoon, Zone: z.Name, Until: until}
		}
	}
	return firstOf(b.tooSoonAfterGone(d), b.unreadableTimes(d.zone))
}

// zonesAnywhere returns the zones of the group and those whose StatefulSets left it and exist.
func (b *groupState) zonesAnywhere() []*Zone {
	var zones []*Zone
	for _, z := range b.zoneStates {
		zones = append(zones, z.Zone)
	}
	for i := range b.Left {
		if z := &b.Left[i]; z.Exists {
			zones = append(zones, &z.Zone)
		}
	}
	return zones
}

// tooSoonAfterGone is tooSoon for zones that are gone: they may be made anew.
func (b *groupState) tooSoonAfterGone(d departure) Refusal {
	between := d.zone.MinBetween.Duration
	if between == 0 || !b.Hold.Exists { // the predecessor tracked whole namespaces
		return Refusal{}
	}
	for _, zone := range append(slices.Sorted(maps.Keys(b.Hold.Downscaled)), b.Hold.Downscale.Zone) {
		until := b.shrankByHold(zone).Add(between)
		if _, exists := b.Zone(zone); !exists && b.Now.Before(until) {
			return Refusal{Code: reason.DownscaleTooSoon, Detail: "after a zone that left the group", Until: until}
		}
	}
	return Refusal{}
}

// unreadableTimes objects to what would have to be compared and cannot be read.
func (b *groupState) unreadableTimes(shrinks *zoneState) Refusal {
	for _, z := range b.zoneStates {
		switch {
		case z.MinBetween.Invalid != "":
			return Refusal{Code: reason.InvalidDownscaleTime, Zone: z.Name, Detail: z.MinBetween.Invalid}
		case z.Name != shrinks.Name && z.Downscaled.Invalid != "":
			return Refusal{Code: reason.InvalidDownscaleTime, Zone: z.Name, Detail: z.Downscaled.Invalid}
		}
	}
	return Refusal{}
}

// keepsTime reports whether zones of the group ask for time between their downscales.
func (b *groupState) keepsTime() bool {
	return slices.ContainsFunc(b.zonesAnywhere(), func(z *Zone) bool { return z.MinBetween != Span{} })
}

// shrinksElsewhere objects while another zone may shrink at any moment: when that will
// have been is not known yet.
func shrinksElsewhere(b *groupState, d departure) Refusal {
	noted := b.Hold.Downscale
	other, exists := b.zoneState(noted.Zone)
	if noted.Zone == d.Zone || noted.Stage == Undoing || !exists || max(d.zone.MinBetween.Duration, other.MinBetween.Duration) == 0 {
		return Refusal{}
	}
	if course := b.DownscaleStatus(noted); course != Awaited && course != Unseen {
		return Refusal{}
	}
	return b.held(noted.Zone, "")
}
