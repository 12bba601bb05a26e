package pool

import (
	"fmt"
	"slices"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// Storage is an amount of storage. The zero Storage is none, or not known.
type Storage struct {
	Text  string // as an object has it
	Bytes int64  // 0: the text cannot be read, or was not
}

// GrowClaim asks for more storage for a claim of an identity that has a pod. No claim is ever asked to shrink.
type GrowClaim struct {
	Pool  string
	Claim Claim
	To    Storage
}

// Reason implements plan.Action.
func (GrowClaim) Reason() reason.Code { return reason.ClaimGrown }

// Effect implements plan.Action. Each claim grows by itself.
func (a GrowClaim) Effect() plan.Effect {
	return plan.Effect{Zone: a.Claim.Name, Order: plan.WithoutHold, Visible: true}
}

// Event implements plan.Action. A claim that was adopted only gets a note of what it asks for.
func (a GrowClaim) Event() plan.Event {
	if a.Claim.Storage.Bytes == 0 {
		return plan.Event{}
	}
	return plan.Event{Zone: a.Pool, Action: "GrowClaim", Note: fmt.Sprintf("asked for %s for claim %s: %s", a.To.Text, a.Claim.Name, a.Reason().Sentence())}
}

// String implements plan.Action: grow web-data-0123456789abcdef to 2Gi.
func (a GrowClaim) String() string { return fmt.Sprintf("grow %s to %s", a.Claim.Name, a.To.Text) }

// RefusedGrowth is a claim for which the API server has refused more storage.
type RefusedGrowth struct {
	Claim   string
	To      Storage
	Because plan.Refusal // until when lockstep does not ask again
}

// growth grows the claims whose template asks for more than lockstep has asked for, and returns why it leaves others.
func (p *poolState) growth() (steps, waits []plan.Action) {
	for _, pod := range p.needed() {
		for _, c := range p.mounted(&pod) {
			to := p.storageOf(c.Template)
			refused, was := p.refusedGrowth(c.Name, to)
			switch {
			case to.Bytes <= c.Storage.Bytes || pod.Gated:
			case was && refused.Until.After(p.Now):
				waits = append(waits, p.waits(refused)...)
			default:
				steps = append(steps, GrowClaim{Pool: p.Key.Name, Claim: c, To: to})
			}
		}
	}
	return steps, waits
}

// storageOf returns for how much storage a claim template asks.
func (p *poolState) storageOf(template string) Storage {
	i := slices.IndexFunc(p.Object.Claims, func(t ClaimTemplate) bool { return t.Name == template })
	if i < 0 {
		return Storage{}
	}
	return p.Object.Claims[i].Storage
}

func (p *poolState) refusedGrowth(claim string, to Storage) (plan.Refusal, bool) {
	for _, r := range p.RefusedGrowths {
		if r.Claim == claim && r.To == to {
			return r.Because, true
		}
	}
	return plan.Refusal{}, false
}
