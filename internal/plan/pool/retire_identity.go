package pool

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// RetireIdentity marks the claims of an identity that has no pod any more. The identity never gets a pod again.
type RetireIdentity struct {
	Pool    string
	ID      ID
	Claims  []Claim
	Because reason.Code // why its pod ended
}

// Reason implements plan.Action.
func (a RetireIdentity) Reason() reason.Code { return a.Because }

// Effect implements plan.Action. A cache may lack a pod that exists.
func (a RetireIdentity) Effect() plan.Effect {
	return plan.Effect{Zone: a.Pool, Pod: PodName(a.Pool, a.ID), Order: plan.WithoutHold, Visible: true, Read: plan.Always}
}

// Event implements plan.Action.
func (a RetireIdentity) Event() plan.Event {
	return plan.Event{Zone: a.Pool, Action: "RetireIdentity", Note: fmt.Sprintf("retired identity %s: %s", a.ID, a.Because.Sentence())}
}

// String implements plan.Action: retire 0123456789abcdef of web with 2 claims because ScaledDown.
func (a RetireIdentity) String() string {
	return fmt.Sprintf("retire %s of %s with %d claims because %s", a.ID, a.Pool, len(a.Claims), a.Because)
}

// retirements retires the identities whose claims are left without a pod. Claims come after their pod, so a claim
// without a pod is never that of a pod to come.
func (p *poolState) retirements() []plan.Action {
	var steps []plan.Action
	seen := map[ID]bool{}
	for _, c := range p.Claims {
		if c.Pool != p.Object.UID || p.hasPod(c.ID) || seen[c.ID] || c.marked() || c.Deleting || p.isHandedOver(c.ID) {
			continue
		}
		seen[c.ID] = true
		steps = append(steps, RetireIdentity{Pool: p.Key.Name, ID: c.ID, Claims: p.unmarked(c.ID), Because: cmp.Or(c.Because, p.ending(c.ID))})
	}
	return steps
}

func (p *poolState) unmarked(id ID) []Claim {
	var claims []Claim
	for _, c := range p.claimsOf(id) {
		if !c.marked() && !c.Deleting {
			claims = append(claims, c)
		}
	}
	return claims
}

// isHandedOver reports whether an identity waits for its next pod.
func (p *poolState) isHandedOver(id ID) bool {
	return slices.ContainsFunc(p.handovers, func(h handover) bool { return h.ID == id })
}

// UnretireIdentity takes the marks off the claims of an identity that has a pod: that of a request which took effect
// late. The pod has its data.
type UnretireIdentity struct {
	Pool   string
	ID     ID
	Claims []Claim
}

// Reason implements plan.Action.
func (UnretireIdentity) Reason() reason.Code { return reason.IdentityHandover }

// Effect implements plan.Action.
func (a UnretireIdentity) Effect() plan.Effect {
	return plan.Effect{Zone: a.Pool, Pod: PodName(a.Pool, a.ID), Order: plan.WithoutHold, Visible: true, Read: plan.Always}
}

// Event implements plan.Action.
func (UnretireIdentity) Event() plan.Event { return plan.Event{} }

// String implements plan.Action: unretire 0123456789abcdef of web.
func (a UnretireIdentity) String() string { return fmt.Sprintf("unretire %s of %s", a.ID, a.Pool) }

// unretirements keeps the identities of pods that are needed although their claims are marked.
func (p *poolState) unretirements() []plan.Action {
	var steps []plan.Action
	for _, pod := range p.needed() {
		if claims := p.retired(pod.ID); len(claims) > 0 {
			steps = append(steps, UnretireIdentity{Pool: p.Key.Name, ID: pod.ID, Claims: claims})
		}
	}
	return steps
}

// retired returns the claims that say that their identity has ended.
func (s *Snapshot) retired(id ID) []Claim {
	return s.claimsIf(id, func(c *Claim) bool { return c.Retired && !c.Deleting })
}

// ending returns why the pod of an identity ended: as the hold recorded it, or without lockstep.
func (p *poolState) ending(id ID) reason.Code {
	for _, i := range p.Hold.Intents {
		switch {
		case i.Pod != PodName(p.Key.Name, id):
		case slices.ContainsFunc(p.recordedOver, func(h handover) bool { return h.ID == id && h.Intent.UID == i.UID }):
			return reason.HandoverUnneeded // there is no place for it
		case i.Cause == reason.IdentityHandover:
			return reason.HandoverFailed
		case i.Cause != reason.UpdatedInPlace:
			return i.Cause
		}
	}
	return reason.IdentityLost
}
