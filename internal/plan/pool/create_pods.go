package pool

import (
	"fmt"
	"strings"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// MostBirths bounds the pods that one plan creates.
const MostBirths = 500

// CreatePods creates the pods of new identities. The first refusal ends it, because the next one would be refused as
// well. A pod of an identity is created once; the process that finds it later completes it.
type CreatePods struct {
	Pool     string
	Revision string
	IDs      []ID
}

// Reason implements plan.Action.
func (CreatePods) Reason() reason.Code { return reason.IdentityBorn }

// Effect implements plan.Action. A birth needs no hold: an identity that is one too many leaves before it has claims.
func (a CreatePods) Effect() plan.Effect {
	return plan.Effect{Zone: a.Pool, Order: plan.WithoutHold, Visible: true}
}

// Event implements plan.Action.
func (a CreatePods) Event() plan.Event {
	return plan.Event{Zone: a.Pool, Action: "CreatePods", Note: fmt.Sprintf("created %d pods: %s", len(a.IDs), a.Reason().Sentence())}
}

// String implements plan.Action: create 2 pods of web: web-0123456789abcdef web-fedcba9876543210.
func (a CreatePods) String() string {
	var names []string
	for _, id := range a.IDs {
		names = append(names, PodName(a.Pool, id))
	}
	return fmt.Sprintf("create %d pods of %s: %s", len(a.IDs), a.Pool, strings.Join(names, " "))
}

// births creates the pods that are missing, whatever else is broken and whichever operation has the hold. A pod whose
// deletion is being cancelled keeps its place.
func (p *poolState) births() []plan.Action {
	missing := min(p.Object.Replicas-len(p.staying)-len(p.leaving), MostBirths)
	if missing <= 0 {
		return nil
	}
	birth := CreatePods{Pool: p.Key.Name, Revision: p.Object.Revision}
	for range missing {
		birth.IDs = append(birth.IDs, p.draw())
	}
	return []plan.Action{birth}
}

// draw draws an identity that no pod and no claim is known to have.
func (p *poolState) draw() ID {
	for {
		id := p.Draw()
		taken := p.lives(id)
		for _, c := range p.Claims {
			taken = taken || c.ID == id
		}
		if !taken {
			return id
		}
	}
}
