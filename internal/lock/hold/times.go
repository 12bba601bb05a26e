package hold

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
)

const (
	// timesKept is for how long the time of a downscale counts whose zone is gone: it may
	// be made anew. A minimum time beyond that is not kept by a zone that was gone.
	timesKept = 7 * 24 * time.Hour
	// mostGone is of how many zones that are gone times are kept, the latest ones.
	mostGone = 20
)

// lasting returns the times of downscales that the record goes on to say: those of the
// group's zones and, for a while, of zones that are gone. A StatefulSet that stands alone
// keeps nobody waiting, and a Lease that does not exist yet begins with the times of its
// own zones: the predecessor tracked whole namespaces.
func lasting(s *plan.Snapshot) map[string]time.Time {
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

// dated returns the times with that of one more downscale of a zone, unless it is known to
// have shrunk later: one beside it may have come after it.
func dated(times map[string]time.Time, zone string, by time.Time) map[string]time.Time {
	if !by.After(times[zone]) {
		return times
	}
	next := map[string]time.Time{}
	maps.Copy(next, times)
	next[zone] = by
	return next
}
