package admission

import (
	"fmt"

	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// Regroups reports whether a StatefulSet gets another rollout group, or its first, or
// leaves its last one.
func (c Change) Regroups() bool {
	former, was := contract.Group(c.Old.Labels, c.Old.Annotations)
	next, is := contract.Group(c.New.Labels, c.New.Annotations)
	return c.Full() && (was != is || former != next)
}

// misread returns a warning for each annotation about the group that does not say what it seems
// to say. An object under review is the only place in which its author sees that at once.
func misread(c Change) []string {
	if !c.Full() {
		return nil
	}
	var warnings []string
	if name := contract.InvalidGroup(c.New.Annotations); name != "" {
		warnings = append(warnings, warning(fmt.Sprintf("lockstep: annotation %s is %s, which is no name of a group; the label %s counts",
			contract.RolloutGroupAnnotation, name, contract.GroupLabel)))
	}
	ignore := map[string]string{contract.IgnoreAnnotation: c.New.Annotations[contract.IgnoreAnnotation]}
	if vain := contract.WithoutEffect(contract.Metadata{Annotations: ignore}); vain != "" {
		warnings = append(warnings, warning("lockstep: "+vain))
	}
	return warnings
}

// regrouped refuses a downscale that changes the group as well: what either of them has
// to say about it would be judged without the other.
func (p *PrepareDownscale) regrouped(c Change) Verdict {
	return p.refused(c, objecting(plan.Refusal{Code: reason.GroupChanged, Zone: c.Name}))
}
