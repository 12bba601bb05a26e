package hold

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan/group"
)

const (
	// timesKept is how long the time of a downscale is kept after its zone was deleted, because the zone may
	// be created again. A longer minimum time between downscales does not survive such a deletion.
	timesKept = 7 * 24 * time.Hour
	// mostGone limits the number of deleted zones whose times are kept. The latest ones are kept.
	mostGone = 20
)

// lasting returns the downscale times that the next record keeps: those of the group's zones and, for a
// while, of deleted zones. For a StatefulSet without a group it drops the times of deleted zones, because no
// other zone depends on them. A new Lease starts with the times of its own zones only, although the
// predecessor tracked all zones of the namespace.
func lasting(s *group.Snapshot) map[string]time.Time {
	known, times := s.Hold.Downscaled, map[string]time.Time{}
	returns := s.Hold.Exists && s.Key.Rolled()
	var gone []string
	for zone, at := range known {
		if _, exists := s.Zone(zone); exists {
			times[zone] = at
		} else if returns && s.Now.Sub(at).Abs() < timesKept {
			gone = append(gone, zone)
		}
	}
	slices.SortFunc(gone, func(a, b string) int { return cmp.Or(known[b].Compare(known[a]), cmp.Compare(a, b)) })
	for _, zone := range gone[:min(len(gone), mostGone)] {
		times[zone] = known[zone]
	}
	return times
}

// dated returns times with the time of one more downscale of a zone, unless a later time is recorded: a
// concurrent downscale may have taken effect later.
func dated(times map[string]time.Time, zone string, by time.Time) map[string]time.Time {
	if !by.After(times[zone]) {
		return times
	}
	next := map[string]time.Time{}
	maps.Copy(next, times)
	next[zone] = by
	return next
}
