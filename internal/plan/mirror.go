package plan

import "time"

// Mirror says whose replicas a zone takes over. The zero Mirror is none.
type Mirror struct {
	Reference Reference
	WriteBack bool   // the resource is told how many replicas the zone has
	Invalid   string // what is wrong with what was written; nothing is taken over
	Scale     Scale  // what is seen of the resource
}

// Asked tells whether a zone is to take over anybody's replicas.
func (m Mirror) Asked() bool { return !m.Reference.None() || m.Invalid != "" }

// Reference names a resource with replicas in the namespace of a zone, in
// whichever version of its API.
type Reference struct {
	APIGroup string
	Kind     string
	Name     string
}

// None tells whether no resource is named.
func (r Reference) None() bool { return r == Reference{} }

// Scale is what is seen of a resource with replicas.
type Scale struct {
	Trouble  Refusal // why it is not known how many replicas it asks for
	UID      string
	Version  string // its resourceVersion, for the write back alone
	Replicas int    // it asks for
	Reported int    // its status says there are
	// Least is the least spec.replicas of the zones outside of the group that are
	// written back to it as well; negative: there are none.
	Least   int
	Written Report // what this process wrote back last
}

// Report is a number that was written back.
type Report struct {
	Replicas int
	At       time.Time // zero: never
}
