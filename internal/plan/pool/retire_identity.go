package pool

import (
	"fmt"

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
		if c.Pool != p.Object.UID || p.lives(c.ID) || seen[c.ID] || c.Retired || c.Deleting {
			continue
		}
		seen[c.ID] = true
		steps = append(steps, RetireIdentity{Pool: p.Key.Name, ID: c.ID, Claims: p.unmarked(c.ID), Because: p.ending(c.ID)})
	}
	return steps
}

func (p *poolState) unmarked(id ID) []Claim {
	var claims []Claim
	for _, c := range p.claimsOf(id) {
		if !c.Retired && !c.Deleting {
			claims = append(claims, c)
		}
	}
	return claims
}

// ending returns why the pod of an identity ended: as the hold recorded it, or without lockstep.
func (p *poolState) ending(id ID) reason.Code {
	for _, i := range p.Hold.Intents {
		if i.Pod == PodName(p.Key.Name, id) {
			return i.Cause
		}
	}
	return reason.IdentityLost
}
