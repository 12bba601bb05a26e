package plan

import "time"

// stampLimit is for how long the time of a downscale is written where it is missing.
const stampLimit = time.Minute

// stamp writes the times of downscales where they can be seen, in whole seconds.
// After a while the hold alone keeps them: what somebody does to the annotation then
// is his business.
func (b *groupState) stamp() []Action {
	var stamps []Action
	for _, z := range b.zoneStates {
		shrank := b.shrankLately(z.Zone).Truncate(time.Second)
		if !z.Deleting && shrank.After(z.Downscaled.Time) {
			stamps = append(stamps, StampDownscale{Zone: z.Name, UID: z.UID, Version: z.Version, Time: shrank})
		}
	}
	return stamps
}

// shrankLately returns when a zone shrank, by the downscale that is in effect or by
// one that ended before its time was written: whoever changes the StatefulSet at that
// moment keeps it from being written, and the pods may be gone at once.
func (b *groupState) shrankLately(z *Zone) time.Time {
	if d := b.Hold.Downscale; d.Zone == z.Name {
		if b.DownscaleStatus(d) == InEffect {
			return d.Since
		}
		return time.Time{} // a write would void the note
	}
	at := b.Hold.Downscaled[z.Name]
	if at.After(b.Now) || b.Now.Sub(at) >= stampLimit || isStampOf(z.Downscaled, at) {
		return time.Time{}
	}
	return at
}

// isStampOf reports whether a time that was stamped is that of a downscale which the hold dates:
// it was noted before it came into effect, in whole seconds.
func isStampOf(stamped Moment, at time.Time) bool {
	return !stamped.Time.Before(at.Add(-CarryLimit - RequestLimit).Truncate(time.Second))
}
