package admission

import (
	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/reason"
)

// Regroups reports whether a StatefulSet gets another rollout group, or its first, or
// leaves its last one.
func (c Change) Regroups() bool {
	former, was := c.Old.Labels[contract.GroupLabel]
	next, is := c.New.Labels[contract.GroupLabel]
	return c.Full() && (was != is || former != next)
}

// regrouped refuses a downscale that changes the group as well: what either of them has
// to say about it would be judged without the other.
func (p *PrepareDownscale) regrouped(c Change) Verdict {
	return p.refused(c, objecting(plan.Refusal{Code: reason.GroupChanged, Zone: c.Name}))
}
