package admission

import (
	"fmt"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// Moves reports whether another first ordinal takes pods away, which a downscale never
// does: it takes the last ones. Where others only come before the first one and nobody
// leaves, nothing is moved. Numbers of replicas that Shrinks does not know count as none.
func (c Change) Moves() bool {
	if c.FromStart == c.ToStart || c.From == nil || c.To == nil || *c.From == 0 {
		return false
	}
	return c.ToStart > c.FromStart || int64(c.ToStart)+int64(*c.To) < int64(c.FromStart)+int64(*c.From)
}

// moved refuses a change that moves ordinals.
func (p *PrepareDownscale) moved(c Change) Verdict {
	because := plan.Refusal{Code: reason.OrdinalsChanged, Zone: c.Name, Detail: fmt.Sprintf("from %d to %d", c.FromStart, c.ToStart)}
	return p.refused(c, plan.DownscaleAnswer{Because: because})
}
