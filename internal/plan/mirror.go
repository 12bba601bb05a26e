package plan

import (
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// Mirror says whose replicas a zone takes over. The zero Mirror is none.
type Mirror struct {
	Reference Reference
	WriteBack bool   // the resource is told how many replicas the zone has
	Invalid   string // what is wrong with what was written; nothing is taken over
	Scale     Scale  // what is seen of the resource
}

// Configured reports whether a zone is to take over anybody's replicas.
func (m Mirror) Configured() bool { return !m.Reference.None() || m.Invalid != "" }

// Reference names a resource with replicas in the namespace of a zone, in
// whichever version of its API.
type Reference struct {
	APIGroup string
	Kind     string
	Name     string
}

// None reports whether no resource is named.
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

// Report is a number that was written back, or was to be.
type Report struct {
	Replicas int
	At       time.Time // zero: never
	Failed   bool      // the API server did not accept it
}

// reportAgain is after how long a number is written back again that somebody else
// has replaced, or that was not accepted: two writers must not answer each other.
const reportAgain = 30 * time.Second

// mirrored is what a zone should have that takes over the replicas of a resource.
func mirrored(m Mirror) wish {
	switch {
	case m.Invalid != "":
		return wish{objection: Refusal{Code: reason.InvalidReference, Detail: m.Invalid}}
	case !m.Scale.Trouble.None():
		return wish{objection: m.Scale.Trouble}
	case m.Scale.Replicas < 0:
		return wish{objection: Refusal{Code: reason.ReferenceUnreadable, Detail: "fewer than 0 replicas"}}
	}
	return wish{replicas: m.Scale.Replicas, because: reason.ReferenceMirrored}
}

// reports tells resources how many replicas the zones have that take over theirs:
// of several, the smallest number, since it is there in all of them.
func (b *groupState) reports() []Action {
	if !b.Key.Rolled() {
		return nil
	}
	var reports []Action
	told := map[Reference]bool{}
	for _, z := range b.zoneStates {
		m := z.Mirror
		if !z.reports() || told[m.Reference] {
			continue
		}
		told[m.Reference] = true
		if least := b.least(m); least != m.Scale.Reported && b.contested(m).None() {
			reports = append(reports, ReportReplicas{
				Zone: z.Name, Reference: m.Reference, UID: m.Scale.UID, Version: m.Scale.Version, From: m.Scale.Reported, To: least,
			})
		}
	}
	return reports
}

// reports reports whether the zone counts for what its resource is told.
func (z *zoneState) reports() bool {
	return z.Mirror.WriteBack && !z.Mirror.Reference.None() && z.Mirror.Invalid == "" && z.Mirror.Scale.Trouble.None() && !z.Deleting
}

// least is the smallest spec.replicas of all zones that count for a resource.
func (b *groupState) least(m Mirror) int {
	least := m.Scale.Least
	for _, z := range b.zoneStates {
		if z.reports() && z.Mirror.Reference == m.Reference && (least < 0 || z.Replicas < least) {
			least = z.Replicas
		}
	}
	return least
}

// contested objects while what was written back a moment ago has been replaced, or
// was not accepted.
func (b *groupState) contested(m Mirror) Refusal {
	written := m.Scale.Written
	until := written.At.Add(reportAgain)
	switch {
	case written.At.IsZero() || written.At.After(b.Now) || m.Scale.Reported == b.least(m) || !b.Now.Before(until):
		return Refusal{}
	case written.Failed:
		return Refusal{Code: reason.ReportFailed, Until: until}
	case written.Replicas != m.Scale.Reported:
		return Refusal{Code: reason.ReportContested, Until: until}
	}
	return Refusal{}
}

// String returns the reference as ReplicaTemplate.rollout-operator.grafana.com web.
func (r Reference) String() string {
	kind := r.Kind
	if r.APIGroup != "" {
		kind += "." + r.APIGroup
	}
	return kind + " " + r.Name
}
