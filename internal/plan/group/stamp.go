package group

import (
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
)

// stampLimit is how long after a downscale its time is written if it is missing.
const stampLimit = time.Minute

// stamp writes the times of downscales to an annotation, in whole seconds. After stampLimit,
// only the hold keeps them: users may then change the annotation.
func (b *groupState) stamp() []plan.Action {
	var stamps []plan.Action
	for _, z := range b.zoneStates {
		shrank := b.shrankLately(z.Zone).Truncate(time.Second)
		if !z.Deleting && shrank.After(z.Downscaled.Time) {
			stamps = append(stamps, StampDownscale{Zone: z.Name, UID: z.UID, Version: z.Version, Time: shrank})
		}
	}
	return stamps
}

// shrankLately returns when a zone was scaled down, by the downscale in effect or by a downscale
// that ended before its time was written. A concurrent change of the StatefulSet can prevent the
// write, and the pods may be gone at once.
func (b *groupState) shrankLately(z *Zone) time.Time {
	if d := b.Hold.Downscale; d.Zone == z.Name {
		if b.DownscaleStatus(d) == InEffect {
			return d.Since
		}
		return time.Time{} // a write would make the record obsolete
	}
	at := b.Hold.Downscaled[z.Name]
	if at.After(b.Now) || b.Now.Sub(at) >= stampLimit || isStampOf(z.Downscaled, at) {
		return time.Time{}
	}
	return at
}

// isStampOf reports whether a time in the annotation belongs to a downscale that the hold dates.
// That time is when the downscale was recorded, before it took effect, in whole seconds.
func isStampOf(stamped plan.Moment, at time.Time) bool {
	return !stamped.Time.Before(at.Add(-CarryLimit - plan.RequestLimit).Truncate(time.Second))
}
