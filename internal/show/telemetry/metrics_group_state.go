package telemetry

import "time"

// GroupState is all that is shown of a group at one time. Names are those of
// objects, and reasons are codes of the catalogue, never free text.
type GroupState struct {
	At      time.Time // when the group was looked at
	Zones   []ZoneState
	Waiting []string  // reasons for which the whole group waits
	Causes  []string  // reasons for which pods are deleted: all that there are
	Hold    HoldState // zero when nobody holds
}

// ZoneState is what is shown of one zone.
type ZoneState struct {
	Name     string
	Desired  int // pods that the spec asks for
	Ready    int
	Updated  int // pods of the revision that is asked for
	Outdated int // pods of another revision than asked for
	Down     int // missing, terminating or not Ready
	Noted    int // pods with an open intent
	Budget   int
	Waiting  []string // reasons; none when the zone waits for nothing
	Remarks  []string // reasons that a person should know although nothing waits for them
	Activity string
	Since    time.Time // when it took the hold; zero: it has none, or nobody knows
}

func (s *GroupState) zone(name string) (ZoneState, bool) {
	for _, z := range s.Zones {
		if z.Name == name {
			return z, true
		}
	}
	return ZoneState{}, false
}
