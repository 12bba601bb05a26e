package telemetry

import "time"

// GroupState is the state of a group at one time. It contains names of objects and reason codes
// of the catalogue, but no free text.
type GroupState struct {
	At      time.Time // when the group was evaluated
	Zones   []ZoneState
	Waiting []string  // reasons for which the group waits
	Causes  []string  // all possible reasons for deleting pods
	Hold    HoldState // zero: the group is not held
}

// ZoneState is the state of one zone.
type ZoneState struct {
	Name     string
	Desired  int // pods that the spec wants
	Ready    int
	Updated  int // pods of the wanted revision
	Outdated int // pods of another revision
	Down     int // missing, terminating or not Ready
	Noted    int // pods with an open intent
	Budget   int
	Waiting  []string // reasons; none if the zone does not wait
	Remarks  []string // reasons that a person should know although no operation waits for them
	Activity string
	Since    time.Time // when it acquired the hold; zero: it has none, or the time is unknown
}

func (s *GroupState) zone(name string) (ZoneState, bool) {
	for _, z := range s.Zones {
		if z.Name == name {
			return z, true
		}
	}
	return ZoneState{}, false
}
