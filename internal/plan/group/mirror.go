package group

import (
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// Mirror is the resource whose replicas a zone takes over. The zero Mirror is none.
type Mirror struct {
	Reference Reference
	WriteBack bool   // lockstep reports the replicas of the zone to the resource
	Invalid   string // what is wrong with the configuration; the zone then takes over no replicas
	Scale     Scale  // the observed state of the resource
}

// Configured reports whether a zone is configured to take over replicas, even if
// invalidly.
func (m Mirror) Configured() bool { return !m.Reference.None() || m.Invalid != "" }

// Reference names a resource with replicas in the namespace of a zone, in any version
// of its API.
type Reference struct {
	APIGroup string
	Kind     string
	Name     string
}

// None reports whether the reference names no resource.
func (r Reference) None() bool { return r == Reference{} }

// Scale is the observed state of a resource with replicas.
type Scale struct {
	Trouble  plan.Refusal // why its desired replicas are not known
	UID      string
	Version  string // its resourceVersion, only for the write back
	Replicas int    // desired by the resource
	Reported int    // as its status says
	// Least is the least spec.replicas of the zones outside of the group that are
	// written back to the resource as well; negative: there are none.
	Least   int
	Written Report // the last write back by this process
}

// Report is a number of replicas that was written back, or that the API server
// rejected.
type Report struct {
	Replicas int
	At       time.Time // zero: never
	Failed   bool      // the API server rejected it
}

// reportAgain is the time between two write backs if another writer replaces the number
// or the API server rejects it. It keeps two writers from overwriting each other at
// once.
const reportAgain = 30 * time.Second

// mirrored returns how many replicas a zone should have that takes over the replicas of
// a resource.
func mirrored(m Mirror) wish {
	switch {
	case m.Invalid != "":
		return wish{objection: plan.Refusal{Code: reason.InvalidReference, Detail: m.Invalid}}
	case !m.Scale.Trouble.None():
		return wish{objection: m.Scale.Trouble}
	case m.Scale.Replicas < 0:
		return wish{objection: plan.Refusal{Code: reason.ReferenceUnreadable, Detail: "fewer than 0 replicas"}}
	}
	return wish{replicas: m.Scale.Replicas, because: reason.ReferenceMirrored}
}

// reports returns the write backs of replicas to resources. If several zones mirror a
// resource, it reports the least number, because all of these zones have at least that
// many.
func (b *groupState) reports() []plan.Action {
	if !b.Key.Rolled() {
		return nil
	}
	var reports []plan.Action
	notified := map[Reference]bool{}
	for _, z := range b.zoneStates {
		m := z.Mirror
		if !z.reports() || notified[m.Reference] {
			continue
		}
		notified[m.Reference] = true
		if least := b.least(m); least != m.Scale.Reported && b.contested(m).None() {
			reports = append(reports, ReportReplicas{
				Zone: z.Name, Reference: m.Reference, UID: m.Scale.UID, Version: m.Scale.Version, From: m.Scale.Reported, To: least,
			})
		}
	}
	return reports
}

// reports reports whether the zone counts for the write back to its resource.
func (z *zoneState) reports() bool {
	return z.Mirror.WriteBack && !z.Mirror.Reference.None() && z.Mirror.Invalid == "" && z.Mirror.Scale.Trouble.None() && !z.Deleting
}

// least returns the least spec.replicas of all zones that count for a resource.
func (b *groupState) least(m Mirror) int {
	least := m.Scale.Least
	for _, z := range b.zoneStates {
		if z.reports() && z.Mirror.Reference == m.Reference && (least < 0 || z.Replicas < least) {
			least = z.Replicas
		}
	}
	return least
}

// contested objects for reportAgain after a write back that another writer replaced or
// the API server rejected.
func (b *groupState) contested(m Mirror) plan.Refusal {
	written := m.Scale.Written
	until := written.At.Add(reportAgain)
	switch {
	case written.At.IsZero() || written.At.After(b.Now) || m.Scale.Reported == b.least(m) || !b.Now.Before(until):
		return plan.Refusal{}
	case written.Failed:
		return plan.Refusal{Code: reason.ReportFailed, Until: until}
	case written.Replicas != m.Scale.Reported:
		return plan.Refusal{Code: reason.ReportContested, Until: until}
	}
	return plan.Refusal{}
}

// String returns the reference as ReplicaTemplate.rollout-operator.grafana.com web.
func (r Reference) String() string {
	kind := r.Kind
	if r.APIGroup != "" {
		kind += "." + r.APIGroup
	}
	return kind + " " + r.Name
}
