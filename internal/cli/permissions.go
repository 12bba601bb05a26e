package cli

import (
	"slices"
	"strings"

	"github.com/lockstep-dev/lockstep/internal/cluster/reference"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// userScales is a reference.Cache with the permissions of the user. A resource that the user cannot
// read counts as not read, because lockstep has its own permissions.
type userScales struct{ *reference.Cache }

// Scale implements observe.Scales.
func (b userScales) Scale(namespace string, r group.Reference) (scale group.Scale, reports bool) {
	scale, reports = b.Cache.Scale(namespace, r)
	if because := scale.Trouble; because.Code == reason.ReferenceForbidden {
		scale.Trouble = plan.Refusal{Code: reason.ReferenceNotRead, Detail: youCannotRead + r.String() + ": " + because.Detail}
	}
	return scale, reports
}

const youCannotRead = "you may not read "

func hidden(r plan.Refusal) bool {
	return r.Code == reason.ReferenceNotRead && strings.HasPrefix(r.Detail, youCannotRead)
}

// stepsFor returns the plan for a group. It leaves out waits for resources that the user cannot read,
// and records of zones that join.
func stepsFor(s group.Snapshot) []plan.Action {
	return slices.DeleteFunc(group.Plan(s), func(step plan.Action) bool {
		w, waits := step.(plan.Wait)
		zones, notes := step.(group.RecordMembers) // without zones that left, it only creates a Lease
		return waits && hidden(w.Because) || notes && len(zones.Gone) == 0
	})
}

// remarksOn returns a remark for each resource that the user cannot read.
func remarksOn(s group.Snapshot) []waitView {
	var remarks []waitView
	for _, z := range s.Zones {
		if because := z.Mirror.Scale.Trouble; hidden(because) {
			v := waitViewOf(z.Name, because)
			v.Sentence = "the zone takes over the replicas of a resource that you cannot read, so its effects are omitted here; lockstep has its own permissions"
			v.ToDo = "No action needed. To see it, you need another permission (docs/kubectl.md)."
			remarks = append(remarks, v)
		}
	}
	return remarks
}
