package admission

import (
	"fmt"

	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// ChangesGroup reports whether the change assigns a StatefulSet to a rollout group, to another
// one, or to none.
func (c Change) ChangesGroup() bool {
	former, was := contract.Group(c.Old.Labels, c.Old.Annotations)
	next, is := contract.Group(c.New.Labels, c.New.Annotations)
	return c.Full() && (was != is || former != next)
}

// groupWarnings returns a warning for each annotation about the group that has no effect. Only the
// answer to a review reaches the author of the annotation at once.
func groupWarnings(c Change) []string {
	if !c.Full() {
		return nil
	}
	var warnings []string
	if name := contract.InvalidGroup(c.New.Annotations); name != "" {
		warnings = append(warnings, warning(fmt.Sprintf("lockstep: invalid annotation %s %s: must be the name of a group; the label %s counts instead",
			contract.RolloutGroupAnnotation, name, contract.GroupLabel)))
	}
	ignore := map[string]string{contract.IgnoreAnnotation: c.New.Annotations[contract.IgnoreAnnotation]}
	if vain := contract.WithoutEffect(contract.Metadata{Annotations: ignore}); vain != "" {
		warnings = append(warnings, warning("lockstep: "+vain))
	}
	return warnings
}

// refuseRegroup refuses a downscale that also changes the group. Neither group could be judged
// correctly.
func (p *PrepareDownscale) refuseRegroup(c Change) Verdict {
	return p.refused(c, refusing(plan.Refusal{Code: reason.GroupChanged, Zone: c.Name}))
}
