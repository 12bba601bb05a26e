package cli

import (
	"slices"
	"strings"

	"github.com/lockstep-dev/lockstep/internal/cluster/reference"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// ownSight knows resources whose replicas zones take over as far as whoever types may
// read them. What is hidden from him has not been seen; lockstep has rights of its own.
type ownSight struct{ *reference.Cache }

// Scale implements observe.Scales.
func (b ownSight) Scale(namespace string, r plan.Reference) (scale plan.Scale, reports bool) {
	scale, reports = b.Cache.Scale(namespace, r)
	if because := scale.Trouble; because.Code == reason.ReferenceForbidden {
		scale.Trouble = plan.Refusal{Code: reason.ReferenceNotRead, Detail: youMayNotRead + r.String() + ": " + because.Detail}
	}
	return scale, reports
}

const youMayNotRead = "you may not read "

func hidden(r plan.Refusal) bool {
	return r.Code == reason.ReferenceNotRead && strings.HasPrefix(r.Detail, youMayNotRead)
}

// stepsFor returns what the planner makes of a group but for waits for what is hidden
// from whoever types, and for what is only noted of zones that join.
func stepsFor(s plan.Snapshot) []plan.Action {
	return slices.DeleteFunc(plan.Group(s), func(step plan.Action) bool {
		w, waits := step.(plan.Wait)
		zones, notes := step.(plan.NoteZones) // only makes a Lease, unless zones have gone
		return waits && hidden(w.Because) || notes && len(zones.Gone) == 0
	})
}

// remarksOn says what is hidden from whoever types.
func remarksOn(s plan.Snapshot) []waitView {
	var remarks []waitView
	for _, z := range s.Zones {
		if because := z.Mirror.Scale.Trouble; hidden(because) {
			v := waitViewOf(z.Name, because)
			v.Sentence = "the zone takes over the replicas of a resource that is hidden from you, so what follows from it is left out here; lockstep reads it with rights of its own"
			v.ToDo = "Nothing, unless you want to see it: then somebody has to give you the right (docs/kubectl.md)."
			remarks = append(remarks, v)
		}
	}
	return remarks
}
