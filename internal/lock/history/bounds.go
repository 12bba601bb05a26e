package history

import (
	"slices"

	"github.com/lockstep-dev/lockstep/internal/plan"
)

// What is remembered at most. Pods are those whose spans may not have been exported.
const (
	MaxFinished = 5
	MaxZones    = 100
	MaxPods     = 100
)

// Bounded forgets what is too much: the oldest rollouts, and the pods and zones of the
// oldest ones first. What is shared with other snapshots is left as it is.
func Bounded(r plan.Rollouts) plan.Rollouts {
	r.Finished = r.Finished[:min(len(r.Finished), MaxFinished)]
	zones, pods := 0, 0
	all := append([]plan.RolledGroup{r.Current}, r.Finished...)
	for i := range all {
		if zones += len(all[i].Zones); zones > MaxZones && i > 0 {
			all = all[:i]
			break
		}
		all[i], pods = withPods(all[i], pods)
	}
	r.Current, r.Finished = all[0], all[1:]
	if n := len(r.Current.Zones); n > MaxZones {
		r.Current.Zones = r.Current.Zones[n-MaxZones:]
	}
	if len(r.Finished) == 0 {
		r.Finished = nil
	}
	return r
}

// withPods keeps so many pods of a rollout, the latest ones, that they are not too many
// with those that are kept already.
func withPods(r plan.RolledGroup, kept int) (plan.RolledGroup, int) {
	for i := range slices.Backward(r.Zones) {
		have := len(r.Zones[i].Pods)
		fit := min(have, MaxPods-kept)
		if fit < have {
			r.Zones = slices.Clone(r.Zones)
			r.Zones[i].Pods = r.Zones[i].Pods[have-fit:]
		}
		kept += fit
	}
	return r, kept
}
