package plan

import "time"

// Sightings are when a process saw what a pod tells in whole seconds. They are there for
// people: no decision depends on them.
type Sightings struct {
	Created Sighting // after Pod.Created
	Ready   Sighting // after Pod.ReadySince
}

// Sighting is when a process saw something happen that an API object dates to a second: in
// milliseconds since that second began, plus one. The zero Sighting is none. Every pod that
// is cached has two, so it is small; what was seen more than 49 days later counts as 49 days.
type Sighting uint32

// SightingOf returns the Sighting of something that an API object dates to a second and that
// was seen at another time. If clocks differ, nothing is seen before its second begins.
func SightingOf(second, seen time.Time) Sighting {
	late := max(seen.Sub(second).Milliseconds(), 0)
	return Sighting(min(late, 1<<32-2)) + 1
}

// Time returns when something was seen that an API object dates to a second: that second
// itself if nobody saw it.
func (s Sighting) Time(second time.Time) time.Time {
	if s == 0 {
		return second
	}
	return second.Add(time.Duration(s-1) * time.Millisecond)
}
