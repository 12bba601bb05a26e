package pools

import (
	"fmt"
	"slices"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/pool"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// inDoubt are the causes for which the identity of a pod is given up although the pod may come back.
var inDoubt = []reason.Code{reason.NodeLost, reason.CrashLooping, reason.NeverReady, reason.VolumeUnreachable}

func breaksDoubtKept(v *view, steps []plan.Action) string {
	limit := max(1, pods(v.Object.Liveness.MaxUnhealthy, v.Object.Replicas, false))
	for _, d := range disruptions(steps) {
		if p, _ := v.podNamed(d.Pod); d.Because == reason.VolumeUnreachable && (!v.Live || p.Scheduled || !v.Volumes[p.UID].Unreachable) {
			return fmt.Sprintf("%s is given up because of %s, and a live read does not show that", d.Pod, d.Because)
		}
		p, _ := v.podNamed(d.Pod)
		ran := !p.Gated || p.From != "" || slices.ContainsFunc(v.claimsOf(p.ID), func(c pool.Claim) bool { return c.From != "" && c.From != p.UID })
		tooMany := d.Because == reason.ReplicasExceeded && v.Object.Replicas > 0 && ran && !p.Node.Gone && !p.Asked && !v.isAvailable(&p)
		if !tooMany && !slices.Contains(inDoubt, d.Because) {
			continue
		}
		another := slices.ContainsFunc(v.Pods, func(p pool.Pod) bool {
			ends := slices.ContainsFunc(disruptions(steps), func(other plan.Disruption) bool { return other.Pod == p.Name })
			return v.owned(&p) && p.Name != d.Pod && v.isAvailable(&p) && !ends
		})
		switch down := v.unavailableWithout(d.Pod); {
		case !another:
			return fmt.Sprintf("%s is given up because of %s, and no other pod is available", d.Pod, d.Because)
		case down > limit:
			return fmt.Sprintf("%s is given up because of %s with %d unavailable of at most %d", d.Pod, d.Because, down, limit)
		}
	}
	return ""
}
