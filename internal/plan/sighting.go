package plan

import "time"

// Sightings are when a process observed events that a pod dates in whole seconds. They are
// for users: no decision depends on them.
type Sightings struct {
	Created Sighting // after Pod.Created
	Ready   Sighting // after Pod.ReadySince
}

// Sighting is when a process observed an event that an API object dates in whole seconds. It
// is in milliseconds since that second began, plus one. The zero Sighting is none. Every
// cached pod has two, so it is small. An observation more than 49 days later counts as 49
// days.
type Sighting uint32

// SightingOf returns the Sighting of an event that an API object dates to a second and that
// was observed at seen. If clocks differ, no event is observed before its second begins.
func SightingOf(second, seen time.Time) Sighting {
	late := max(seen.Sub(second).Milliseconds(), 0)
	return Sighting(min(late, 1<<32-2)) + 1
}

// Time returns when an event was observed that an API object dates to a second. If it was not
// observed, it returns that second.
func (s Sighting) Time(second time.Time) time.Time {
	if s == 0 {
		return second
	}
	return second.Add(time.Duration(s-1) * time.Millisecond)
}
