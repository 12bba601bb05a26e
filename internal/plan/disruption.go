package plan

import "github.com/lockstep-dev/lockstep/internal/plan/reason"

// Disruption is a pod that an action makes unavailable. The hold records it as an intent before the request, which
// requires this UID and this resourceVersion.
type Disruption struct {
	Zone            string
	Pod             string
	UID             string
	Version         Version
	Up              bool   // the pod is up, so the hold must record the disruption first
	AlreadyRecorded bool   // the hold has an intent for exactly this disruption
	UnknownRevision bool   // the status of the zone does not name the pod's revision, so the view may be stale
	NeedsLiveRead   bool   // it depends on more than the pod, so caches do not suffice
	Overtakes       bool   // an operation of another zone has waited longer, but could not continue anyway
	From            string // UID of the former pod whose claims the pod waits with; empty: it has those of its own
	Because         reason.Code
}

// Disruptive is an action that makes a pod unavailable.
type Disruptive interface {
	Action
	Disruption() Disruption
}

// Disruptions returns the pods that a plan makes unavailable.
func Disruptions(steps []Action) []Disruption {
	var all []Disruption
	for _, a := range Only[Disruptive](steps) {
		all = append(all, a.Disruption())
	}
	return all
}
