package pool

import (
	"slices"
	"time"
)

// Ended is an identity that has ended and still has claims.
type Ended struct {
	ID     ID
	Claims []Claim // all of them
	At     time.Time
	Keep   bool // a person wants to keep one of its claims
}

// Ended returns the identities that have ended, the latest first. They have neither a pod nor a record, and never get a pod
// again, so their claims may be deleted.
func (o Outlook) Ended() []Ended {
	var all []Ended
	for _, s := range o.spentIdentities() {
		all = append(all, Ended{s.id, s.claims, s.ended, s.keep})
	}
	return all
}

// Keeps reports whether the identity of a pod gets another pod with the same claims, if a client ends the pod now: by an
// eviction, or else by a deletion.
func (o Outlook) Keeps(name string, evicted bool) bool {
	pod, exists := o.podNamed(name)
	pod.Disrupted = evicted
	return exists && o.owns(&pod) && o.keeps(&pod) && o.whole(&pod)
}

// Retained reports whether a person asked to keep the identity of a pod, and all of its claims say so. Then it is kept however
// the pod ends.
func (o Outlook) Retained(name string) bool {
	pod, exists := o.podNamed(name)
	if !exists || !o.owns(&pod) || !pod.Retain || !o.isRetained(&pod) || !o.whole(&pod) {
		return false
	}
	_, marked := o.prepare(&pod)
	return marked
}

// CanRetain reports whether the identity of a pod can be kept: all of its claims are there, and it has some.
func (o Outlook) CanRetain(name string) bool {
	pod, exists := o.podNamed(name)
	return exists && o.owns(&pod) && !pod.Gated && o.whole(&pod)
}

// LeavesAs returns as which of the pods, counted from 1, a pod leaves if fewer are asked for; 0: it is not one of those.
func (o Outlook) LeavesAs(name string) int {
	return 1 + slices.IndexFunc(o.staying, func(p Pod) bool { return p.Name == name })
}
