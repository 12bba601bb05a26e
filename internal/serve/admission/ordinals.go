package admission

import (
	"fmt"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// MovesOrdinals reports whether a new first ordinal removes pods. A downscale removes only the
// last pods, so it moves no ordinals. A lower first ordinal that only adds pods moves none
// either. If the numbers of replicas are unknown, MovesOrdinals returns false.
func (c Change) MovesOrdinals() bool {
	if c.FromStart == c.ToStart || c.From == nil || c.To == nil || *c.From == 0 {
		return false
	}
	return c.ToStart > c.FromStart || int64(c.ToStart)+int64(*c.To) < int64(c.FromStart)+int64(*c.From)
}

// refuseMove refuses a change of the first ordinal.
func (p *PrepareDownscale) refuseMove(c Change) Verdict {
	because := plan.Refusal{Code: reason.OrdinalsChanged, Zone: c.Name, Detail: fmt.Sprintf("from %d to %d", c.FromStart, c.ToStart)}
	return p.refused(c, group.DownscaleAnswer{Because: because})
}
