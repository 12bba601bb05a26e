package admission

import (
	"context"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// refusalOfFormerGroup returns a refusal if a group waits for a StatefulSet that left it, and nil otherwise. The
// caches can show a Lease late, or not at all. So it reads from the API server which groups remember the StatefulSet.
func (p *PrepareDownscale) refusalOfFormerGroup(ctx context.Context, c Change) *Verdict {
	claims, err := p.Observer.ClaimsOfGroups(ctx, c.Namespace, c.Name)
	if err != nil {
		return new(p.unread(c, "the holds of groups", err))
	}
	for _, claim := range claims {
		if !claim.Owned() {
			return new(p.refused(c, refusing(plan.Refusal{Code: reason.HoldUnreadable, Detail: "Lease " + claim.Lease})))
		}
		live, err := p.Observer.Live(ctx, claim.Key)
		if err != nil {
			return new(p.unread(c, "the group", err).of(claim.Key))
		}
		if because := group.Away(live, c.Name); !because.None() {
			return new(p.refused(c, refusing(because)).of(claim.Key))
		}
	}
	return nil
}

// unread returns the verdict if a read from the API server failed.
func (p *PrepareDownscale) unread(c Change, what string, err error) Verdict {
	return c.doubted(p.Doubt(reason.ParentUnknown, "the API server did not show "+what+": "+err.Error()), predecessorGroupUnread)
}
