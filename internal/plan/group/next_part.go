package group

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
)

// NextPart implements plan.Workload. It keeps the time of a downscale that ended.
func (s *Snapshot) NextPart(recorded plan.Part, _ []plan.Intent) plan.Part {
	next := PartOf(recorded)
	next.Members = Remembered(*s)
	next.Downscaled = s.downscaled(next.Downscale)
	next.GivenUp = s.givenUp(next.Downscale)
	return next
}

const (
	// timesKept is how long the time of a downscale is kept after its zone was deleted, because the zone may
	// be created again. A longer minimum time between downscales does not survive such a deletion.
	timesKept = 7 * 24 * time.Hour
	// mostGone limits the number of deleted zones whose times are kept. The latest ones are kept.
	mostGone = 20
)

// downscaled returns the time of the last downscale of each zone of the group. A downscale that ends or is
// replaced counts if it took effect or may have.
func (s *Snapshot) downscaled(next Downscale) map[string]time.Time {
	times := s.lasting()
	former := s.Hold.Downscale
	if !former.None() && !next.Same(former) && s.Shrank(former) {
		times = dated(times, former.Zone, former.EffectiveBy(s.Now))
	}
	if len(times) == 0 {
		return nil
	}
	return times
}

// lasting returns the downscale times that the next record keeps: those of the group's zones and, for a
// while, of deleted zones. For a StatefulSet without a group it drops the times of deleted zones, because no
// other zone depends on them. A new Lease starts with the times of its own zones only, although the
// predecessor tracked all zones of the namespace.
func (s *Snapshot) lasting() map[string]time.Time {
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

// givenUp returns when lockstep gave up its own downscales that may not be tried again yet. A downscale that
// was only overtaken did not fail. If a downscale fails while pods still leave by the previous one, the hold
// records the previous one next.
func (s *Snapshot) givenUp(next Downscale) map[string]time.Time {
	times := map[string]time.Time{}
	for zone, at := range s.Hold.GivenUp {
		if stillGivenUp(at, s.Now) {
			times[zone] = at
		}
	}
	if d := s.Hold.Downscale; d.Ours && (next.None() || next.Generation == SeenInEffect) && s.failed(d) {
		times[d.Zone] = s.Now
	}
	if len(times) == 0 {
		return nil
	}
	return times
}

// Admission returns what the Lease records before an allowed downscale of a zone is admitted. If the downscale
// needs no hold, that is only the latest time at which it can take effect.
func (v DownscaleAnswer) Admission(s *Snapshot, zone string) plan.Admission {
	part := s.Hold.Part
	if v.Dated {
		part.Downscaled = s.lasting()
		part.Downscaled[zone] = s.Now.Add(plan.RequestLimit)
		return plan.Admission{Part: part}
	}
	part.Downscale = v.Record
	return plan.Admission{Holder: plan.DownscaleOperation.For(zone), Part: part}
}

// UndoAgain returns the part under which lockstep undoes a downscale that another process has given up meanwhile:
// pods may have been asked to prepare after that process notified them that they stay. The second result is false
// if another downscale is recorded by now. If pods still leave by the previous downscale, UndoAgain records the time
// of that one; it is recorded again afterwards.
func (p Part) UndoAgain(d Downscale, now time.Time) (Part, bool) {
	before := p.Downscale
	if !before.None() && (before.Generation != SeenInEffect || before.Zone != d.Zone) {
		return p, false
	}
	if !before.None() {
		p.Downscaled = dated(p.Downscaled, d.Zone, before.EffectiveBy(now))
	}
	p.Downscale = d.TakenBack(now)
	return p, true
}
