package pool

import (
	"fmt"
	"slices"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// KeepPolicy says whether an identity gets another pod, with the same claims, if a client ends its pod.
type KeepPolicy struct {
	OnDelete   bool // the pod was deleted
	OnEviction bool // the pod was evicted, or Kubernetes removed it
}

// Any reports whether an identity may be kept.
func (k KeepPolicy) Any() bool { return k.OnDelete || k.OnEviction }

// KeepIdentity records that an identity gets another pod, although its pod was ended by another client. The record comes
// before the pod, as with all hand-overs.
type KeepIdentity struct{ Of plan.Disruption }

// Disruption implements plan.Disruptive: the hold records the hand-over like the end of a pod by lockstep.
func (a KeepIdentity) Disruption() plan.Disruption { return a.Of }

// Reason implements plan.Action.
func (KeepIdentity) Reason() reason.Code { return reason.IdentityHandover }

// Effect implements plan.Action. The write of the Lease is all that is done. A cache may lack a pod that exists.
func (a KeepIdentity) Effect() plan.Effect {
	return plan.Effect{Zone: a.Of.Zone, Pod: a.Of.Pod, Order: plan.WithLease, Read: plan.Always}
}

// Event implements plan.Action. The creation of the next pod has one.
func (KeepIdentity) Event() plan.Event { return plan.Event{} }

// String implements plan.Action: keep identity of web-a of web.
func (a KeepIdentity) String() string {
	return fmt.Sprintf("keep identity of %s of %s", a.Of.Pod, a.Of.Zone)
}

// keeps reports whether the identity of a pod that another client ends is kept.
func (s *Snapshot) keeps(pod *Pod) bool {
	return s.isRetained(pod) || pod.Disrupted && s.Object.Keep.OnEviction || !pod.Disrupted && s.Object.Keep.OnDelete
}

// isRetained reports whether a person asked to keep the identity of a pod, and its claims say so. The request counts only
// then, because claims outlive the pod.
func (s *Snapshot) isRetained(pod *Pod) bool {
	return slices.ContainsFunc(s.claimsOf(pod.ID), func(c Claim) bool { return c.Retain && c.From == pod.UID })
}

// wasRetained reports whether the claims of a pod still say that a person asked to keep the identity of the pod before it.
func (s *Snapshot) wasRetained(pod *Pod) bool {
	return slices.ContainsFunc(s.claimsOf(pod.ID), func(c Claim) bool { return c.Retain && c.From != pod.UID })
}

// unrecordedHandovers returns the identities that are to be kept although no record says so yet: their pods are being ended
// by other clients, or are gone. If no process saw how a pod went, each policy suffices: in doubt nothing is given up.
func (p *poolState) unrecordedHandovers() []handover {
	var kept []handover
	for i := range p.Pods {
		pod := &p.Pods[i]
		if p.owns(pod) && pod.Phase == plan.Terminating && !pod.Gated && !p.ends[pod.UID] && p.keeps(pod) && p.whole(pod) {
			kept = append(kept, handover{ID: pod.ID, Intent: p.keptIntent(pod.Name, pod.UID, pod.Version), Unrecorded: true, Overdue: p.overdue(*pod)})
		}
	}
	for i := range p.ended {
		if pod := &p.ended[i]; pod.kept {
			kept = append(kept, handover{ID: pod.ID, Intent: p.keptIntent(pod.Name, pod.UID, pod.Version), Unrecorded: true})
		}
	}
	seen := map[ID]bool{}
	for _, c := range p.Claims {
		name := PodName(p.Key.Name, c.ID)
		if seen[c.ID] || p.hasPod(c.ID) || p.isRecorded(c) || p.givenUp[name] || c.Pool != p.Object.UID || c.From == "" {
			continue
		}
		if (c.Retain || p.Object.Keep.Any()) && p.complete(c.ID, c.From) {
			seen[c.ID] = true
			kept = append(kept, handover{ID: c.ID, Intent: p.keptIntent(name, c.From, p.PodsAt), Unrecorded: true, Over: true})
		}
	}
	slices.SortFunc(kept, func(a, b handover) int { return compareIDs(a.ID, b.ID) })
	return kept
}

// isRecorded reports whether an intent that counts is about the hand-over for which a claim is marked, or about another end of that
// pod.
func (p *poolState) isRecorded(c Claim) bool {
	return slices.ContainsFunc(p.Hold.Intents, func(i plan.Intent) bool { return handedOverFrom(i) == c.From && p.ends[i.UID] })
}

// unrecorded is how many hand-overs have a place and are not recorded yet.
func (p *poolState) unrecorded() int {
	n := 0
	for _, h := range p.handovers {
		n += one(h.Unrecorded)
	}
	return n
}

func (p *poolState) keptIntent(pod, uid string, at plan.Version) plan.Intent {
	return plan.Intent{Zone: p.Key.Name, Pod: pod, UID: uid, Version: at, Cause: reason.IdentityHandover, Since: p.Now}
}

// keptIdentities records the hand-overs that are not recorded yet, and for which the pool has a place. Before that it marks
// the claims, if their pod still exists.
func (p *poolState) keptIdentities() []plan.Action {
	var steps []plan.Action
	for _, h := range p.handovers {
		if !h.Unrecorded || p.room <= 0 {
			continue
		}
		if pod, exists := p.podOf(h.ID); exists {
			if pod.Phase != plan.Terminating {
				continue // it is recorded when lockstep deletes it
			}
			if prepare, marked := p.prepare(&pod); !marked {
				steps = append(steps, prepare)
				continue
			}
		}
		p.room--
		steps = append(steps, KeepIdentity{plan.Disruption{
			Zone: h.Intent.Zone, Pod: h.Intent.Pod, UID: h.Intent.UID, Version: h.Intent.Version, Up: true, Because: reason.IdentityHandover, NeedsLiveRead: true,
		}})
	}
	return steps
}

// mayKeep reports whether an identity may wait for its next pod that the caches do not show: then births need a live read.
func (p *poolState) mayKeep() bool {
	return p.Object.Keep.Any() || slices.ContainsFunc(p.Pods, func(pod Pod) bool { return pod.Retain }) ||
		slices.ContainsFunc(p.Claims, func(c Claim) bool { return c.Retain })
}

// notMarked objects to the eviction of a pod whose identity is kept, until its claims show that. lockstep marks them at once,
// after those of an earlier object have got their labels.
func (p *poolState) notMarked(pod *Pod) plan.Refusal {
	if kept := pod.Retain || p.Object.Keep.OnEviction; !kept {
		return plan.Refusal{}
	}
	ofFormer := func(c Claim) bool { return c.Pool != p.Object.UID && !c.Deleting && pod.mounts(c.Name) }
	_, marked := p.prepare(pod)
	switch {
	case slices.ContainsFunc(p.Claims, ofFormer):
		return plan.Refusal{Code: reason.AdoptionWaits, Pod: pod.Name}
	case !marked && p.whole(pod):
		return plan.Refusal{Code: reason.HandoverUnderway, Pod: pod.Name}
	}
	return plan.Refusal{}
}

// preparations marks the claims of pods whose identities are kept, while the pods exist. So an identity can be kept although
// no process sees how its pod ends.
func (p *poolState) preparations(planned []plan.Action) []plan.Action {
	var steps []plan.Action
	for _, pod := range p.needed() {
		isPlanned := slices.ContainsFunc(plan.Only[PrepareHandover](planned), func(a PrepareHandover) bool { return a.ID == pod.ID })
		kept := p.Object.Keep.Any() || pod.Retain || p.isRetained(&pod) || p.wasRetained(&pod)
		if !kept || isPlanned || pod.Gated || !p.whole(&pod) {
			continue
		}
		if prepare, marked := p.prepare(&pod); !marked {
			steps = append(steps, prepare)
		}
	}
	return append(steps, p.unmarkings()...)
}

// unmarkings takes the marks off the claims of pods that other clients end and whose identities are not kept. So it is known
// after their end that they were seen to go in such a way. It does so as well for pods that serve after a hand-over, if claims are
// deleted when their identity ends: with the marks, their end would look like that of a hand-over whose record was lost.
func (p *poolState) unmarkings() []plan.Action {
	var steps []plan.Action
	for i := range p.Pods {
		pod := &p.Pods[i]
		endsUnkept := pod.Phase == plan.Terminating && p.Object.Keep.Any() && !p.keeps(pod) && (!p.ends[pod.UID] || p.beganOf[pod.Name].Granted())
		if !p.owns(pod) || !endsUnkept && !p.isDoneWithHandover(pod) {
			continue
		}
		unmark := PrepareHandover{Pool: p.Key.Name, ID: pod.ID}
		for _, c := range p.mounted(pod) {
			if c.From != "" && (endsUnkept || c.From != pod.UID) {
				unmark.Claims = append(unmark.Claims, c)
			}
		}
		if len(unmark.Claims) > 0 {
			steps = append(steps, unmark)
		}
	}
	return steps
}

// isDoneWithHandover reports whether a pod serves, no record is about it, and its claims need no marks until its identity is
// handed over again.
func (p *poolState) isDoneWithHandover(pod *Pod) bool {
	if !p.Object.Claim.mayDeleteReplaced() || p.Object.Keep.Any() || pod.Retain || p.openOf[pod.Name] || !p.available(pod) {
		return false
	}
	return !p.isRetained(pod) && !p.wasRetained(pod)
}
