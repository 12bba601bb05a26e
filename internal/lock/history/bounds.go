package history

import (
	"slices"

	"github.com/lockstep-dev/lockstep/internal/plan"
)

// The limits of the record. MaxPods limits the pods that are kept until their spans are exported, with those of
// replacements.
const (
	MaxFinished = 5
	MaxZones    = 100
	MaxPods     = 100
)

// Bounded enforces the limits. It drops the oldest rollouts, and the pods and zones of the oldest ones first.
// It does not modify data that other snapshots share.
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
	r.Replacements = r.Replacements[max(0, len(r.Replacements)-(MaxPods-pods)):]
	if len(r.Replacements) == 0 {
		r.Replacements = nil
	}
	return r
}

// withPods keeps the latest pods of a rollout within the limit. kept is the number of pods that are kept
// already.
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
