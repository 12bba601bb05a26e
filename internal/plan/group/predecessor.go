package group

import (
	"fmt"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// predecessorReason returns the reason that the predecessor gives for refusing such a
// downscale of a zone. It is empty if the predecessor has no such reason, or if its
// reason needs no details.
func (b *groupState) predecessorReason(zone string, because plan.Refusal) string {
	switch code := because.Code; {
	case code == reason.InvalidPrepareCall:
		if z, _ := b.zoneState(zone); z.Call.Missing != "" {
			return "the " + z.Call.Missing + " is not set or empty"
		}
	case code == reason.DownscaleTooSoon:
		if other, exists := b.zoneState(because.Zone); exists {
			last := b.lastDownscale(other.Zone)
			return fmt.Sprintf("statefulset %s was downscaled at %s and is labelled to wait %s between zone downscales", other.Name, last.UTC(), because.Until.Sub(last))
		}
	case code == reason.OtherZoneUnavailable, code == reason.GroupHeld, code == reason.StaleHold:
		if other, exists := b.zoneState(because.Zone); exists {
			return b.disturbance(other)
		}
	}
	return ""
}

// disturbance returns the disruption in a zone in the words of the predecessor, or an
// empty text.
func (b *groupState) disturbance(z *zoneState) string {
	outdated := 0
	for _, pod := range z.Pods {
		if z.Owns(pod.Ordinal) && z.Outdated(pod) {
			outdated++
		}
	}
	switch {
	case b.Hold.Downscale.Zone == z.Name && !b.ended:
		return "statefulset " + z.Name + " is already in process of updating replicas"
	case outdated > 0 || z.down > 0:
		return fmt.Sprintf("statefulset %s has %d non-updated replicas and %d non-ready replicas", z.Name, outdated, z.down)
	}
	return ""
}
